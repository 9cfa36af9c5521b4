import API
import AppStore
import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Duties
import HTTP
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport

/// The REST listener with the routes that apps post to, on the database of an installation, as the role of the api.
final class PostingFixture: Sendable {
    static let publicKey = "appl_a_public_key_for_tests"
    static let secretKey = "sk_a_secret_key_for_tests"

    let installation: Installation
    let log = LogTape()
    private let engine: RequestExecutor
    private let server: HTTPServer
    let port: UInt16

    /// - Parameters:
    ///   - apple: answers as Apple's Server API; nil: no app has a key.
    ///   - receiptRoots: of app receipts.
    ///   - limits: nil: nothing is limited, and nobody has a share.
    init(
        _ installation: Installation, behavior: RestoreBehavior = .transfer, apple: PlayedHistory? = nil,
        receiptRoots: TrustAnchors = TrustAnchors(), patience: Duration = .seconds(20), limits: LimitSettings? = nil
    ) throws {
        self.installation = installation
        let (logger, clock, grace) = (log.logger, SystemClock(), Duration.seconds(3 * 86_400))
        let target = installation.database.target(role: "entitled_api")
        engine = RequestExecutor(
            threads: 4, sessions: { PostgresSession(target, logger: logger) }, patience: patience, logger: logger)
        let registry = AppRegistry([Installation.registered])
        let door = TransactionAdmission(
            apps: registry, verifier: installation.verifier, dictionaries: HeaderDictionaries())
        let client = apple?.reader.client
        let settings = PostingSettings(
            apps: registry, door: door,
            lookup: AppleLookup(apps: client == nil ? [] : ["demo"], door: door, client: { _ in client }),
            actions: CustomerActions(
                origin: ActionTable.Origin(actor: "api"), foldSettings: FoldSettings(defaultGrace: grace)),
            sequence: SequenceGenerator(clock: clock, node: .random(in: 0...UInt16.max)), clock: clock,
            restoring: RestoreSettings(general: behavior))
        let document = SubscriberDocument(
            catalogue: installation.catalogue)
        let answers = SubscriberResponses(
            document: document, foldSettings: FoldSettings(defaultGrace: grace), clock: clock)
        let routes =
            ReceiptRoutes(settings, receipts: ReceiptVerifier(trust: receiptRoots), answers: answers).routes
            + AppleTransactionRoutes(
                settings, answers: answers, document: document, foldSettings: FoldSettings(defaultGrace: grace)
            ).routes
        let keys = KeyTable(
            publicKeys: [Redacted(PostingFixture.publicKey)], secretKeys: [Redacted(PostingFixture.secretKey)])
        server = HTTPServer(
            HTTPServerConfiguration(role: "api", listen: "127.0.0.1:0"),
            handler: APIRoutes(
                routes, keys: keys, engine: engine,
                limiter: limits.map { RequestLimiter($0, logger: logger, metrics: Metrics()) }), logger: logger)
        engine.start()
        try server.start()
        port = server.boundPort ?? 0
    }

    deinit {
        server.drain(until: .now + .milliseconds(300))
        engine.drain(until: .now + .seconds(2))
    }

    /// - Parameter address: of the client, as a proxy on this host tells it.
    func call(
        _ path: String, _ body: JSON, key: String? = PostingFixture.publicKey, from address: String? = nil
    ) -> HTTPCall {
        var headers = key.map { ["Authorization": "Bearer \($0)"] } ?? [:]
        headers["X-Forwarded-For"] = address
        return HTTPCall.send("POST", path, headers: headers, body: body.bytes, to: port)
    }

    func post(_ token: String, by id: String, _ more: KeyValuePairs<String, JSON?> = [:]) -> HTTPCall {
        let members = JSON.object(["app_user_id": .string(id), "fetch_token": .string(token)]).members ?? []
        return call("/v1/receipts", .object(members + (JSON.object(more).members ?? [])))
    }

    /// The transaction of a notification, as StoreKit 2 gives it to the app.
    static func jws(_ notification: StoreNotification, changed: (JSON) -> JSON = { $0 }) throws -> String {
        guard let transaction = notification.transaction else { throw TestFailure("no transaction") }
        return try Installation.signer.sign(changed(transaction))
    }
}

extension JSON {
    /// With another value of a member; nil takes it away.
    func with(_ name: String, _ value: JSON?) -> JSON {
        .object(
            (members ?? []).filter { $0.name != name } + (value.map { [JSON.Member(name: name, value: $0)] } ?? []))
    }

    var subscriber: JSON? { self["subscriber"] }
}
