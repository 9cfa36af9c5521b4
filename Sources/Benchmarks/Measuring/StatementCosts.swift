import Base
import Postgres
import TestSupport

/// What each statement cost Postgres, as its extension pg_stat_statements counts it.
enum StatementCosts {
    /// Has a cluster that was started count statements; it is started anew.
    static func prepare(_ cluster: TestCluster) throws {
        let connection = try PostgresConnection(PostgresTarget(url: cluster.url(of: PrivateCluster.owner)))
        try connection.query("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        try connection.query("ALTER SYSTEM SET track_io_timing = on")
        try cluster.stop()
        try cluster.start()
        try PostgresConnection(PostgresTarget(url: cluster.url(of: PrivateCluster.owner))).query(
            "CREATE EXTENSION pg_stat_statements")
    }

    /// Forgets what was counted so far.
    static func reset(_ connection: PostgresConnection) throws {
        try connection.query("SELECT pg_stat_statements_reset()")
    }

    private static let select = """
        SELECT s.query, r.rolname::text, s.calls, s.total_exec_time, s.total_plan_time, s.wal_bytes::float8, s.rows
        FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname <> current_user
        ORDER BY s.total_exec_time + s.total_plan_time DESC LIMIT 40
        """

    /// The most expensive statements of the daemons first: microseconds of the server's time (waiting for the disk
    /// included), calls, rows and bytes of WAL, each per item.
    static func report(_ connection: PostgresConnection, items: Double) throws -> JSON {
        .array(
            try connection.query(select).map { row in
                .object([
                    "role": .string(try row.text("rolname")),
                    "microseconds": .double(
                        (try row.double("total_exec_time") + row.double("total_plan_time")) * 1000 / items),
                    "calls": .double(Double(try row.int("calls")) / items),
                    "rows": .double(Double(try row.int("rows")) / items),
                    "wal_bytes": .double(try row.double("wal_bytes") / items),
                    "statement": .string(
                        try row.text("query").split(whereSeparator: \.isWhitespace).joined(separator: " ")),
                ])
            })
    }
}
