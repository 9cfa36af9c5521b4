import Base
import Postgres

/// Where the tables of the coordinator of a cluster lie, as its catalogue says; only read.
package struct ClusterState: Sendable, Equatable {
    package struct Table: Sendable, Equatable {
        package let name: String
        /// As `TablePlacement` names it.
        package let placement: String
        package let shards: Int64
        /// Of what lies on the coordinator under the table's own name: of a table that is distributed, a copy that is hidden.
        package let bytes: Int64
    }

    /// How many servers take shards.
    package let servers: Int64
    package let tables: [Table]

    private static let countServers = """
        SELECT count(*) FROM pg_catalog.pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'
        """

    private static let select = """
        SELECT c.relname::text AS name,
            CASE WHEN p.partmethod = 'h' THEN 'distributed' WHEN p.repmodel = 't' THEN 'reference'
                WHEN p.logicalrelid IS NOT NULL THEN 'managed' ELSE 'separate' END AS placement,
            (SELECT count(*) FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = c.oid) AS shards,
            (SELECT coalesce(sum(pg_relation_size(t.relid)), 0)::int8 FROM (
                SELECT c.oid AS relid WHERE c.relkind = 'r' UNION ALL SELECT relid FROM pg_partition_tree(c.oid) WHERE isleaf
            ) AS t) AS bytes
        FROM pg_class c LEFT JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = c.oid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        ORDER BY c.relname
        """

    /// Nil: the database has no extension citus, or no schema.
    package static func read(on connection: PostgresConnection) throws -> ClusterState? {
        guard try connection.isCoordinator(),
            try connection.query("SELECT to_regclass('entitled.lane') IS NOT NULL AS is_there").one().bool("is_there")
        else { return nil }
        return ClusterState(
            servers: try connection.query(countServers).one().int("count"),
            tables: try connection.query(select).map {
                Table(
                    name: try $0.text("name"), placement: try $0.text("placement"), shards: try $0.int("shards"),
                    bytes: try $0.int("bytes"))
            })
    }

    /// Over how many shards the lanes are distributed; nil: they are not.
    package var shards: Int? {
        tables.first { $0.name == "lane" && $0.placement == TablePlacement.distributed.rawValue }.map { Int($0.shards) }
    }

    /// The tables that are not where they belong.
    package var misplaced: [Table] {
        tables.filter { table in
            guard let placement = TablePlacement.tables[table.name], placement != .separate else { return false }
            return table.placement != placement.rawValue
        }
    }

    /// The tables that are distributed, and of which the coordinator still has the rows from before.
    package var copies: [Table] {
        let hidden = [TablePlacement.distributed.rawValue, TablePlacement.reference.rawValue]
        return tables.filter { hidden.contains($0.placement) && $0.bytes > 0 }
    }

    /// What is half-made, as a sentence with its remedy; nil: nothing is.
    package var unfinished: String? {
        guard shards != nil else {
            return servers > 0
                ? "the cluster has \(servers) servers that take shards, and all tables are on the coordinator: "
                    + "`entitled migrate --shards N` distributes them"
                : "the database has the extension citus, and no server takes shards: add one by citus_add_node, or drop the "
                    + "extension"
        }
        let wrong = misplaced
        if !wrong.isEmpty {
            return
                "tables are not where they belong on the cluster (\(wrong.map(\.name).joined(separator: ", "))): run "
                + "`entitled migrate`"
        }
        let left = copies
        guard !left.isEmpty else { return nil }
        return
            "the coordinator has hidden copies of tables that are distributed, \(left.reduce(0) { $0 + $1.bytes } >> 20) MB: "
            + "`entitled migrate` removes them"
    }
}
