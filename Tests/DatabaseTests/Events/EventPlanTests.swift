import Base
import Database
import Postgres
import TestSupport
import Testing

/// What statements about the events of a purchase read beside many others: the planner knows how few these are.
@Suite struct EventPlanTests {
    private static let purchases = 2500
    private static let each = 20

    /// A database with as many purchases and events each, in a few lanes.
    private func makeBench(isAnalyzed: Bool) throws -> Bench {
        let bench = try Bench()
        try bench.database.execute(
            """
            INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body, sequence)
            SELECT hashint4(p) & 3, gen_random_uuid(), 'RENEWAL', 'demo', 0, p::text, $3::int8 - 1000000 + n, repeat('x', 200)::bytea, n
            FROM generate_series(1, $2::int) n, generate_series(1, $1::int) p
            """, [.int4(Int32(EventPlanTests.purchases)), .int4(Int32(EventPlanTests.each)), .int8(Bench.now)])
        if isAnalyzed { try bench.database.execute("ANALYZE entitled.event") }
        return bench
    }

    /// How many entries of the primary key's index and rows of the table by a scan of the whole were read by `work`.
    private func reads(_ bench: Bench, _ work: () throws -> Void) throws -> (keys: Int64, rows: Int64) {
        func counts() throws -> (keys: Int64, rows: Int64) {
            // A connection's counts arrive when it is idle for a while, or when it says so.
            _ = try bench.connection.query("SELECT pg_stat_force_next_flush()")
            _ = try bench.connection.query("SELECT")
            return (
                try bench.database.count(
                    "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelid = 'entitled.event_pkey'::regclass"),
                try bench.database.count(
                    "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relid = 'entitled.event'::regclass")
            )
        }
        let before = try counts()
        try work()
        let after = try counts()
        return (after.keys - before.keys, after.rows - before.rows)
    }

    @Test(arguments: [false, true])
    func `a new event does not read the keys of its lane`(isAnalyzed: Bool) throws {
        let bench = try makeBench(isAnalyzed: isAnalyzed)
        let event = Bench.event(1, purchase: "7", lane: try lane(of: "7", in: bench))
        let read = try reads(bench) { try bench.insert([event]) }
        #expect(read.keys < 100 && read.rows == 0)
        let last = try bench.database.count(
            "SELECT max(sequence) FROM entitled.event WHERE original_transaction_id = '7'")
        #expect(last == Int64(EventPlanTests.each + 1))
    }

    @Test func `the events of several purchases are found without a scan of the table`() throws {
        let bench = try makeBench(isAnalyzed: true)
        let purchases = Set((1...20).map { "\($0)" })
        var found = 0
        let read = try reads(bench) {
            found = try EventQuery.oldest(
                of: EventQuery.Subject(originalTransactionIDs: purchases), after: nil, before: .max, limit: 1000,
                on: bench.connection
            ).count
        }
        #expect(found == purchases.count * EventPlanTests.each)
        #expect(read.rows == 0)
    }

    private func lane(of purchase: String, in bench: Bench) throws -> Int16 {
        Int16(
            try bench.database.count(
                "SELECT min(lane) FROM entitled.event WHERE original_transaction_id = $1", [.text(purchase)]))
    }
}
