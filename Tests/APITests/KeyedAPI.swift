import API
import AppStore
import Base
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import Schemas
import Subscriptions
import TestSupport

/// The listener as production has it: the role that the program composes, with keys of the database and a catalogue.
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

    /// - Parameter key: what signs offers of the app demo.
    static func offerApps(key: PromotionalOfferSignature.Key?) -> [PromotionalOfferRoutes.App] {
        [
            PromotionalOfferRoutes.App(id: "demo", bundleID: "com.example.app", key: key),
            PromotionalOfferRoutes.App(id: "other", bundleID: "com.example.other", key: nil),
        ]
    }

    let database: TestDatabase
    let log = LogTape()
    let metrics = Metrics()
    private let cluster: TestCluster
    private let role: APIRole
    private let server: HTTPServer
    let port: UInt16

    /// - Parameters:
    ///   - trust: the roots that signed data may come from.
    ///   - change: of the settings, before the role is composed with them.
    init(
        _ database: TestDatabase? = nil, cluster: TestCluster? = nil, clock: any WallClock = SystemClock(),
        trust: TrustAnchors = TrustAnchors(), change: (inout APISettings) -> Void = { _ in }
    ) throws {
        let cluster = try cluster ?? TestCluster.shared
        let database = try database ?? cluster.makeMigratedDatabase()
        (self.cluster, self.database) = (cluster, database)
        let target = database.target(role: DatabaseRole.api.rawValue)
        let process = ProcessContext(clock: clock, logger: log.logger, metrics: metrics) { [log] prepare in
            PostgresSession(
                target, logger: log.logger, backOff: .milliseconds(20)...Duration.milliseconds(100), prepare: prepare)
        }
        var settings = APISettings(
            apps: AppRegistry([]), appIDs: ["demo", "other"],
            catalogue: EntitlementCatalogue(["pro": ["monthly", "yearly"], "gold": ["yearly"]]),
            offerings: KeyedAPI.offerings, offerApps: KeyedAPI.offerApps(key: nil),
            publicKeys: [Redacted(KeyedAPI.publicKey)], secretKeys: [Redacted(KeyedAPI.secretKey)],
            appKeys: ["demo": [Redacted(KeyedAPI.appKey)]], applyTimeout: .seconds(2))
        change(&settings)
        role = try APIRole(
            settings, process, verifier: SignedDataVerifier(trust: trust), apple: [:])
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
