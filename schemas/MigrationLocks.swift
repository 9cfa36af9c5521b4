import Base
import Daemon
import Glibc
import Postgres

/// How migrations lock tables beside processes that work.
///
/// All tables are locked at once, `lane` first as in the workers' transactions, before the first change: after that the
/// transaction waits for nothing, so that it is in no deadlock. The locks are waited for so briefly that Postgres, which looks
/// for deadlocks among those who wait longer, never ends another's transaction for this one; then all are released for a
/// while, and the processes work.
enum MigrationLocks {
    /// The longest time in which the locks are taken, in which writers may have to wait for them.
    private static let longest: Int64 = 500

    /// By their creation, which is the order in which the log is written; partitions are locked with their tables.
    private static let tables = """
        SELECT 'entitled.' || quote_ident(relname) AS name FROM pg_class
        WHERE relnamespace = to_regnamespace('entitled') AND relkind IN ('r', 'p') AND NOT relispartition
        ORDER BY relname <> 'lane', oid
        """

    private static let deadlockTimeout = "SELECT setting::int8 FROM pg_settings WHERE name = 'deadlock_timeout'"

    static func limit(on connection: PostgresConnection) throws -> Int64 {
        max(1, min(longest, try connection.query(deadlockTimeout).one().int("setting") / 2))
    }

    /// Bounds the waits of a transaction for locks, so that it yields to the processes.
    static func yield(on connection: PostgresConnection) throws {
        let limit = try limit(on: connection)
        _ = try connection.query("SELECT set_config('lock_timeout', $1, true)", [.text("\(limit)ms")])
    }

    /// Call as the first in a transaction.
    static func lockEveryTable(on connection: PostgresConnection) throws {
        let limit = try limit(on: connection)
        let names = try connection.query(tables).map { try $0.text("name") }
        if !names.isEmpty {
            _ = try connection.query("SELECT set_config('statement_timeout', $1, true)", [.text("\(limit)ms")])
            do {
                _ = try connection.query("LOCK TABLE \(names.joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
            } catch {
                throw error.isCancelled
                    ? PostgresError(.query, "tables are in use", sqlstate: "55P03") : error
            }
        }
        _ = try connection.query(
            """
            SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', $1, true),
                \(Durability.setting)
            """, [.text("\(limit)ms")])
    }

    // MARK: - Repeats

    private static let pauses: ClosedRange<Duration> = .milliseconds(200)...(.seconds(5))

    /// Repeats work that yields until it is done.
    ///
    /// - Parameters:
    ///   - wait: for how long it is repeated.
    ///   - onWait: called before each pause, with the connections that hold locks.
    static func repeating<Success>(
        for wait: Duration, on connection: PostgresConnection, onWait: ([String]) -> Void, _ work: () throws -> Success
    ) throws -> Success {
        let end = ContinuousClock.now + wait
        var pause = pauses.lowerBound
        while true {
            switch try attempt(work) {
            case .success(let result): return result
            case .failure(let error):
                guard ContinuousClock.now < end else {
                    throw Migrator.Busy(waited: wait, blockers: try blockers(on: connection), reason: error.message)
                }
                onWait(try blockers(on: connection))
                try endVacuums(on: connection)
                let drawn = min(pause * Double.random(in: 0.8...1.2), end - ContinuousClock.now)
                usleep(UInt32(clamping: max(drawn, .milliseconds(10)).milliseconds * 1000))
                pause = min(pauses.upperBound, pause * 2)
            }
        }
    }

    private static func attempt<Success>(
        _ work: () throws -> Success
    ) throws -> Result<Success, PostgresError> {
        do {
            return .success(try work())
        } catch let error as PostgresError where error.isCatalogueContention {
            return .failure(error)
        }
    }

    /// Tables that autovacuum, or something else that writers work beside, holds.
    private static let vacuumed = """
        SELECT DISTINCT 'entitled.' || quote_ident(c.relname) AS name FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
        WHERE c.relnamespace = to_regnamespace('entitled') AND c.relkind = 'r' AND l.granted AND l.pid <> pg_backend_pid()
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.mode = 'ShareUpdateExclusiveLock'
        """

    /// Autovacuum ends only for a wait that is longer than ours: waits for it alone, in a way that holds up no writer.
    private static func endVacuums(on connection: PostgresConnection) throws {
        let patience = try connection.query(deadlockTimeout).one().int("setting") + 500
        for table in try connection.query(vacuumed).map({ try $0.text("name") }) {
            do {
                try connection.transaction {
                    _ = try connection.query("SELECT set_config('lock_timeout', $1, true)", [.text("\(patience)ms")])
                    _ = try connection.query("LOCK TABLE ONLY \(table) IN SHARE UPDATE EXCLUSIVE MODE")
                }
            } catch let error as PostgresError where error.isCatalogueContention || error.isUndefined {}
        }
    }

    /// Locks are listed of all databases, whose tables may have the same numbers.
    private static let oldest = """
        SELECT concat('process ', a.pid, ' of ' || coalesce(a.usename::text, a.backend_type),
            ' (' || nullif(a.application_name, '') || ')',
            ' for ' || extract(epoch FROM clock_timestamp() - min(coalesce(a.xact_start, a.query_start)))::int8 || ' s')
            AS description
        FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
        WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.granted AND a.pid <> pg_backend_pid()
            AND (c.relnamespace = to_regnamespace('entitled')
                OR l.locktype = 'advisory' AND l.objsubid = 1
                    AND (l.classid::int8 << 32) | l.objid::int8 = \(Migrator.lockNumber))
        GROUP BY a.pid, a.usename, a.backend_type, a.application_name
        ORDER BY min(coalesce(a.xact_start, a.query_start)) LIMIT 3
        """

    /// The connections that hold tables, or the migrator's own lock, for the longest time.
    static func blockers(on connection: PostgresConnection) throws -> [String] {
        try connection.query(oldest).map { try $0.text("description") }
    }
}
