import API
import Base
import Daemon
import HTTP
import Postgres
import Schemas
import Subscriptions
import TestSupport

/// The REST listener with its threads in this process, on a database of its own, as the role that it has in production.
final class RunningAPI: Sendable {
    static let publicKey = "appl_a_public_key_for_tests"
    static let secretKey = "sk_a_secret_key_for_tests"

    let database: TestDatabase
    let log = LogTape()
    let metrics = Metrics()
    private let cluster: TestCluster
    private let engine: RequestExecutor
    private let batcher: SubscriberBatcher
    private let server: HTTPServer
    let port: UInt16

    /// - Parameters:
    ///   - more: routes beside those that every test has.
    ///   - patience: as the engine's.
    ///   - limits: nil: nothing is limited.
    init(
        _ database: TestDatabase? = nil, catalogue: EntitlementCatalogue = EntitlementCatalogue(["pro": ["monthly"]]),
        clock: any WallClock = SystemClock(), patience: Duration = .seconds(10), threads: Int = 4,
        more: [APIRoute] = [], limits: LimitSettings? = nil
    ) throws {
        let cluster = try TestCluster.shared
        let database = try database ?? cluster.makeMigratedDatabase()
        (self.cluster, self.database) = (cluster, database)
        let (logger, metrics) = (log.logger, metrics)
        engine = RequestExecutor(
            threads: threads,
            sessions: { PostgresSession(database.target(role: DatabaseRole.api.rawValue), logger: logger) },
            patience: patience, answerTimeout: patience + .seconds(15), logger: logger)
        let answers = SubscriberResponses(
            document: SubscriberDocument(catalogue: catalogue),
            foldSettings: FoldSettings(defaultGrace: .seconds(72 * 3600)), clock: clock)
        batcher = try SubscriberBatcher(
            answers: answers,
            sessions: { PostgresSession(database.target(role: DatabaseRole.api.rawValue), logger: logger) },
            answerTimeout: patience + .seconds(15), clock: clock, logger: logger)
        let routes = HealthRoutes().routes + SubscriberRoutes(batcher: batcher).routes + more
        let keys = KeyTable(
            publicKeys: [Redacted(RunningAPI.publicKey)], secretKeys: [Redacted(RunningAPI.secretKey)])
        server = HTTPServer(
            HTTPServerConfiguration(role: "api", listen: "127.0.0.1:0"),
            handler: APIRoutes(
                routes, keys: keys, engine: engine,
                limiter: limits.map { RequestLimiter($0, logger: logger, metrics: metrics) }), logger: logger)
        batcher.start()
        engine.start()
        try server.start()
        port = server.boundPort ?? 0
    }

    /// Another role has taken this one's place.
    func retire() { engine.retire(until: .now + .seconds(20)) }

    deinit {
        server.drain(until: .now + .milliseconds(300))
        batcher.drain(until: .now + .seconds(2))
        engine.drain(until: .now + .seconds(2))
    }

    /// - Parameter key: nil for none.
    func call(
        _ method: String, _ path: String, _ body: JSON? = nil, key: String? = RunningAPI.publicKey,
        headers: [String: String] = [:]
    ) -> HTTPCall {
        var all = headers
        if let key { all["Authorization"] = "Bearer \(key)" }
        return HTTPCall.send(method, path, headers: all, body: body?.bytes ?? [], to: port)
    }
}
