import Base
import Postgres

/// A server of the cluster (Citus) on whose coordinator the database is; the coordinator is one of them.
package struct ClusterMember: Sendable, Equatable {
    package let host: String
    package let port: Int32
    package let isCoordinator: Bool
    /// False after `citus_disable_node`.
    package let isActive: Bool
    /// Whether new shards may be put on it.
    package let takesShards: Bool
    /// How many shards of lanes lie on it.
    package let shards: Int64

    package var name: String { "\(host):\(port)" }

    private static let select = """
        SELECT n.nodename AS host, n.nodeport AS port, n.groupid = 0 AS is_coordinator, n.isactive AS is_active,
            n.shouldhaveshards AS takes_shards, (
                SELECT count(*) FROM pg_catalog.pg_dist_placement p JOIN pg_catalog.pg_dist_shard s USING (shardid)
                WHERE p.groupid = n.groupid AND s.logicalrelid = to_regclass($1)
            ) AS shards
        FROM pg_catalog.pg_dist_node n WHERE n.noderole = 'primary' ORDER BY n.groupid
        """

    /// The coordinator first; none where the lanes are on one Postgres.
    package static func list(on connection: PostgresConnection) throws -> [ClusterMember] {
        guard connection.isCluster else { return [] }
        return try connection.query(select, [.text("entitled.lane")]).map {
            ClusterMember(
                host: try $0.text("host"), port: Int32(clamping: try $0.int("port")),
                isCoordinator: try $0.bool("is_coordinator"), isActive: try $0.bool("is_active"),
                takesShards: try $0.bool("takes_shards"), shards: try $0.int("shards"))
        }
    }

    // MARK: - What a server says of itself

    package struct Answer: Sendable, Equatable {
        /// The version of its extension.
        package let citus: String
        /// By their names, as the role that asks has them there.
        package let settings: [String: String]
        /// On disk, of the whole database there.
        package let bytes: Int64
        /// By how much its clock is ahead of the coordinator's, in ms; 0 where the way of the answer explains it.
        package let clockLead: Int64
        /// Nil: it has none.
        package let prepared: Prepared?
    }

    /// Transactions that a server has prepared and not committed: parts of commits in two phases.
    package struct Prepared: Sendable, Equatable {
        /// Of those that should have ended by themselves.
        package let leftOver: Int64
        /// How long ago the oldest one was prepared, in ms.
        package let age: Int64
        /// Of the oldest one, as `ROLLBACK PREPARED` takes it.
        package let id: String

        /// Whether the cluster prepared it, and not a program of its own (Citus names them `citus_…`).
        package var isOfCluster: Bool { id.hasPrefix("citus_") }
    }

    /// What decides whether a commit on a server lasts.
    package static let settings = ["fsync", "full_page_writes", "synchronous_commit", "max_prepared_transactions"]

    /// After so long a transaction that is still prepared has lost its coordinator.
    package static let longestCommit = Duration.seconds(60)

    private static func inquiry(_ longestCommit: Duration) -> String {
        """
        SELECT json_build_object(
            'citus', (SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'),
            'settings', (SELECT json_object_agg(name, current_setting(name)) FROM unnest('{\(
                settings.joined(separator: ","))}'::text[]) AS name),
            'bytes', pg_database_size(current_database()),
            'now_ms', (extract(epoch FROM clock_timestamp()) * 1000)::int8,
            'left_over', count(*) FILTER (WHERE prepared < clock_timestamp() - interval '\(longestCommit.milliseconds) ms'),
            'age_ms', (extract(epoch FROM clock_timestamp() - min(prepared)) * 1000)::int8,
            'id', min(gid) FILTER (WHERE is_oldest))
        FROM (
            SELECT gid, prepared, prepared = min(prepared) OVER () AS is_oldest FROM pg_catalog.pg_prepared_xacts
            WHERE database = current_database()
        ) AS p
        """
    }

    /// The function's rows are there before the instants behind them are read (`FROM` before the list).
    private static let ask = """
        SELECT r.success AS is_answered, a.citus, a.settings::text AS settings, a.bytes, a.left_over, a.age_ms, a.id,
            a.now_ms, (extract(epoch FROM statement_timestamp()) * 1000)::int8 AS asked_ms,
            (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS answered_ms
        FROM pg_catalog.master_run_on_worker(ARRAY[$1::text], ARRAY[$2::int4], ARRAY[$3::text], false) AS r
            LEFT JOIN LATERAL json_to_record(CASE WHEN r.success THEN r.result::json END)
                AS a(citus text, settings json, bytes int8, now_ms int8, left_over int8, age_ms int8, id text) ON true
        """

    /// A server that hangs is waited for no longer than the first; the second is for its answer.
    private static let limits = """
        SELECT set_config('citus.node_connection_timeout', '2s', true), set_config('statement_timeout', '4s', true)
        """

    /// Asks the server by way of the coordinator, which logs in to it as the role of the connection.
    ///
    /// - Parameter longestCommit: after it a transaction that is still prepared counts as left over.
    /// - Returns: nil where it does not answer in time, or does not let the role in; Citus does not tell one from the other.
    /// - Throws: `PostgresError` where the coordinator is lost.
    package func ask(
        longestCommit: Duration = ClusterMember.longestCommit, on connection: PostgresConnection
    ) throws -> Answer? {
        do {
            return try connection.transaction(opening: [PostgresStatement(ClusterMember.limits)]) { _ in
                try answer(
                    connection.query(
                        ClusterMember.ask, [.text(host), .int4(port), .text(ClusterMember.inquiry(longestCommit))]
                    ).one())
            }
        } catch let error as PostgresError where error.isCancelled {
            return nil
        }
    }

    private func answer(_ row: PostgresRow) throws -> Answer? {
        guard try row.bool("is_answered") else { return nil }
        let (asked, answered, now) = (try row.int("asked_ms"), try row.int("answered_ms"), try row.int("now_ms"))
        let prepared = try row.optionalInt("age_ms").map {
            Prepared(leftOver: try row.int("left_over"), age: $0, id: try row.text("id"))
        }
        let settings = try JSON(parsing: Array(try row.text("settings").utf8))
        return Answer(
            citus: try row.text("citus"),
            settings: Dictionary(
                (settings.members ?? []).map { ($0.name, $0.value.stringValue ?? "") }, uniquingKeysWith: { $1 }),
            bytes: try row.int("bytes"), clockLead: now < asked ? now - asked : max(0, now - answered),
            prepared: prepared)
    }

    // MARK: - Connecting

    private static let selectTimeout = """
        SELECT setting::int8 AS timeout_ms FROM pg_catalog.pg_settings WHERE name = 'citus.node_connection_timeout'
        """

    /// How long the coordinator waits for a server that does not answer to a connection; nil where it does not say.
    package static func connectionTimeout(on connection: PostgresConnection) throws -> Duration? {
        try connection.query(selectTimeout).first.map { .milliseconds(try $0.int("timeout_ms")) }
    }

    // MARK: - Commits in two phases

    private static let countPrepares = """
        SELECT coalesce(max(n_tup_ins), 0)::int8 AS count FROM pg_catalog.pg_stat_all_tables
        WHERE relid = 'pg_catalog.pg_dist_transaction'::regclass
        """

    /// How many transactions servers have prepared for commits in two phases that this coordinator led, since its statistics began:
    /// it notes each one in a row of `pg_dist_transaction`, which goes later.
    ///
    /// A commit over two servers counts two. It is not known which program's commits they were, nor are those in it that a connection
    /// has not reported yet: Postgres reports them within a second or so, or with the next one.
    package static func prepares(on connection: PostgresConnection) throws -> Int64 {
        try connection.query(countPrepares).one().int("count")
    }
}
