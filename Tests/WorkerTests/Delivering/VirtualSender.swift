import Base
import Daemon
import Database
import HTTP
import Postgres
import TestSupport
import Worker

/// The engine, the policy and the real store, as a worker has them, with the database's clock moved by hand and a wall
/// clock of this host that is wrong as the test likes.
final class VirtualSender {
    /// Milliseconds since 1970, by the database's clock.
    var now: Int64
    let wall: ManualClock
    let database: TestDatabase
    let connection: PostgresConnection
    let engine: DeliveryEngine
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    private let client: HTTPClient
    private var settler: AttemptRecorder
    private var changes = ConsumerDirectives()

    init(schedule: [Duration], limits: SendLimits = SendLimits()) throws {
        now = SystemClock().now()
        wall = ManualClock(now)
        database = try TestCluster.shared.makeMigratedDatabase()
        connection = try database.connect(role: "entitled_worker")
        let networks = ["127.0.0.0/8"].compactMap { Network(parsing: $0) }
        client = try HTTPClient(
            configuration: HTTPClientConfiguration(allowedNetworks: networks), logger: .silent, metrics: Metrics())
        client.start()
        engine = DeliveryEngine(
            client: client, limits: limits, timeout: .seconds(20), clock: wall, metrics: Metrics(), onResult: {})
        settler = AttemptRecorder(policy: DeliveryRetryPolicy(schedule: schedule), logger: .silent, metrics: Metrics())
    }

    deinit {
        client.stop()
    }

    func addEndpoint(_ url: String) throws -> String {
        try EndpointTable.add(
            url: url, authorization: nil, environments: [], events: [], apps: [], sealer: sealer, now: now,
            on: connection
        ).id
    }

    func addEvents(_ numbers: [UInt8], only endpoint: String? = nil) throws {
        let events = numbers.map { number in
            NewEvent(
                lane: Lane(number: Int16(number)), id: [UInt8](repeating: number, count: 16), type: "RENEWAL",
                app: "demo", environment: .production, originalTransactionID: nil,
                body: Array(#"{"event":{"type":"RENEWAL"}}"#.utf8))
        }
        _ = try connection.transaction { try EventTable.insert(events, only: endpoint, now: now, on: connection) }
    }

    /// Sends what is due now, once, and writes down what came of it; how many.
    @discardableResult
    func turn() throws -> Int {
        if !changes.isEmpty {
            _ = try changes.make(on: connection)
            changes = ConsumerDirectives()
        }
        engine.update(try EndpointTable.load(sealer: sealer, now: now, on: connection), now: now)
        let due = try DeliveryTable.due(room: engine.room(), lanes: Lane.all, now: now, on: connection).deliveries
        engine.add(due)
        var results: [AttemptResult] = []
        try eventually("what was due is sent") {
            results += engine.takeResults(atMost: 100)
            return results.count >= due.count
        }
        let decided = settler.decide(results, now: now)
        _ = try connection.transaction { try settler.settle(decided, now: now, on: connection) }
        engine.forget(results.map(\.delivery.id))
        engine.hold(decided.filter(\.changesEndpoint).map(\.endpoint))
        for item in decided { changes.note(item.changes, of: item.endpoint, now: now) }
        return results.count
    }

    /// When the only pending delivery is due.
    func next() throws -> Int64 {
        try database.count("SELECT next_ms FROM entitled.delivery WHERE state = 0")
    }

    func states() throws -> [String] {
        try DeliveryQuery.list(.init(), .init(limit: 100), on: connection).rows.map(\.state.name)
    }
}
