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
    private let role: APIRole
    private let server: HTTPServer
    /// Kept as long as it is asked.
    private let apple: PlayedHistory?
    let port: UInt16

    /// - Parameters:
    ///   - apple: answers as Apple's Server API; nil: no app has a key.
    ///   - receiptRoots: of app receipts.
    ///   - limits: of requests.
    init(
        _ installation: Installation, behavior: RestoreBehavior = .transfer, apple: PlayedHistory? = nil,
        receiptRoots: TrustAnchors = TrustAnchors(), patience: Duration = .seconds(20),
        limits: LimitSettings = LimitSettings()
    ) throws {
        self.installation = installation
        self.apple = apple
        let target = installation.database.target(role: "entitled_api")
        let process = ProcessContext(clock: SystemClock(), logger: log.logger, metrics: Metrics()) { [log] prepare in
            PostgresSession(target, logger: log.logger, prepare: prepare)
        }
        let settings = APISettings(
            apps: AppRegistry([Installation.registered]), appIDs: [Installation.registered.id],
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), catalogue: installation.catalogue,
            restoring: RestoreSettings(general: behavior), receiptTrust: receiptRoots,
            publicKeys: [Redacted(PostingFixture.publicKey)], secretKeys: [Redacted(PostingFixture.secretKey)],
            limits: limits, applyTimeout: patience)
        role = try APIRole(
            settings, process, verifier: installation.verifier,
            apple: apple.map { [Installation.registered.id: $0.reader.client] } ?? [:])
        server = HTTPServer(
            APIRole.listener(on: "127.0.0.1:0", applyTimeout: .seconds(10)), handler: role.handler, logger: log.logger)
        for service in role.services { try service.start() }
        try server.start()
        port = server.boundPort ?? 0
    }

    deinit {
        server.drain(until: .now + .milliseconds(300))
        for service in role.services { service.drain(until: .now + .seconds(2)) }
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

    /// Posts again as long as the answer is to ask again, as an app does.
    func postUntilTaken(_ token: String, by id: String, _ more: KeyValuePairs<String, JSON?> = [:]) throws -> HTTPCall {
        var answer = post(token, by: id, more)
        try eventually(timeout: .seconds(90), "the post is taken: \(answer.text)") {
            if answer.status == 503 { answer = post(token, by: id, more) }
            return answer.status != 503
        }
        return answer
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
