import API
import Base
import Daemon
import HTTP
import Postgres
import Schemas
import Subscriptions
import TestSupport

/// The REST listener with routes, threads or a patience of a test's own, where the role as it is composed (`KeyedAPI`) has others.
final class EngineFixture: Sendable {
    let database: TestDatabase
    let log = LogTape()
    let metrics = Metrics()
    private let cluster: TestCluster
    private let engine: RequestExecutor
    private let batcher: SubscriberBatcher
    private let server: HTTPServer
    let port: UInt16

    /// - Parameters:
    ///   - more: routes beside those of health and subscribers.
    ///   - patience: as the engine's.
    ///   - limits: nil: nothing is limited.
    init(
        _ more: [APIRoute], patience: Duration = .seconds(10), threads: Int = 4, limits: LimitSettings? = nil
    ) throws {
        let cluster = try TestCluster.shared
        let database = try cluster.makeMigratedDatabase()
        (self.cluster, self.database) = (cluster, database)
        let (logger, metrics) = (log.logger, metrics)
        engine = RequestExecutor(
            threads: threads,
            sessions: { PostgresSession(database.target(role: DatabaseRole.api.rawValue), logger: logger) },
            patience: patience, answerTimeout: patience + .seconds(15), logger: logger)
        let clock = SystemClock()
        let answers = SubscriberResponses(
            document: SubscriberDocument(catalogue: EntitlementCatalogue([:])), foldSettings: FoldSettings(),
            clock: clock)
        batcher = try SubscriberBatcher(
            answers: answers,
            sessions: { PostgresSession(database.target(role: DatabaseRole.api.rawValue), logger: logger) },
            answerTimeout: patience + .seconds(15), clock: clock, logger: logger)
        let routes = HealthRoutes().routes + SubscriberRoutes(batcher: batcher).routes + more
        let keys = KeyTable(
            publicKeys: [Redacted(KeyedAPI.publicKey)], secretKeys: [Redacted(KeyedAPI.secretKey)])
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
        _ method: String, _ path: String, _ body: JSON? = nil, key: String? = KeyedAPI.publicKey,
        headers: [String: String] = [:]
    ) -> HTTPCall {
        var all = headers
        if let key { all["Authorization"] = "Bearer \(key)" }
        return HTTPCall.send(method, path, headers: all, body: body?.bytes ?? [], to: port)
    }
}
