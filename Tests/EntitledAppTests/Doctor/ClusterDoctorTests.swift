import Base
import Database
import Postgres
import TestSupport
import Testing

/// What the doctor says of the servers of a cluster, each of which is damaged in turn and mended again.
@Suite(.enabled(if: TestServers.areAvailable, "\(TestServers.absence)"))
struct ClusterDoctorTests {
    /// The coordinator first.
    private let servers: [TestCluster]
    private let bench: DoctorFixture

    init() throws {
        let cluster = try TestCluster(.durableForMeasuring, servers: 2)
        servers = [cluster] + cluster.servers
        bench = try DoctorFixture(of: cluster.makeMigratedDatabase(shards: 4), keeping: cluster)
    }

    /// Of the checks of the cluster.
    private func complaints() -> [String] {
        bench.complaints(["--offline"]).filter { $0.hasPrefix("cluster.") }
    }

    private func lines(_ name: String) throws -> [String] {
        let checks = try #require(bench.run(["doctor", "--offline", "--json"]).document?["checks"]?.arrayValue)
        return checks.filter { $0["name"]?.stringValue == name }.compactMap { $0["message"]?.stringValue }
    }

    private func connect(_ place: Int) throws -> PostgresConnection {
        try PostgresConnection(PostgresTarget(url: servers[place].url(of: bench.database.name)))
    }

    /// Sets it for all that connect from then on.
    private func set(_ setting: String, _ value: String, on place: Int) throws {
        try connect(place).query("ALTER SYSTEM SET \(setting) = '\(value)'")
        try connect(place).query("SELECT pg_reload_conf()")
        try eventually("the server has the setting") {
            try connect(place).query("SELECT current_setting($1) AS value", [.text(setting)]).one().text("value")
                == value
        }
    }

    private func name(_ place: Int) -> String { "\(servers[place].host):5432" }

    @Test func `a good cluster has a line for each check, and one Postgres has none`() throws {
        #expect(complaints().isEmpty, "\(complaints())")
        #expect(try lines("cluster.tables") == ["all tables are where they belong, distributed over 4 shards"])
        #expect(try lines("cluster.shards").first?.contains("2 on \(name(1)) (") == true)
        #expect(
            try lines("cluster.commits") == [
                "every role reaches the servers that answer, and commits are durable there"
            ])
        #expect(try lines("cluster.prepared") == ["no prepared transaction is left over on the servers that answer"])
        #expect(!bench.complaints(["--offline"]).contains { $0.contains("facts_allowed") })
        let postgres = try TestCluster(.throwAway, servers: 0)
        let single = try DoctorFixture(of: postgres.makeMigratedDatabase(shards: nil), keeping: postgres)
        let checks = try #require(single.run(["doctor", "--offline", "--json"]).document?["checks"]?.arrayValue)
        #expect(!checks.contains { $0["name"]?.stringValue?.hasPrefix("cluster.") ?? true })
    }

    @Test func `a server that does not answer is named, and the rest is looked at`() throws {
        try servers[2].stop()
        let found = complaints()
        #expect(found.count == 1, "\(found)")
        #expect(
            found.first?.hasPrefix(
                "cluster.servers error the server \(name(2)) does not answer the coordinator: the lanes of its 2 shards wait → start"
            ) == true, "\(found)")
        #expect(
            try lines("cluster.commits") == [
                "every role reaches the servers that answer, and commits are durable there"
            ])
        try servers[2].start()
        #expect(complaints().isEmpty)
    }

    @Test func `commits that do not last, roles that are not let in, and tables beside the cluster have their lines`()
        throws
    {
        try set("synchronous_commit", "off", on: 1)
        try connect(2).query("ALTER ROLE entitled_worker SET synchronous_commit = local")
        try bench.database.execute("ALTER ROLE entitled_api NOLOGIN")
        // The connections that the coordinator keeps have the settings of before.
        try eventually("the server has other settings") {
            complaints().contains {
                $0.hasPrefix("cluster.commits error synchronous_commit is off on \(name(1))")
                    && $0.contains("a crash of that host")
            }
        }
        let found = complaints()
        #expect(
            found.contains {
                $0.hasPrefix("cluster.commits warning synchronous_commit is local on \(name(2)) for entitled_worker: ")
            }, "\(found)")
        #expect(
            found.contains {
                $0.hasPrefix("cluster.commits error the server \(name(1)) does not let entitled_api in")
                    && $0.contains("ALTER ROLE entitled_api LOGIN")
            }, "\(found)")
        try bench.database.execute("ALTER ROLE entitled_api LOGIN")
        try set("citus.node_connection_timeout", "30s", on: 0)
        #expect(
            complaints().contains { $0.hasPrefix("cluster.servers warning citus.node_connection_timeout is 30s: ") },
            "\(complaints())")
        try set("citus.node_connection_timeout", "2s", on: 0)
        try bench.database.execute("SELECT undistribute_table('entitled.status_look')")
        #expect(
            complaints().contains {
                $0.hasPrefix("cluster.tables warning ") && $0.contains("(status_look): run `entitled migrate`")
            })
    }

    @Test func `a prepared transaction that its coordinator forgot is found, and ends as the line says`() throws {
        try set("citus.recover_2pc_interval", "-1", on: 0)
        // In the name of a process of the coordinator that is dead; on the server of another program.
        for (place, id) in [(1, "citus_0_1_1_1"), (2, "payroll")] {
            let connection = try connect(place)
            try connection.query("BEGIN")
            try connection.query("CREATE TABLE public.left_\(place) ()")
            try connection.query("PREPARE TRANSACTION '\(id)'")
        }
        let found = complaints()
        #expect(found.count == 2, "\(found)")
        #expect(
            found.contains {
                $0.hasPrefix("cluster.prepared error 1 prepared transaction left over on \(name(1)), the oldest from ")
                    && $0.contains("→ SELECT recover_prepared_transactions() on the coordinator")
            }, "\(found)")
        #expect(found.contains { $0.contains("→ another program prepared payroll: COMMIT PREPARED") }, "\(found)")
        try bench.database.execute("SELECT recover_prepared_transactions()")
        try connect(2).query("ROLLBACK PREPARED 'payroll'")
        #expect(complaints().isEmpty)
    }

    @Test func `shards that lie unevenly, and a server without, have lines`() throws {
        // A server that moves shards connects to itself.
        for (place, server) in servers.enumerated() { try set("citus.local_hostname", server.host, on: place) }
        let shards = try bench.database.connect().query(
            "SELECT shardid FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'entitled.lane'::regclass AND nodename = $1",
            [.text(servers[1].host)])
        let shard = try #require(shards.first).int("shardid")
        try bench.database.execute(
            "SELECT citus_move_shard_placement($1, $2, 5432, $3, 5432, 'block_writes')",
            [.int8(shard), .text(servers[1].host), .text(servers[2].host)])
        #expect(
            complaints().contains {
                $0.hasPrefix("cluster.shards warning shards lie unevenly on the servers: 1 on \(name(1)) (")
                    && $0.contains("→ SELECT citus_rebalance_start()")
            }, "\(complaints())")
        try bench.database.execute(
            "SELECT citus_set_node_property($1, 5432, 'shouldhaveshards', false)", [.text(servers[1].host)])
        #expect(complaints().contains { $0.contains("is to take no shards, and has 1 → SELECT citus_drain_node(") })
    }
}
