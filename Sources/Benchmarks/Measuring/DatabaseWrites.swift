import Postgres

/// What a database wrote so far, in counters that vacuum does not set back.
struct DatabaseWrites {
    private(set) var walBytes: Double
    /// Row versions that no transaction sees any more: each update and each deletion leaves one.
    private(set) var deadTuples: Double
    private var updates: Double
    private var hotUpdates: Double

    /// Server processes tell their counters within a second or at their end: ask when those in question ended.
    init(_ connection: PostgresConnection) throws {
        _ = try connection.query("SELECT pg_stat_clear_snapshot()")
        let row = try connection.query(
            """
            SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS wal_bytes,
                coalesce(sum(n_tup_upd + n_tup_del), 0)::float8 AS dead,
                coalesce(sum(n_tup_upd), 0)::float8 AS updates, coalesce(sum(n_tup_hot_upd), 0)::float8 AS hot_updates
            FROM pg_stat_user_tables
            """
        ).one()
        walBytes = try row.double("wal_bytes")
        deadTuples = try row.double("dead")
        updates = try row.double("updates")
        hotUpdates = try row.double("hot_updates")
    }

    func since(_ before: DatabaseWrites) -> DatabaseWrites {
        var difference = self
        difference.walBytes -= before.walBytes
        difference.deadTuples -= before.deadTuples
        difference.updates -= before.updates
        difference.hotUpdates -= before.hotUpdates
        return difference
    }

    /// Of all updates, those that wrote no index.
    var hotShare: Double { updates > 0 ? hotUpdates / updates : 0 }
}
