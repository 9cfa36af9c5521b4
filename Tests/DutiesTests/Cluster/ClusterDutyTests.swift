import Base
import Daemon
import Database
import Duties
import Postgres
import Schemas
import TestSupport
import Testing

/// What the metrics say of the servers of a cluster.
@Suite struct ClusterDutyTests {
    private struct Bench {
        let log = LogTape()
        let metrics = Metrics()
        private var duty: ClusterDuty
        private let run: DutyRun

        init(_ database: TestDatabase) {
            duty = ClusterDuty(logger: log.logger, metrics: metrics)
            run = DutyRun(
                session: PostgresSession(database.target(role: "entitled_worker")) {
                    try DatabaseRole.worker.check($0)
                }, leadership: Leadership(worker: [UInt8](repeating: 1, count: 16), lease: .seconds(10)))
        }

        /// The samples of the cluster after a run.
        mutating func samples() throws -> [String: Double] {
            _ = try duty.run(run)
            let lines = metrics.exposition().split(separator: "\n").filter { !$0.hasPrefix("#") }
            return Dictionary(
                uniqueKeysWithValues: lines.compactMap { line in
                    guard let end = line.lastIndex(of: " "), let value = Double(line[line.index(after: end)...]) else {
                        return nil
                    }
                    return (String(line[..<end]), value)
                })
        }
    }

    @Test func `of one Postgres it says nothing`() throws {
        let postgres = try TestCluster(.throwAway, servers: 0)
        var bench = Bench(try postgres.makeMigratedDatabase(shards: nil))
        #expect(try bench.samples().isEmpty)
        #expect(bench.log.text.isEmpty)
    }

    @Test(.enabled(if: TestServers.areAvailable, "\(TestServers.absence)"))
    func `servers that are away, and what they left prepared, are seen while the others go on`() throws {
        let cluster = try TestCluster(.throwAway, servers: 2)
        let servers = [cluster] + cluster.servers
        let database = try cluster.makeMigratedDatabase(shards: 4)
        let names = servers.map { "server=\"\($0.host):5432\"" }
        var bench = Bench(database)
        var samples = try bench.samples()
        for (place, shards) in [(0, 0.0), (1, 2), (2, 2)] {
            #expect(samples["entitled_cluster_servers{\(names[place]),state=\"up\"}"] == 1)
            #expect(samples["entitled_cluster_servers{\(names[place]),state=\"away\"}"] == 0)
            #expect(samples["entitled_cluster_shards{\(names[place])}"] == shards)
            #expect(try #require(samples["entitled_cluster_bytes{\(names[place])}"]) > 1_000_000)
            #expect(samples["entitled_cluster_prepared_oldest_seconds{\(names[place])}"] == 0)
        }

        let server = try PostgresConnection(PostgresTarget(url: servers[1].url(of: database.name)))
        try server.query("BEGIN")
        try server.query("CREATE TABLE public.left_over ()")
        try server.query("PREPARE TRANSACTION 'payroll'")
        samples = try bench.samples()
        #expect(try #require(samples["entitled_cluster_prepared_oldest_seconds{\(names[1])}"]) > 0)
        #expect(samples["entitled_cluster_prepared_left{\(names[1])}"] == 0)

        try servers[1].stop()
        samples = try bench.samples()
        #expect(samples["entitled_cluster_servers{\(names[1]),state=\"away\"}"] == 1)
        #expect(samples["entitled_cluster_servers{\(names[1]),state=\"up\"}"] == 0)
        #expect(samples["entitled_cluster_servers{\(names[2]),state=\"up\"}"] == 1)
        #expect(try #require(samples["entitled_cluster_prepared_oldest_seconds{\(names[1])}"]) > 0)
        _ = try bench.samples()
        #expect(bench.log.text.split(separator: "\n").count { $0.contains("\"cluster server away\"") } == 1)

        try servers[1].start()
        samples = try bench.samples()
        #expect(samples["entitled_cluster_servers{\(names[1]),state=\"up\"}"] == 1)
        #expect(bench.log.text.contains("\"cluster server back\""))
    }

    @Test(.enabled(if: TestServers.areAvailable, "\(TestServers.absence)"))
    func `a commit over two servers counts two, and one of one server none`() throws {
        let cluster = try TestCluster(.throwAway, servers: 2)
        let database = try cluster.makeMigratedDatabase(shards: 4)
        var bench = Bench(database)
        let prepares = "entitled_cluster_prepares_total"
        let before = try #require(try bench.samples()[prepares])
        let connection = try database.connect()
        try connection.query("UPDATE entitled.lane SET epoch = epoch + 1 WHERE lane = 0")
        try connection.query("UPDATE entitled.lane SET epoch = epoch + 1")
        // Postgres writes its statistics down when a process ends, or after a second.
        try connection.query("SELECT pg_stat_force_next_flush()")
        try connection.query("SELECT 1")
        #expect(try bench.samples()[prepares] == before + 2)
    }
}
