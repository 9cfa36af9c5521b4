import Base
import Crypto
import Database
import Duties
import Postgres
import TestSupport

/// A database with the worker's connection, and shorthands for what tests put into it.
final class ReplayFixture {
    static let day: Int64 = 86_400_000

    let database: TestDatabase
    let connection: PostgresConnection
    let now = SystemClock().now()
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])

    init() throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        connection = try database.connect(role: "entitled_worker")
    }

    func addEndpoint(
        events: [String] = [], apps: [String] = [], environments: [StoreEnvironment] = [], ordering: Ordering = .none
    ) throws -> String {
        try EndpointTable.add(
            url: "https://example.com/hooks", authorization: nil, environments: environments, events: events,
            apps: apps, ordering: ordering, sealer: sealer, now: now - 100 * ReplayFixture.day, on: connection
        ).id
    }

    func endpoint(_ id: String) throws -> Endpoint {
        guard let endpoint = try EndpointTable.list(id: id, on: connection).first else {
            throw TestFailure("there is no endpoint \(id)")
        }
        return endpoint
    }

    // MARK: - Events

    static func event(_ number: Int, type: String = "RENEWAL", app: String = "demo") -> NewEvent {
        let id = Array(Digest.sha256(Array("event \(number)".utf8)).prefix(16))
        let body = #"{"event":{"type":"\#(type)","id":"\#(UUIDText.upper(id))"},"api_version":"1.0"}"#
        return NewEvent(
            lane: Lane(number: Int16(number % 256)), id: id, type: type, app: app, environment: .production,
            originalTransactionID: "2000\(number)", body: Array(body.utf8))
    }

    /// Makes events as a worker did so long ago, with their deliveries.
    @discardableResult
    func insert(_ events: [NewEvent], ago: Int64 = 60_000) throws -> [DueDelivery] {
        try connection.transaction { try EventTable.insert(events, now: now - ago, on: connection) }
    }

    @discardableResult
    func insert(_ numbers: some Sequence<Int>, type: String = "RENEWAL", ago: Int64 = 60_000) throws -> [DueDelivery] {
        try insert(numbers.map { ReplayFixture.event($0, type: type) }, ago: ago)
    }

    func settle(_ deliveries: [DueDelivery], _ state: DeliveryState, at time: Int64? = nil) throws {
        try DeliveryTable.settle(
            deliveries.map {
                DeliveryTable.Settlement(
                    of: $0, state: state, attempts: $0.attempts + 1, wait: 0, status: state == .delivered ? 200 : 500,
                    reason: state == .dead ? "status 500" : nil, attempt: nil)
            }, now: time ?? now, on: connection)
    }

    /// What is due for the endpoint, arriving.
    @discardableResult
    func consume(_ endpoint: String, atMost limit: Int = 1000) throws -> [DueDelivery] {
        let due = try DeliveryTable.dueInGroups(
            room: [endpoint: limit], now: SystemClock().now() + 1000, on: connection)
        try settle(due, .delivered)
        return due
    }

    func count(_ endpoint: String, _ state: DeliveryState) throws -> Int64 {
        try database.count(
            "SELECT count(*) FROM entitled.delivery WHERE endpoint = $1 AND state = $2",
            [.text(endpoint), .int2(state.rawValue)])
    }

    // MARK: - Replays

    func replay(
        _ endpoint: String, _ mode: WebhookReplay.Mode, since ago: Int64 = ReplayFixture.day, until: Int64? = nil,
        types: [String] = []
    ) -> WebhookReplay {
        WebhookReplay(
            endpoint: endpoint, mode: mode, since: now - ago, until: until.map { now - $0 }, types: types)
    }

    func open(_ replay: WebhookReplay, rate: Int? = nil, words: String = "test") throws -> Job {
        try JobTable.open(
            replay.request(since: words, until: nil, rate: rate, madeBy: "tester"), on: connection
        ).job
    }

    /// The same, without waiting for transactions of other tests that were begun before.
    func openAlone(_ replay: WebhookReplay) throws -> Job {
        let job = try open(replay)
        try database.execute("UPDATE entitled.job SET made_xid = 0")
        return job
    }

    /// Drives a job to its end; while it waits, the consumer takes what is due.
    @discardableResult
    func run(_ replay: WebhookReplay, words: String = "test") throws -> Job {
        try run(open(replay, words: words), consuming: replay.endpoint)
    }

    @discardableResult
    func run(_ job: Job, consuming endpoint: String) throws -> Job {
        try JobDriver(job.id, kinds: [WebhookReplayWork.kind]).attend(on: connection, rest: { _ in }) {
            _, isWaiting in
            if isWaiting { try consume(endpoint) }
            return false
        }
    }

    func dryRun(_ replay: WebhookReplay) throws -> JobCounts? {
        try WebhookReplayCount.count(replay, on: try database.connect(role: "entitled_api"))
    }
}
