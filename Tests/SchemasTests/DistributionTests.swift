import Postgres
import Schemas
import TestSupport
import Testing

/// What is said where tables cannot be distributed, also without the extension; see `DistributionMoveTests`.
@Suite struct DistributionTests {
    @Test func `one Postgres without the extension is refused, and stays as it is`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect()
        #expect(try !Distribution.isDistributed(on: connection))
        let refusal = #expect(throws: Distribution.Refusal.self) {
            try Distribution.distribute(over: 4, on: connection)
        }
        #expect(refusal?.description.contains("no extension citus") == true)
        #expect(try Migrator.migrate(on: connection) == .migrated([]))
    }

    /// The names by which a coordinator says where tables lie.
    private func makeCoordinator(of database: TestDatabase, servers: Int, distributed: [String] = []) throws {
        let rows = distributed.map { "('entitled.\($0)'::regclass, 'h', 's')" }
        try database.connect().execute(
            script: """
                SET allow_system_table_mods = on;
                CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", repmodel "char");
                CREATE TABLE pg_catalog.pg_dist_node (shouldhaveshards bool, isactive bool, noderole text);
                CREATE TABLE pg_catalog.pg_dist_shard (logicalrelid regclass);
                INSERT INTO pg_catalog.pg_dist_node SELECT true, true, 'primary' FROM generate_series(1, \(servers));
                \(rows.isEmpty ? "" : "INSERT INTO pg_catalog.pg_dist_partition VALUES \(rows.joined(separator: ", "));")
                INSERT INTO pg_catalog.pg_dist_shard SELECT p.logicalrelid FROM pg_catalog.pg_dist_partition p, generate_series(1, 4);
                """)
    }

    private func refusal(_ database: TestDatabase, over shards: Int?) throws -> String? {
        let connection = try database.connect()
        let refusal = #expect(throws: Distribution.Refusal.self) {
            try Distribution.distribute(over: shards, on: connection)
        }
        return refusal?.description
    }

    @Test func `a coordinator without servers, and one whose tables lie elsewhere, are refused with what to do`() throws
    {
        let empty = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: empty, servers: 0)
        #expect(try refusal(empty, over: 4)?.contains("citus_add_node") == true)
        let other = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: other, servers: 2, distributed: ["lane"])
        #expect(try Distribution.isDistributed(on: other.connect()))
        #expect(try refusal(other, over: 8)?.contains("over 4 shards already") == true)
        let wrong = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: wrong, servers: 2, distributed: ["lane", "customer"])
        #expect(try refusal(wrong, over: nil)?.contains("entitled.customer is distributed and must be managed") == true)
    }

    @Test func `what is half-made is said with what to do`() throws {
        func unfinished(_ database: TestDatabase) throws -> String? {
            try ClusterState.read(on: database.connect())?.unfinished
        }
        let plain = try TestCluster.shared.makeMigratedDatabase()
        #expect(try ClusterState.read(on: plain.connect()) == nil)
        let empty = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: empty, servers: 0)
        #expect(try unfinished(empty)?.contains("citus_add_node, or drop the extension") == true)
        let whole = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: whole, servers: 2)
        #expect(try unfinished(whole)?.contains("2 servers") == true)
        #expect(try Distribution.distribute(over: nil, on: whole.connect()) == .nothingToDo(shards: 1))
        let newer = try TestCluster.shared.makeMigratedDatabase()
        try makeCoordinator(of: newer, servers: 2, distributed: ["lane"])
        #expect(try unfinished(newer)?.contains("account, account_due") == true)
    }
}
