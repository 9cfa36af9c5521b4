import Base
import Daemon
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// What happens to databases, to real processes under load. They recover by themselves, and none ends.
///
/// Serialised: each test has a cluster and processes of its own under load.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct DatabaseFaultTests {
    @Test func `Postgres that crashes again and again under load costs nothing`() throws {
        let cluster = try TestCluster()
        let scene = try FaultFixture(try cluster.makeMigratedDatabase())
        scene.beginLoad()
        for _ in 0..<4 {
            try scene.more(20)
            try cluster.restart(.immediate)
        }
        try scene.more(20)
        try scene.endLoad()
        #expect(try scene.faults() == [])
    }

    @Test func `connections that are terminated all the time cost nothing`() throws {
        let cluster = try TestCluster()
        let scene = try FaultFixture(try cluster.makeMigratedDatabase())
        scene.beginLoad()
        for _ in 0..<15 {
            try scene.more(3)
            try scene.database.terminateConnections()
        }
        try scene.endLoad()
        #expect(try scene.faults() == [])
    }

    @Test func `somebody's lock on a table delays, and nothing is held for it`() throws {
        let cluster = try TestCluster()
        let threads = try ["lane", "pending", "purchase", "delivery"].map { table in
            let scene = try FaultFixture(try cluster.makeMigratedDatabase())
            return TestThread { try outlast(lockOn: table, scene) }
        }
        for thread in threads { #expect(try thread.value(timeout: .seconds(180)) == []) }
    }

    /// Holds it for longer than every timeout of ours that the lock can run into.
    private func outlast(lockOn table: String, _ scene: FaultFixture) throws -> [String] {
        scene.beginLoad()
        try scene.more(5)
        let stranger = try scene.database.connect()
        try stranger.query("BEGIN")
        try stranger.query("LOCK TABLE entitled.\(table) IN ACCESS EXCLUSIVE MODE")
        // What the log does not take is stored beside it.
        try scene.more(3)
        if table == "pending" {
            try eventually("notifications are stored beside the log") {
                try scene.database.count("SELECT count(*) FROM entitled.diverted_notification") > 0
            }
        }
        // A lock timeout of the workers and more passes while notifications are taken.
        let since = ContinuousClock.now
        try eventually(timeout: .seconds(60), "some time passes, and more are taken") {
            ContinuousClock.now - since > .seconds(4)
        }
        try stranger.query("COMMIT")
        try scene.more(5)
        try scene.endLoad()
        return try scene.faults()
    }

    @Test func `a connection that swallows everything is given up, and another is made`() throws {
        let cluster = try TestCluster()
        let database = try cluster.makeMigratedDatabase()
        let proxy = try TestProxy(to: "\(cluster.host)/.s.PGSQL.5432")
        let scene = try FaultFixture(database, url: "postgresql://entitled@127.0.0.1:\(proxy.port)/\(database.name)")
        scene.beginLoad()
        try scene.more(20)
        proxy.freeze()
        // Answered 503 instead of kept waiting; the store comes again.
        try scene.moreRefused(3)
        proxy.thaw()
        try scene.more(20)
        // With the same way open, but nobody telling the old connections: the workers find out by themselves.
        for worker in scene.workers {
            try eventually(timeout: .seconds(30), "it gives the connection up; it said: \(worker.log)") {
                worker.log.contains("unresponsive database connections cut")
            }
        }
        try scene.endLoad()
        #expect(try scene.faults() == [])
    }

    @Test func `a standby that comes first is passed over, and found when it is promoted`() throws {
        let cluster = try TestCluster()
        let database = try cluster.makeMigratedDatabase()
        let standby = try TestStandby(of: cluster)
        let url = "postgresql://entitled@/\(database.name)?host=\(standby.host),\(cluster.host)"
        let scene = try FaultFixture(database, url: url)
        scene.beginLoad()
        try scene.more(30)
        try scene.endLoad()
        let copy = TestDatabase(
            url: "postgresql://entitled@/\(database.name)?host=\(standby.host)", name: database.name)
        let position = try #require(try database.texts("SELECT pg_current_wal_flush_lsn()::text").first)
        try eventually("the standby has everything") {
            try copy.connect().query(
                "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", [.text(position)]
            ).one().bool(0)
        }
        #expect(try copy.connect().query("SELECT pg_is_in_recovery()").one().bool(0))
        try cluster.stop(.immediate)
        var life = SubscriberLife(app: Site.app, seed: 61)
        let late = life.start(at: Site.start)
        let address = try scene.ingest.address("ingest")
        try eventually("it is refused while there is no primary") { try scene.site.post(late, to: address) == 503 }
        try standby.promote()
        try eventually(timeout: .seconds(30), "it is taken by the new primary") {
            try scene.site.post(late, to: address) == 200
        }
        #expect(try scene.faults(in: copy) == [])
    }

    @Test(.enabled(if: SmallDisk.isPossible, "skipped: no file system can be mounted here"))
    func `a disk that is full means 503 until there is room, and nothing is lost`() throws {
        let cluster = try TestCluster()
        let disk = try SmallDisk(megabytes: 48)
        try PostgresConnection(PostgresTarget(url: cluster.url)).query(
            "CREATE TABLESPACE small LOCATION '\(disk.folder)'")
        let scene = try FaultFixture(try cluster.makeMigratedDatabase(in: "small"))
        scene.beginLoad()
        try scene.more(30)
        try disk.fill()
        try scene.moreRefused(20)
        #expect(!scene.ingest.hasEnded)
        try disk.empty()
        try scene.more(30)
        try scene.endLoad()
        #expect(try scene.faults() == [])
    }
}
