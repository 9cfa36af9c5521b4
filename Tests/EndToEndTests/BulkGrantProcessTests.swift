import Base
import Daemon
import Database
import Glibc
import Postgres
import TestSupport
import Testing

/// Grants to many customers by a worker's process that is killed around its commits.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct BulkGrantProcessTests {
    @Test(arguments: [FailPoint.bulkBeforeCommit, .bulkAfterCommit])
    func `each customer gets the grant once, wherever the worker is killed`(point: FailPoint) throws {
        let count: Int64 = 120
        let scene = try ReplayFixture(events: 1)
        let database = scene.database
        let owner = try database.connect(role: "entitled_worker")
        // Those who were seen long ago and have nothing are removed by retention.
        let seen = SystemClock().now() - 60_000
        try database.execute(
            """
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            SELECT 'user-' || n, $2 FROM generate_series(1, $1) n
            """, [.int8(count), .int8(seen)])
        try database.execute(
            """
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            SELECT 'user-' || n, 'user-' || n, $2 FROM generate_series(1, $1) n
            """, [.int8(count), .int8(seen)])
        _ = try ConsoleUserTable.add("carl", .support, now: 1, on: owner)
        let selection = BulkSelection(.customers, since: seen, until: seen + 1)
        let terms = [
            JSON.Member(name: "entitlement", value: .string("pro")),
            JSON.Member(name: "duration", value: .string("monthly")),
        ]
        let request = ChangeTable.Request(
            .bulkGrant, "customers", parameters: .object((selection.json.members ?? []) + terms), reason: "a present",
            by: ChangeOrigin(user: "carl", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
            idempotencyKey: "k1", fingerprint: [UInt8](repeating: 1, count: 32))
        let answer = try ChangeTable.ask(request, on: try database.connect(role: "entitled_console"))
        guard case .asked(let id) = answer else { throw TestFailure("\(answer)") }
        let doomed = try scene.site.start("worker", environment: [FailPoint.variable: "\(point.rawValue):3"])
        #expect(try doomed.wait() == 128 + SIGKILL, "\(doomed.log)")
        func grants() throws -> Int64 {
            try database.count("SELECT count(*) FROM entitled.action WHERE kind = 'grant'")
        }
        #expect(try grants() == (point == .bulkAfterCommit ? 75 : 50))
        let worker = try scene.site.start("worker")
        try eventually(timeout: .seconds(60), "the job is done") { try JobTable.find(id, on: owner)?.state == .done }
        let done = try #require(try JobTable.find(id, on: owner))
        #expect(done.counts == JobCounts(matched: count, queued: count, skipped: 0), "\(done)")
        #expect(try grants() == count)
        #expect(
            try database.count(
                "SELECT count(DISTINCT owner) FROM entitled.purchase WHERE app = '$promotional' AND owner LIKE 'user-%'"
            )
                == count)
        #expect(try database.count("SELECT count(*) FROM entitled.event WHERE type = 'NON_RENEWING_PURCHASE'") == count)
        worker.kill(SIGTERM)
    }
}
