import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct PendingLowWaterMarksTests {
    private let lanes = Lane.all
    private static let start: Int64 = 1_790_000_000_000

    /// Pages that the statement touches in its plan.
    private func pages(_ statement: PostgresStatement, on connection: PostgresConnection) throws -> Int64 {
        let rows = try connection.query(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.sql, statement.parameters)
        let plan = try JSON(parsing: Array(try rows.one().text(0).utf8)).arrayValue?.first?["Plan"]
        return (plan?["Shared Hit Blocks"]?.intValue ?? 0) + (plan?["Shared Read Blocks"]?.intValue ?? 0)
    }

    private func reading(_ floor: PendingLowWaterMarks?, now: Int64) -> PostgresStatement {
        PendingNotification.taking(
            from: lanes, starts: floor?.starts(of: lanes, now: now), eachAtMost: 16, atMost: 256, except: [])
    }

    @Test func `reading what waits costs the same whatever is dead and cannot be swept up`() throws {
        // A cluster of its own: an open transaction keeps rows alive in every database.
        let cluster = try TestCluster()
        defer { withExtendedLifetime(cluster) {} }
        let database = try cluster.makeMigratedDatabase()
        let worker = try database.connect(role: "entitled_worker")
        let owner = try database.connect()
        let stranger = try database.connect()
        try stranger.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try stranger.query("SELECT count(*) FROM entitled.lane")

        var floor = PendingLowWaterMarks()
        var now = PendingLowWaterMarksTests.start
        func come(_ count: Int64) throws {
            // Two seconds' worth of each, one in every lane in turn.
            try owner.query(
                """
                INSERT INTO entitled.pending (lane, seq)
                SELECT g % 256, (($1 + g * 2000 / $2 - 1704067200000) << 22) + g FROM generate_series(0, $2 - 1) g
                """, [.int8(now), .int8(count)])
            now += 2000
        }
        func applyAll() throws {
            while true {
                let pending = try PendingNotification.read(
                    from: lanes, starts: floor.starts(of: lanes, now: now), eachAtMost: 16, atMost: 4096, on: worker)
                guard !pending.isEmpty else { return }
                try PendingNotification.remove(pending, on: worker)
                floor.note(removed: pending)
            }
        }
        try come(10_000)
        try applyAll()
        let before = try pages(reading(floor, now: now), on: worker)
        for _ in 0..<10 {
            try come(10_000)
            try applyAll()
        }
        // Nothing was swept up: whoever reads from the start visits it all.
        let dead = try pages(reading(nil, now: now), on: worker)
        #expect(dead > 100_000)
        // The rows of the last half-second are visited, then as now, and no others.
        let after = try pages(reading(floor, now: now), on: worker)
        #expect(
            after <= before + before / 10,
            "\(before) pages at first, \(after) with 100,000 dead rows, \(dead) from the start")
        #expect(after < dead / 20)
        try stranger.query("COMMIT")
    }

    @Test func `what arrives below the floor is found from the start`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_worker")
        let owner = try database.connect()
        let now = PendingLowWaterMarksTests.start
        func come(_ instant: Int64) throws {
            try owner.query(
                "INSERT INTO entitled.pending (lane, seq) VALUES (7, $1)",
                [.int8(SequenceGenerator.least(at: instant))])
        }
        func read(_ starts: [Int64]?) throws -> Int {
            try PendingNotification.read(
                from: lanes, starts: starts, eachAtMost: 16, atMost: 256, on: connection
            ).count
        }
        var floor = PendingLowWaterMarks()
        #expect(floor.isFullScanDue)
        try come(now)
        let pending = try PendingNotification.read(
            from: lanes, starts: floor.starts(of: lanes, now: now), eachAtMost: 16, atMost: 256, on: connection)
        #expect(pending.count == 1)
        try PendingNotification.remove(pending, on: connection)
        floor.note(removed: pending)
        // Committed a little later than its number says: within the slack.
        try come(now - 300)
        #expect(try read(floor.starts(of: lanes, now: now)) == 1)
        // Much later, or by a host whose clock is behind.
        try owner.query("DELETE FROM entitled.pending")
        try come(now - 60_000)
        #expect(try read(floor.starts(of: lanes, now: now)) == 0)
        #expect(try read(nil) == 1)
        floor.forget([Lane(number: 7)])
        #expect(try read(floor.starts(of: lanes, now: now)) == 1)
    }

    @Test func `a host whose clock is ahead hides nothing that comes from others`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_worker")
        let now = PendingLowWaterMarksTests.start
        try database.execute(
            "INSERT INTO entitled.pending (lane, seq) VALUES (7, $1)",
            [.int8(SequenceGenerator.least(at: now + 3_600_000))])
        let pending = try PendingNotification.read(from: lanes, eachAtMost: 1, atMost: 1, on: connection)
        var floor = PendingLowWaterMarks()
        floor.note(removed: pending)
        #expect(floor.starts(of: [Lane(number: 7)], now: now)[0] <= SequenceGenerator.least(at: now))
        #expect(floor.starts(of: [Lane(number: 8)], now: now) == [0])
    }

    @Test func `lines are read from the start for a twentieth of the time at most`() {
        var floor = PendingLowWaterMarks()
        #expect(floor.isFullScanDue)
        floor.scanned(in: .seconds(60))
        #expect(!floor.isFullScanDue)
        floor.scanned(in: .zero)
        #expect(floor.isFullScanDue)
    }
}
