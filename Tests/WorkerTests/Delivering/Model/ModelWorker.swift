import Base
import Crypto
import Daemon
import Database
import HTTP
import Postgres
import TestSupport
import Worker

/// What a worker does at each turn, one step at a time, with the real sender, fence and statements.
final class ModelWorker {
    private static let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    static let schedule = [Duration.seconds(3600), .seconds(12 * 3600)]

    let consumer: HoldingConsumer
    private let connection: PostgresConnection
    private let clock: ManualClock
    private var settler: AttemptRecorder
    private let client: HTTPClient
    private let engine: DeliveryEngine
    private let results = Monitor(0)
    private var leases: LaneLeases
    /// The endpoints that it knew as enabled when it last looked.
    private(set) var enabled: Set<String> = []
    private var answered = 0

    init(_ database: TestDatabase, clock: ManualClock, consumer: HoldingConsumer) throws {
        self.consumer = consumer
        self.clock = clock
        connection = try database.connect(role: "entitled_worker")
        leases = LaneLeases(worker: SecureRandom.bytes(16), host: "model", duration: .seconds(3600))
        settler = AttemptRecorder(
            policy: DeliveryRetryPolicy(schedule: ModelWorker.schedule), logger: .silent, metrics: Metrics())
        client = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) }), logger: .silent,
            metrics: Metrics())
        client.start()
        let results = results
        engine = DeliveryEngine(
            client: client, timeout: .seconds(60), clock: clock, instant: { clock.instant }, metrics: Metrics(),
            onResult: { results.change { $0 += 1 } })
    }

    deinit {
        client.stop()
    }

    /// As after the end of every lease, and the death of every other worker.
    func takeOver() throws {
        _ = try connection.query("UPDATE entitled.lane SET lease_until = '-infinity'")
        _ = try connection.query("DELETE FROM entitled.worker")
        _ = try leases.maintain(on: connection)
    }

    /// Endpoints as they are, what became of their deliveries, and what is due. False without lanes.
    func look() throws -> Bool {
        let lanes = leases.owned
        guard !lanes.isEmpty else { return false }
        let endpoints = try EndpointTable.load(sealer: ModelWorker.sealer, now: clock.now(), on: connection)
        enabled = Set(endpoints.filter(\.isEnabled).map(\.id))
        engine.update(
            endpoints.map { $0.with(url: consumer.url(of: $0.id)) }, failures: try tried(), now: clock.now())
        engine.resume()
        while try DeliveryTable.followEndpoints(in: lanes, now: clock.now(), on: connection) > 0 {}
        let room = engine.room()
        let due = try DeliveryTable.due(room: room, lanes: lanes, now: clock.now(), on: connection)
        engine.add(due.deliveries)
        engine.note(hasMore: due.hasMore, of: room.keys)
        return true
    }

    /// Those that were ever sent to, of which others saw no failure.
    private func tried() throws -> [String: Int] {
        let rows = try connection.query("SELECT DISTINCT endpoint FROM entitled.delivery WHERE attempts > 0")
        return Dictionary(uniqueKeysWithValues: try rows.map { (try $0.text(0), 0) })
    }

    /// One transaction: the results that are there, and new events. What of it was written.
    func commit(_ events: [NewEvent] = []) throws -> (results: [AttemptResult], events: [NewEvent]) {
        let taken = engine.takeResults(atMost: 1000)
        let lanes = Set(taken.map(\.delivery.id.lane) + events.map(\.lane)).sorted()
        guard !lanes.isEmpty else { return ([], []) }
        var decided: [AttemptRecorder.Decided] = []
        var made: [DueDelivery] = []
        let ours = try connection.transaction {
            let passed = try Fence.pass(lanes, leases: leases, on: connection).lanes
            decided = settler.decide(taken.filter { passed.contains($0.delivery.id.lane) }, now: clock.now())
            made = try settler.settle(decided, now: clock.now(), on: connection)
            made += try EventTable.insert(
                events.filter { passed.contains($0.lane) }, now: clock.now(), on: connection)
            return passed
        }
        engine.forget(taken.map(\.delivery.id))
        if !Set(lanes).isSubset(of: ours) {
            leases.forget(leases.owned)
            engine.drop(Set(Lane.all))
        }
        let changed = decided.filter(\.changesEndpoint).map(\.endpoint)
        engine.hold(changed)
        enabled.subtract(changed)
        var changes = ConsumerDirectives()
        for item in decided { changes.note(item.changes, of: item.endpoint, now: clock.now()) }
        _ = try changes.make(on: connection)
        engine.add(made)
        return (taken.filter { ours.contains($0.delivery.id.lane) }, events.filter { ours.contains($0.lane) })
    }

    /// What is in flight, once all of it is at the consumer.
    func inFlight() throws -> [HoldingConsumer.Request] {
        // Whatever may begin has begun after this.
        engine.resume()
        engine.add([])
        return try consumer.wait(engine.inFlight)
    }

    /// Answers what is in this place, and waits for the result.
    func answer(_ place: Int, _ status: Int, retryAfter: Int? = nil) throws {
        answered += 1
        let expected = answered
        consumer.answer(place, status, retryAfter: retryAfter)
        guard results.wait(timeout: .seconds(20), for: { $0 >= expected ? true : nil }) != nil else {
            throw TestFailure("no result of an answer")
        }
    }

    /// The orderly end: what is in flight is cut, and written down as such.
    func end() throws -> (results: [AttemptResult], events: [NewEvent]) {
        engine.close()
        engine.cut()
        defer { consumer.stop() }
        return try commit()
    }

    /// The other one: nothing is written down.
    func die() {
        engine.close()
        client.stop()
        consumer.stop()
    }
}

extension Endpoint {
    fileprivate func with(url: String) -> Endpoint {
        Endpoint(
            id: id, url: url, environments: environments, events: events, apps: apps, ordering: ordering,
            disabledReason: disabledReason, pausedUntil: pausedUntil, created: created, secrets: secrets,
            isSendable: isSendable)
    }
}

extension ManualClock {
    private static let origin = ContinuousClock.now

    /// Of a clock that goes with this one.
    var instant: ContinuousClock.Instant { ManualClock.origin + .milliseconds(now()) }
}
