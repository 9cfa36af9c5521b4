import Base
import Crypto
import Database
import Postgres
import TestSupport

/// A database with the worker's connection, and shorthands for what tests put into it.
struct Bench {
    static let now: Int64 = 1_790_000_000_000

    let database: TestDatabase
    let connection: PostgresConnection
    let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        connection = try database.connect(role: "entitled_worker")
    }

    @discardableResult
    func addEndpoint(
        _ url: String = "https://example.com/hooks", environments: [StoreEnvironment] = [], events: [String] = [],
        apps: [String] = [], ordering: Ordering = .none, authorization: String? = nil
    ) throws -> String {
        try EndpointTable.add(
            url: url, authorization: authorization, environments: environments, events: events, apps: apps,
            ordering: ordering, sealer: sealer, now: Bench.now, on: connection
        ).id
    }

    static func event(
        _ number: UInt8, type: String = "RENEWAL", app: String = "demo",
        environment: StoreEnvironment = .production, purchase: String? = "2000", body: String = #"{"event":{}}"#,
        lane: Int16 = 5
    ) -> NewEvent {
        NewEvent(
            lane: Lane(number: lane), id: [UInt8](repeating: number, count: 16), type: type, app: app,
            environment: environment, originalTransactionID: purchase, body: Array(body.utf8))
    }

    @discardableResult
    func insert(_ events: [NewEvent], now: Int64 = Bench.now) throws -> [DueDelivery] {
        try connection.transaction { try EventTable.insert(events, now: now, on: connection) }
    }

    func deliveries(of endpoint: String? = nil) throws -> [DeliverySummary] {
        try DeliveryQuery.list(.init(endpoint: endpoint), .init(limit: 1000), on: connection).rows
    }

    func due(_ room: [String: Int], now: Int64 = Bench.now) throws -> [DueDelivery] {
        try DeliveryTable.dueInGroups(room: room, now: now, on: connection)
    }

    /// What workers do within a second, and commands at once.
    func followEndpoints(now: Int64 = Bench.now) throws {
        while try DeliveryTable.followEndpoints(in: Lane.all, now: now, on: connection) > 0 {}
    }

    /// What waited for it comes back.
    @discardableResult
    func settle(
        _ delivery: DueDelivery, _ state: DeliveryState, attempts: Int = 1, wait: Int64 = 0, status: Int? = nil,
        reason: String? = nil, started: Int64 = Bench.now
    ) throws -> [DueDelivery] {
        var record = DeliveryTable.AttemptRecord(
            number: attempts, started: started, milliseconds: 12, outcome: "status", detail: reason,
            response: Array("answer".utf8))
        record.status = status
        let settlement = DeliveryTable.Settlement(
            of: delivery, state: state, attempts: attempts, wait: wait, status: status, reason: reason, attempt: record)
        return try DeliveryTable.settle([settlement], now: Bench.now, on: connection)
    }
}
