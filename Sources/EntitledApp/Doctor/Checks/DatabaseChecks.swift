import Base
import Duties
import Postgres
import Schemas

/// The server and the database: what must hold for promises to be kept.
enum DatabaseChecks {
    static let all = [
        Check("database.server") { context, connection in try server(context, connection) },
        Check("database.schema") { _, connection in try schema(connection) },
        Check("database.days") { context, connection in try days(context, connection) },
    ]

    private static let leastVersion = 150_000

    private static let settings = """
        SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
            current_setting('synchronous_commit') AS synchronous_commit,
            pg_is_in_recovery() AS is_standby, current_setting('server_encoding') AS encoding,
            current_setting('autovacuum') AS autovacuum,
            /* cluster: (SELECT sum(result::int8) FILTER (WHERE success)::int8
                FROM run_command_on_all_nodes('SELECT pg_database_size(current_database())'))
            for: */pg_database_size(current_database())/* end */ AS bytes, current_setting('max_connections')::int8 AS most_connections,
            (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections
        """

    private static func server(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let row = try connection.query(settings).one()
        var findings: [Finding] = []
        if connection.serverVersion < leastVersion {
            findings.append(.error("Postgres is older than 15", "use Postgres 15 or newer"))
        }
        let why = "a crash of the database's host can lose what was acknowledged"
        for name in ["fsync", "full_page_writes", "synchronous_commit"] where try row.text(ColumnName(name)) == "off" {
            findings.append(.error("\(name) is off: \(why)", "set \(name) = on and reload Postgres"))
        }
        if try row.bool("is_standby") {
            findings.append(.error("the database is a standby: nothing can be written", "connect to the primary"))
        }
        if try row.text("encoding") != "UTF8" {
            findings.append(
                .error(
                    "the database's encoding is \(try row.text("encoding"))",
                    "create the database with the encoding UTF8"))
        }
        if try row.text("autovacuum") == "off" {
            findings.append(
                .error("autovacuum is off, so the queues will slow down", "set autovacuum = on and reload Postgres"))
        }
        let (connections, most) = (try row.int("connections"), try row.int("most_connections"))
        if connections * 10 > most * 9 {
            findings.append(
                .warning(
                    "\(connections) of \(most) connections are in use",
                    "raise max_connections, or close some connections"))
        }
        guard findings.isEmpty else { return findings }
        return [
            .ok("commits are durable; \(size(try row.int("bytes"))) on disk, \(connections) of \(most) connections")
        ]
    }

    private static func schema(_ connection: PostgresConnection) throws -> [Finding] {
        // A connection of a role is refused where this program does not work with it.
        let version = try SchemaVersion.read(on: connection) ?? 0
        var findings: [Finding] = []
        if version < SchemaVersion.current {
            findings.append(
                .warning(
                    "the schema is version \(version); this program works with it and installs version "
                        + "\(SchemaVersion.current)", "run `entitled migrate`"))
        }
        for step in try OnlineStep.read(on: connection) where !step.isFinished {
            findings.append(
                .warning(
                    "the step \(step.name) of schema \(step.version) is not finished (\(step.rows) rows so far)",
                    "run `entitled migrate`, which continues it"))
        }
        guard findings.isEmpty else { return findings }
        return [
            .ok(
                version > SchemaVersion.current
                    ? "the schema is version \(version), newer than this program's \(SchemaVersion.current), which works with it"
                    : "the schema is version \(version), this program's newest")
        ]
    }

    /// Days are made a week ahead. Without one, rows still find a place, which has to be cleared later.
    private static func days(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let today = Day(of: context.clock.now())
        var least = Int.max
        for table in DayPartitions.allCases {
            let made = Set(try table.days(on: connection))
            let ahead = (0...31).prefix { made.contains(today.adding(Int64($0))) }.count
            least = min(least, ahead)
        }
        let action = "start a worker; its log says why it cannot make them"
        switch least {
        case 0: return [.error("there is no partition for today", action)]
        case 1: return [.error("there is no partition for tomorrow", action)]
        case 2..<4: return [.warning("partitions exist for \(least - 1) days ahead only", action)]
        default: return [.ok("partitions exist for \(least - 1) days ahead")]
        }
    }

    static func size(_ bytes: Int64) -> String {
        bytes < 10 << 30 ? "\(bytes >> 20) MB" : "\(bytes >> 30) GB"
    }
}
