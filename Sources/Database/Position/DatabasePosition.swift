import Base
import Postgres

/// Where a database is in its own history: the cluster and its timeline.
///
/// A recovery to a point in time begins a newer timeline, as a promoted standby does.
package struct DatabasePosition: Sendable, Equatable {
    /// System identifier; every initialised cluster has one of its own.
    package let cluster: String
    package let timeline: Int64

    package init(cluster: String, timeline: Int64) {
        self.cluster = cluster
        self.timeline = timeline
    }

    private static let select = """
        SELECT (pg_control_system()).system_identifier::text AS cluster,
            ('x' || substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8))::bit(32)::int8 AS timeline
        """

    /// SQLSTATEs of a server that does not say: a standby, a role without the right, a managed Postgres without the functions.
    private static let unknown: Set<String> = ["55000", "42501", "42883", "0A000"]

    /// Nil where the server does not say. Outside of transactions.
    package static func read(on connection: PostgresConnection) throws -> DatabasePosition? {
        let rows: PostgresRows
        do {
            rows = try connection.query(select)
        } catch {
            guard let state = error.sqlstate, unknown.contains(state) else { throw error }
            return nil
        }
        let row = try rows.one()
        return DatabasePosition(cluster: try row.text("cluster"), timeline: try row.int("timeline"))
    }
}

extension DatabasePosition: CustomStringConvertible {
    package var description: String { "\(cluster)/\(timeline)" }
}
