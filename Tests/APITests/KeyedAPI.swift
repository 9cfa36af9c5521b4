import API
import AppStore
import Base
import Daemon
import Database
import HTTP
import Postgres
import Schemas
import Subscriptions
import TestSupport

/// The listener as production has it, with keys of the database, the catalogue and CORS.
final class KeyedAPI: Sendable {
    static let publicKey = "appl_a_public_key_for_tests"
    static let appKey = "appl_a_key_of_the_app_demo"
    static let secretKey = "sk_a_secret_key_for_tests"

    static let offerings = OfferingCatalogue(
        offerings: [
            Offering(
                identifier: "default", description: "The usual ones", metadata: .object(["colour": .string("red")]),
                packages: [
                    .init(identifier: "$rc_monthly", products: .everywhere("monthly")),
                    .init(identifier: "$rc_annual", products: .byPlatform(["ios": "yearly", "macos": "yearly_mac"])),
                    .init(identifier: "desktop", products: .byPlatform(["macos": "desktop_mac"])),
                ]),
            Offering(
                identifier: "sale", packages: [.init(identifier: "$rc_lifetime", products: .everywhere("lifetime"))]),
        ], current: "default")

    let database: TestDatabase
    let log = LogTape()
    private let cluster: TestCluster
    private let engine: RequestExecutor
    private let keeper: KeyRefresher
    private let desk: SubscriberBatcher
    private let server: HTTPServer
    let port: UInt16

    init(
        cluster: TestCluster? = nil, clock: any WallClock = SystemClock(), origins: [String] = [],
        offerKey: PromotionalOfferSignature.Key? = nil, limits: LimitSettings? = nil,
        offerings: OfferingCatalogue = KeyedAPI.offerings
    ) throws {
        let cluster = try cluster ?? TestCluster.shared
        let database = try cluster.makeMigratedDatabase()
        (self.cluster, self.database) = (cluster, database)
        let logger = log.logger
        let target = database.target(role: DatabaseRole.api.rawValue)
        let session = {
            PostgresSession(target, logger: logger, backOff: .milliseconds(20)...Duration.milliseconds(100))
        }
        engine = RequestExecutor(threads: 2, sessions: session, patience: .seconds(2), logger: logger)
        let entitlements = EntitlementCatalogue(["pro": ["monthly", "yearly"], "gold": ["yearly"]])
        let answers = SubscriberResponses(
            document: SubscriberDocument(catalogue: entitlements),
            foldSettings: FoldSettings(), clock: clock)
        let apps = [
            PromotionalOfferRoutes.App(id: "demo", bundleID: "com.example.app", key: offerKey),
            PromotionalOfferRoutes.App(id: "other", bundleID: "com.example.other", key: nil),
        ]
        desk = SubscriberBatcher(answers: answers, sessions: session, clock: clock, logger: logger)
        let routes =
            HealthRoutes().routes + SubscriberRoutes(desk: desk).routes
            + CatalogueRoutes(offerings: offerings, entitlements: entitlements, answers: answers, clock: clock)
            .routes
            + AttributeRoutes(answers: answers, foldSettings: FoldSettings()).routes
            + IntroductoryOfferRoutes().routes + PromotionalOfferRoutes(apps: apps, clock: clock).routes
            + UnsupportedRoutes().routes
        let keys = KeyTable(
            publicKeys: [Redacted(KeyedAPI.publicKey)], secretKeys: [Redacted(KeyedAPI.secretKey)],
            appKeys: ["demo": [Redacted(KeyedAPI.appKey)]], clock: clock)
        keeper = KeyRefresher(keys, session: session(), logger: logger)
        server = HTTPServer(
            HTTPServerConfiguration(role: "api", listen: "127.0.0.1:0"),
            handler: APIRoutes(
                routes, keys: keys, keeper: keeper, cors: CORSPolicy(origins), engine: engine,
                limiter: limits.map { RequestLimiter($0, logger: logger, metrics: Metrics()) }),
            logger: logger)
        desk.start()
        engine.start()
        keeper.start()
        try server.start()
        port = server.boundPort ?? 0
    }

    deinit {
        server.drain(until: .now + .milliseconds(300))
        keeper.drain(until: .now + .seconds(2))
        desk.drain(until: .now + .seconds(2))
        engine.drain(until: .now + .seconds(2))
    }

    /// - Parameter key: nil for none.
    func call(
        _ method: String, _ path: String, _ body: JSON? = nil, key: String? = KeyedAPI.publicKey,
        headers: [String: String] = [:]
    ) -> HTTPCall {
        var all = headers
        if let key { all["Authorization"] = "Bearer \(key)" }
        return HTTPCall.send(method, path, headers: all, body: body?.bytes ?? [], to: port)
    }

    /// A key as the command makes it.
    func makeKey(
        _ kind: StoredAPIKey.Kind, app: String? = nil, scope: String = "write"
    ) throws -> (id: String, key: String) {
        let made = try APIKeyTable.create(
            kind, app: app, scope: scope, name: nil, now: 1, on: try database.connect(role: "entitled_worker"))
        return (made.id, made.key.exposed)
    }

    func revoke(_ id: String) throws {
        _ = try APIKeyTable.revoke(id, now: 2, on: try database.connect(role: "entitled_worker"))
    }
}
