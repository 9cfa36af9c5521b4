import Synchronization

/// Statements of which a part is meant for a cluster alone (Citus), in comments that one Postgres does not read.
///
/// - `/* cluster: TEXT */` is TEXT on a cluster.
/// - `/* cluster: TEXT for: */ OTHER /* end */` is TEXT on a cluster, and OTHER on one Postgres.
///
/// A cluster plans a statement for one server where each table that is distributed is narrowed to lanes of one shard, in so many
/// words; one Postgres would only be slower by it.
package enum ClusterText {
    private static let known = Mutex<[String: String]>([:])

    /// What a cluster is sent.
    package static func of(_ sql: String) -> String {
        guard sql.utf8.contains(UInt8(ascii: "*")), sql.contains(opening) else { return sql }
        if let text = known.withLock({ $0[sql] }) { return text }
        let text = expand(sql)
        known.withLock { $0[sql] = text }
        return text
    }

    private static let opening = "/* cluster: "
    private static let closing = " */"
    private static let replacing = "for:"
    private static let end = "/* end */"

    private static func expand(_ sql: String) -> String {
        var (text, rest) = ("", sql[...])
        while let start = rest.firstRange(of: opening), let stop = rest[start.upperBound...].firstRange(of: closing) {
            text += rest[..<start.lowerBound]
            let part = rest[start.upperBound..<stop.lowerBound]
            rest = rest[stop.upperBound...]
            if part.hasSuffix(replacing), let end = rest.firstRange(of: end) {
                let kept = part.dropLast(replacing.count)
                text += kept.hasSuffix(" ") ? kept.dropLast() : kept
                rest = rest[end.upperBound...]
            } else {
                text += part
            }
        }
        return text + rest
    }
}

extension PostgresConnection {
    private static let coordinates = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS is_coordinator"

    /// Whether the database can be the coordinator of a cluster: it has the extension.
    package func isCoordinator() throws -> Bool {
        try query(PostgresConnection.coordinates).one().bool("is_coordinator")
    }

    private static let distributes = """
        SELECT EXISTS (
            SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = to_regclass($1) AND partmethod = 'h'
        ) AS is_distributed
        """

    /// By the ranges of hashes, which every role may read; the function that names the shard of a value asks for rights on the table.
    private static let ranges = """
        SELECT n::int8 AS number, s.shardid::int8 AS shard, (
                SELECT min(p.groupid)::int8 FROM pg_catalog.pg_dist_placement p WHERE p.shardid = s.shardid
            ) AS server
        FROM generate_series(0, $2::int4 - 1) AS n
        LEFT JOIN pg_catalog.pg_dist_shard s ON s.logicalrelid = to_regclass($1)
            AND pg_catalog.worker_hash(n::int2) BETWEEN s.shardminvalue::int4 AND s.shardmaxvalue::int4
        ORDER BY n
        """

    /// Asks whether this table is distributed over the servers of a cluster by a column of small numbers; statements are sent
    /// accordingly from then on, and `shards` and `servers` say where the numbers lie.
    ///
    /// - Parameter count: of the numbers, which begin at 0.
    /// - Throws: `PostgresError`, also where the cluster knows no shard for a number.
    package func findShards(of table: String, count: Int) throws {
        guard try isCoordinator(),
            try query(PostgresConnection.distributes, [.text(table)]).one().bool("is_distributed")
        else {
            (shards, servers) = ([], [:])
            return
        }
        let rows = try query(PostgresConnection.ranges, [.text(table), .int4(Int32(clamping: count))])
        let found = try rows.compactMap { try $0.optionalInt("shard") }
        guard found.count == count else {
            throw PostgresError(.configuration, "the cluster has no shard for some values of \(table)")
        }
        shards = found
        servers = try rows.reduce(into: [:]) { servers, row in
            servers[try row.int("shard")] = try row.optionalInt("server")
        }
    }

    /// Whether the tables lie on several servers, so that statements are sent as a cluster takes them (see `ClusterText`).
    package var isCluster: Bool { !shards.isEmpty }
}
