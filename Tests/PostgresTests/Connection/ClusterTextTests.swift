import Postgres
import TestSupport
import Testing

/// What a cluster is sent in place of what one Postgres reads.
@Suite struct ClusterTextTests {
    @Test(
        arguments: [
            ("SELECT 1", "SELECT 1"),
            ("SELECT 1 /* a comment */", "SELECT 1 /* a comment */"),
            ("WHERE a = b /* cluster: AND a = ANY($1) */ AND c", "WHERE a = b AND a = ANY($1) AND c"),
            ("/* cluster: x for: */y/* end */", "x"),
            ("a /* cluster: for: */b c/* end */ d", "a  d"),
            ("/* cluster: x */ /* cluster: y for: */z/* end */ w", "x y w"),
            ("SELECT 2 * 3 /* cluster: AND", "SELECT 2 * 3 /* cluster: AND"),
        ])
    func `a cluster reads what is meant for it`(text: String, expected: String) {
        #expect(ClusterText.of(text) == expected)
        // Known from the first time on.
        #expect(ClusterText.of(text) == expected)
    }

    @Test func `one Postgres is sent the text as it stands`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        try connection.findShards(of: "public.t", count: 4)
        #expect(!connection.isCluster && connection.shards.isEmpty)
        let row = try connection.query("SELECT 1 /* cluster: + 1 */ AS one, /* cluster: 5 for: */2/* end */ AS two")
            .one()
        #expect(try row.int("one") == 1 && row.int("two") == 2)
    }

    /// The names by which a coordinator says where values lie, with two shards.
    private func makeCoordinator(_ database: TestDatabase) throws {
        try database.connect().execute(
            script: """
                SET allow_system_table_mods = on;
                CREATE TABLE public.t (n int2);
                CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char");
                INSERT INTO pg_catalog.pg_dist_partition VALUES ('public.t'::regclass, 'h');
                CREATE TABLE pg_catalog.pg_dist_shard (
                    logicalrelid regclass, shardid bigint, shardminvalue text, shardmaxvalue text);
                INSERT INTO pg_catalog.pg_dist_shard
                VALUES ('public.t'::regclass, 7, '0', '1'), ('public.t'::regclass, 9, '2', '3');
                CREATE TABLE pg_catalog.pg_dist_placement (shardid bigint, groupid int);
                INSERT INTO pg_catalog.pg_dist_placement VALUES (7, 2);
                CREATE FUNCTION pg_catalog.worker_hash(v anyelement) RETURNS int LANGUAGE sql AS 'SELECT 3 - v::int';
                """)
    }

    @Test func `a connection with a coordinator sends what is meant for a cluster, alone, read and in batches`() throws
    {
        let database = try TestCluster.shared.makeDatabase()
        try makeCoordinator(database)
        let connection = try database.connect()
        try connection.findShards(of: "public.t", count: 4)
        #expect(connection.isCluster && connection.shards == [9, 9, 7, 7])
        let sql = "SELECT 1::int8 /* cluster: + 1 */ AS number"
        #expect(try connection.query(sql).one().int("number") == 2)
        #expect(try connection.read(sql).one().int("number") == 2)
        let batch = try connection.queryBatch([PostgresStatement(sql, []), PostgresStatement(sql, [])])
        #expect(try batch.map { try $0.one().int("number") } == [2, 2])
        #expect(throws: PostgresError.self) { try connection.findShards(of: "public.t", count: 5) }
        // What was known stays.
        #expect(connection.isCluster)
    }
}
