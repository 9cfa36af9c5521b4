import Base
import Daemon
import Glibc
import Postgres
import Schemas
import TestSupport

/// How long a writer waits while `Migrator` brings large tables from an earlier schema to this program's.
struct UpgradeScenario {
    let options: BenchmarkOptions

    /// The schema of the last release without a range of schemas, and that of the one before this program's range.
    private static let origins = [19, SchemaVersion.oldest]

    func run() throws -> BenchmarkReport {
        var report = BenchmarkReport("upgrade")
        for origin in UpgradeScenario.origins { try measure(origin, &report) }
        return report
    }

    // MARK: - Filling

    /// `$1` rows in each of the tables that grow with every notification.
    private static let fill = [
        """
        INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload)
        SELECT i % 256, 'demo', 1, (i / 10)::text, gen_random_uuid(), 1, i, i, decode(repeat(md5(i::text), 12), 'hex')
        FROM generate_series(1, $1::int8) i
        """,
        """
        INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body)
        SELECT i % 256, gen_random_uuid(), 'RENEWAL', 'demo', 1, (i / 10)::text, i,
            decode(repeat(md5(i::text), 20), 'hex') FROM generate_series(1, $1::int8) i
        """,
        """
        INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
        SELECT i % 256, gen_random_uuid(), 'endpoint', gen_random_uuid(), 'RENEWAL', 1, i, i
        FROM generate_series(1, $1::int8) i
        """,
        """
        INSERT INTO entitled.purchase_identifier (lane, app, environment, original_transaction_id, identifier)
        SELECT i % 256, 'demo', 1, (i / 10)::text, i::text FROM generate_series(1, $1::int8) i
        """,
        """
        INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
            version, updated_ms)
        SELECT i % 256, 'demo', 1, i::text, 'owner ' || i, 'pro_monthly', true, i, i
        FROM generate_series(1, $1::int8 / 10) i
        """,
    ]

    // MARK: - Measuring

    private struct Waits: Sendable {
        var longest: Duration = .zero
        var writes = 0
        var isOver = false
    }

    private func measure(_ origin: Int, _ report: inout BenchmarkReport) throws {
        let cluster = try TestCluster(.durableForMeasuring)
        let database = try cluster.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, upTo: origin)
        BenchmarksProgram.note("schema \(origin): writing \(options.purchases) rows into each large table")
        for sql in UpgradeScenario.fill {
            _ = try connection.query("SET statement_timeout = 0")
            _ = try connection.query(sql, [.int8(Int64(options.purchases))])
        }
        _ = try connection.query("VACUUM ANALYZE")
        _ = try connection.query("CHECKPOINT")

        let waits = Monitor(Waits())
        let writer = TestThread {
            let connection = try database.connect()
            _ = try connection.query("SET statement_timeout = 0")
            var seq: Int64 = 1
            while !waits.read({ $0.isOver }) {
                let began = ContinuousClock.now
                _ = try connection.query(
                    "INSERT INTO entitled.pending (lane, seq) VALUES ($1, $2)", [.int2(Int16(seq % 256)), .int8(seq)])
                let took = ContinuousClock.now - began
                waits.change {
                    $0.longest = max($0.longest, took)
                    $0.writes += 1
                }
                seq += 1
                usleep(5_000)
            }
        }
        try eventually("the writer writes") { waits.read { $0.writes } > 100 }
        let calm = waits.change { state in
            defer { state.longest = .zero }
            return state.longest
        }
        BenchmarksProgram.note("migrating")
        let began = ContinuousClock.now
        _ = try Migrator.migrate(on: connection)
        let took = ContinuousClock.now - began
        waits.change { $0.isOver = true }
        try writer.value(timeout: .seconds(60))
        report.add("from_\(origin)_rows", Double(options.purchases), "in each large table")
        report.add("from_\(origin)_longest_write_before", calm.seconds, "s")
        report.add("from_\(origin)_longest_write", waits.read { $0.longest.seconds }, "s", wanted: "≤ 1")
        report.add("from_\(origin)_migrated", took.seconds, "s")
    }
}
