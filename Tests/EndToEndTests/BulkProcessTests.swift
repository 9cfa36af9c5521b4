import Base
import Daemon
import Database
import Glibc
import TestSupport
import Testing

/// Deliveries that an operator sends again by the thousand, by a worker's process that is killed around its commits.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct BulkProcessTests {
    @Test(arguments: [FailPoint.bulkBeforeCommit, .bulkAfterCommit])
    func `each delivery is sent again once, wherever the worker is killed`(point: FailPoint) throws {
        let count = 1100
        let scene = try ReplayFixture(events: count)
        let database = scene.database
        let consumer = try Consumer()
        defer { consumer.stop() }
        let endpoint = try scene.addEndpoint(consumer)
        // Given up before, all of them.
        let owner = try database.connect(role: "entitled_worker")
        let first = try scene.site.start("worker")
        try scene.site.run("replay", "webhooks", "--endpoint", endpoint, "--since", "24h", "--missing")
        try scene.untilDelivered(Int64(count))
        first.kill(SIGTERM)
        _ = try first.wait()
        try database.execute("UPDATE entitled.delivery SET state = 2, reason = 'status 500'")
        #expect(consumer.requests.count == count)
        _ = try ConsoleUserTable.add("carl", .integrator, now: 1, on: owner)
        let now = SystemClock().now()
        let selection = BulkSelection(
            .deliveries(DeliveryQuery.Filter(endpoint: endpoint, state: .dead), event: nil), until: now)
        let request = ChangeTable.Request(
            .bulkResend, "deliveries", parameters: selection.json, reason: "the consumer was down",
            by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
            idempotencyKey: "k1", fingerprint: [UInt8](repeating: 1, count: 32))
        let answer = try ChangeTable.ask(request, on: try database.connect(role: "entitled_console"))
        guard case .asked(let id) = answer else { throw TestFailure("\(answer)") }
        let doomed = try scene.site.start("worker", environment: [FailPoint.variable: "\(point.rawValue):2"])
        #expect(try doomed.wait() == 128 + SIGKILL, "\(doomed.log)")
        let job = try #require(try JobTable.find(id, on: owner))
        #expect(job.state == .running && job.counts.queued == (point == .bulkAfterCommit ? 1000 : 500))
        #expect(
            try database.count("SELECT count(*) FROM entitled.delivery WHERE job = \(id)") == job.counts.queued)
        let worker = try scene.site.start("worker")
        try eventually(timeout: .seconds(60), "the job is done") { try JobTable.find(id, on: owner)?.state == .done }
        try scene.untilDelivered(Int64(count))
        let done = try #require(try JobTable.find(id, on: owner))
        #expect(done.counts == JobCounts(matched: Int64(count), queued: Int64(count), skipped: 0))
        #expect(try DeliveryBulk.outcome(ofJob: id, upTo: 10_000, on: owner) == [.delivered: Int64(count)])
        // A death may come between a request and its record: that one may be sent once more, and none is left out.
        let times = Dictionary(grouping: consumer.requests, by: \.id).mapValues(\.count)
        #expect(times.count == count && times.values.allSatisfy { $0 >= 2 })
        #expect(try database.count("SELECT count(*) FROM entitled.delivery WHERE round_start <> 1") == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.audit WHERE job = \(id) AND outcome = 'done'") == 1)
        worker.kill(SIGTERM)
    }
}
