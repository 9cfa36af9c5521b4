import Base
import Crypto
import Daemon
import Database
import Duties
import Operator
import Postgres
import TestSupport

/// The operator API beside a worker's connection, with the endpoints `ep_1` and `ep_2` and no delivery.
final class BulkFixture {
    static let now = OperatorFixture.now

    let scene: OperatorFixture
    let worker: PostgresConnection
    var database: TestDatabase { scene.database }

    init() throws {
        scene = try OperatorFixture(events: 1)
        worker = try scene.database.connect(role: "entitled_worker")
        // Its events have no bodies.
        try database.execute("DELETE FROM entitled.delivery")
        try database.execute("DELETE FROM entitled.event")
        try database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_2', 'https://example.com/two', '{}', '{}', '{}', 1000)
            """)
    }

    // MARK: - Deliveries

    /// - Parameter purchase: an original transaction id.
    private static func event(_ number: Int, of purchase: String) -> NewEvent {
        let id = Array(Digest.sha256(Array("event \(number)".utf8)).prefix(16))
        let body = #"{"event":{"type":"RENEWAL","id":"\#(UUIDText.upper(id))"},"api_version":"1.0"}"#
        return NewEvent(
            lane: Lane(app: "demo", environment: .production, subject: purchase), id: id, type: "RENEWAL", app: "demo",
            environment: .production, originalTransactionID: purchase, body: Array(body.utf8))
    }

    /// Makes events a minute ago, a delivery to each endpoint, and settles those half a minute ago.
    @discardableResult
    func make(
        _ numbers: Range<Int>, _ state: DeliveryState, of purchase: String = OperatorFixture.otid
    ) throws -> [DueDelivery] {
        let made = try worker.transaction {
            try EventTable.insert(
                numbers.map { Self.event($0, of: purchase) }, now: Self.now - 60_000, on: worker)
        }
        if state != .pending { try settle(made, state, at: Self.now - 30_000) }
        return made
    }

    /// - Parameter isLogged: whether the attempt that ends then is written down.
    func settle(
        _ deliveries: [DueDelivery], _ state: DeliveryState, at time: Int64, isLogged: Bool = false
    ) throws {
        try DeliveryTable.settle(
            deliveries.map { delivery in
                DeliveryTable.Settlement(
                    of: delivery, state: state, attempts: delivery.attempts + 1, wait: 0,
                    status: state == .delivered ? 200 : 503, reason: state == .dead ? "status 503" : nil,
                    attempt: isLogged
                        ? DeliveryTable.AttemptRecord(
                            number: delivery.attempts + 1, started: time - 100, milliseconds: 100,
                            outcome: "status_503", detail: nil, response: []) : nil)
            }, now: time, on: worker)
    }

    func count(_ condition: String) throws -> Int64 {
        try database.count("SELECT count(*) FROM entitled.delivery WHERE \(condition)")
    }

    func consume() throws {
        let due = try DeliveryTable.due(
            room: ["ep_1": 1000, "ep_2": 1000], lanes: Lane.all, now: SystemClock().now() + 1000, on: worker)
        try settle(due.deliveries, .delivered, at: SystemClock().now())
    }

    // MARK: - Jobs

    static func object(_ members: [String: JSON]) -> JSON {
        .object(members.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
    }

    static func request(_ members: [String: JSON] = [:]) -> JSON {
        object(members.merging(["reason": .string("ticket 4711")]) { given, _ in given })
    }

    static func job(_ kind: String, _ filter: [String: JSON]) -> JSON {
        request(["kind": .string(kind), "filter": object(filter)])
    }

    func ask(_ body: JSON, as role: OperatorRole = .operator, plan: String? = nil) throws -> Int64 {
        let call = scene.post("/jobs", body, as: role, headers: plan.map { ["If-Plan": $0] } ?? [:])
        guard call.status == 202, let job = call.json["job"]?.intValue else { throw TestFailure(call.text) }
        return job
    }

    func plan(_ body: JSON) throws -> String {
        let call = scene.post("/jobs?preview=true", body)
        guard let plan = call.json["plan"]?.stringValue else { throw TestFailure(call.text) }
        return plan
    }

    func lease(_ job: Int64) throws -> JobLease {
        guard let lease = try JobLease.take(job, driver: [UInt8](repeating: 1, count: 16), on: worker) else {
            throw TestFailure("the job is driven by another")
        }
        return lease
    }

    /// Drives a job to its end, as a worker does, and takes what is due where it waits for consumers.
    @discardableResult
    func run(_ number: Int64) throws -> Job {
        try JobDriver(number, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, isWaiting in
            if isWaiting { try consume() }
            return false
        }
    }
}
