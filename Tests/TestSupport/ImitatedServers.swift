import FoundationEssentials
import Postgres
import Schemas

/// A coordinator that is none: one Postgres with the names by which programs learn where lanes lie. Programs send it what they send to
/// a cluster, a group of lanes at a time, and it answers what it answers to any program: so every test shows whether the two say the
/// same. What only a cluster refuses it does not refuse (`TestServers`).
package enum ImitatedServers {
    /// Over how many shards `$ENTITLED_TEST_GROUPS` wants lanes said to be distributed; nil: tests run on one Postgres.
    package static let wantedShards: Int? = {
        guard let text = ProcessInfo.processInfo.environment["ENTITLED_TEST_GROUPS"] else { return nil }
        guard let shards = Int(text), shards > 1 else { fatalError("ENTITLED_TEST_GROUPS: no number above 1") }
        return shards
    }()

    /// A migrated database that says that it is the coordinator of a cluster, unless it is one.
    ///
    /// - Parameter cluster: nil: the shared one.
    package static func makeDatabase(of cluster: TestCluster? = nil) throws -> TestDatabase {
        let database = try (cluster ?? TestCluster.shared).makeMigratedDatabase()
        try imitate(in: database)
        return database
    }

    /// Has a migrated database say so for the connections that this process opens from now on.
    package static func imitate(in database: TestDatabase) throws {
        TestServers.followShards()
        let connection = try database.connect()
        if !connection.isCluster { try imitate(4, on: connection) }
    }

    /// Has a migrated database say that it is the coordinator of a cluster, with its lanes in so many shards.
    package static func imitate(_ shards: Int, on connection: PostgresConnection) throws {
        try connection.execute(
            script: """
                SET allow_system_table_mods = on;
                CREATE TABLE pg_catalog.pg_dist_partition (
                    logicalrelid regclass PRIMARY KEY, partmethod "char" NOT NULL, repmodel "char" NOT NULL);
                CREATE TABLE pg_catalog.pg_dist_shard (
                    logicalrelid regclass, shardid bigint, shardminvalue text, shardmaxvalue text);
                CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint, groupid int);
                CREATE TABLE pg_catalog.pg_dist_node (
                    groupid int, nodename text, nodeport int, shouldhaveshards bool, isactive bool, noderole text);
                CREATE FUNCTION pg_catalog.worker_hash(v anyelement) RETURNS int LANGUAGE sql IMMUTABLE
                    AS 'SELECT hashint2(v::int2)';
                CREATE FUNCTION pg_catalog.citus_total_relation_size(r oid) RETURNS bigint LANGUAGE sql
                    AS 'SELECT pg_total_relation_size(r)';
                GRANT SELECT ON pg_catalog.pg_dist_partition, pg_catalog.pg_dist_shard, pg_catalog.pg_dist_placement,
                    pg_catalog.pg_dist_node TO PUBLIC;
                RESET allow_system_table_mods;
                """)
        for (name, placement) in TablePlacement.tables.sorted(by: { $0.key < $1.key }) where placement != .separate {
            let method = placement == .distributed ? "h" : "n"
            let model = placement == .managed ? "s" : "t"
            try connection.query(
                "INSERT INTO pg_catalog.pg_dist_partition VALUES ($1::text::regclass, $2::text::\"char\", $3::text::\"char\")",
                [.text("entitled.\(name)"), .text(method), .text(model)])
        }
        try connection.query(
            """
            INSERT INTO pg_catalog.pg_dist_shard
            SELECT 'entitled.lane'::regclass, 102000 + n, (-2147483648 + n * size)::text,
                CASE WHEN n = $1 - 1 THEN 2147483647 ELSE -2147483648 + (n + 1) * size - 1 END::text
            FROM generate_series(0, $1::int8 - 1) AS n, (SELECT 4294967296 / $1::int8 AS size) AS s
            """, [.int8(Int64(shards))])
        try connection.execute(script: Distribution.functions)
        _ = try PrivilegeGranting.apply(on: connection)
    }
}
