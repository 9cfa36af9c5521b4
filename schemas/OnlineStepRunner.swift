import Base
import Glibc
import Postgres

/// Runs a step of a migration beside the processes, from where an interrupted run of it came to.
struct OnlineStepRunner {
    let connection: PostgresConnection
    let version: Int
    let step: OnlineStep
    let wait: Duration
    let onEvent: (Migrator.Event) -> Void

    func run() throws {
        switch step {
        case .index(let name, let definition): try build(name, definition)
        case .backfill(_, _, let batch): try fill(batch)
        case .analysis(_, let table): try analyze(table)
        }
    }

    private var key: [PostgresValue] { [.int8(Int64(version)), .text(step.name)] }

    private func repeating<Result>(_ work: () throws -> Result) throws -> Result {
        try MigrationLocks.repeating(for: wait, on: connection, onWait: { onEvent(.waiting(holders: $0)) }, work)
    }

    // MARK: - An index

    private static let isInvalid = """
        SELECT count(*) > 0 AS is_invalid FROM pg_index JOIN pg_class c ON c.oid = indexrelid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = $1 AND NOT indisvalid
        """

    private static let finish = """
        UPDATE entitled.migration_step SET finished_at = clock_timestamp(), moved_at = clock_timestamp()
        WHERE version = $1 AND name = $2
        """

    private func build(_ name: String, _ definition: String) throws {
        try doAtOnce {
            // What a build that was interrupted leaves behind is of no use.
            if try connection.query(OnlineStepRunner.isInvalid, [.text(name)]).one().bool("is_invalid") {
                _ = try connection.query("DROP INDEX CONCURRENTLY entitled.\(name)")
            }
            _ = try connection.query("CREATE INDEX CONCURRENTLY IF NOT EXISTS \(name) \(definition)")
        }
    }

    /// Disturbs no reader and no writer; autovacuum of the table gives way.
    private func analyze(_ table: String) throws {
        try doAtOnce { _ = try connection.query("ANALYZE entitled.\(table)") }
    }

    /// Does the whole step by statements that take as long as they take.
    private func doAtOnce(_ work: () throws -> Void) throws {
        _ = try connection.query("SELECT set_config('statement_timeout', '0', false)")
        // Writers do not wait for these statements, which wait for their transactions: as long as it is told.
        _ = try connection.query("SELECT set_config('lock_timeout', $1, false)", [.text("\(wait.milliseconds)ms")])
        defer { _ = try? connection.query("RESET lock_timeout") }
        try repeating(work)
        _ = try connection.query(OnlineStepRunner.finish, key)
        onEvent(.step(OnlineStep.Progress(version: version, name: step.name, rows: 0, isFinished: true)))
    }

    // MARK: - A backfill

    private static let cursor = """
        SELECT cursor FROM entitled.migration_step WHERE version = $1 AND name = $2 FOR UPDATE
        """

    private static let move = """
        UPDATE entitled.migration_step SET cursor = $3, rows = rows + $4, moved_at = clock_timestamp(),
            finished_at = CASE WHEN $3 IS NULL THEN clock_timestamp() END
        WHERE version = $1 AND name = $2 RETURNING rows
        """

    /// Batches take about this long, and the pauses between them as long as they: at most half of the time is theirs.
    private static let aim: ClosedRange<Duration> = .milliseconds(100)...(.milliseconds(300))
    private static let sizes = 10...10_000

    private func fill(_ batch: String) throws {
        var size = 100
        while true {
            let began = ContinuousClock.now
            let progress = try repeating { [size] in try write(batch, size) }
            onEvent(.step(progress))
            if progress.isFinished { return }
            let took = ContinuousClock.now - began
            if took < OnlineStepRunner.aim.lowerBound { size = min(size * 2, OnlineStepRunner.sizes.upperBound) }
            if took > OnlineStepRunner.aim.upperBound { size = max(size / 2, OnlineStepRunner.sizes.lowerBound) }
            usleep(UInt32(clamping: min(took, .seconds(10)).milliseconds * 1000))
        }
    }

    private func write(_ batch: String, _ size: Int) throws -> OnlineStep.Progress {
        try connection.transaction {
            try MigrationLocks.yield(on: connection)
            let cursor = try connection.query(OnlineStepRunner.cursor, key).one().optionalText("cursor")
            let row = try connection.query(batch, [.text(cursor), .int8(Int64(size))]).one()
            let next = try row.optionalText("cursor")
            let rows = try connection.query(
                OnlineStepRunner.move, key + [.text(next), .int8(try row.int("rows"))]
            ).one().int("rows")
            return OnlineStep.Progress(version: version, name: step.name, rows: rows, isFinished: next == nil)
        }
    }
}
