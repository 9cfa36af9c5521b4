import Base
import Daemon
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Databases that go back to an earlier state: what Apple has comes back without a command.
///
/// Serialised: each test has a cluster and processes of its own.
@Suite(.serialized, .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct DatabaseReturnTests {
    @Test func `a snapshot that is put back beside running processes is noticed, and nothing is told twice`() throws {
        let scene = try ReturnFixture(try TestCluster())
        #expect(!scene.log.contains("database returned"))
        try scene.takeSnapshot()
        try scene.untilStored(scene.after)
        try scene.untilTold(scene.before.count + scene.after.count)
        try scene.untilRaised()
        let told = Set(scene.consumer.requests.map(\.id))
        #expect(scene.notices.isEmpty)

        try scene.putSnapshotBack()
        let lost = scene.after.count
        #expect(try scene.database.count("SELECT count(*) FROM entitled.notification") == scene.before.count)
        let time = try scene.untilWhole(since: .now)
        try eventually("operators know") { !scene.notices.isEmpty }
        let data = try #require(scene.notices.first?["data"])
        #expect(data["reason"]?.stringValue == "number" && data["positions_lost"]?.intValue ?? 0 > 0)
        #expect(data["scanning_history_of"]?.arrayValue?.count == 1)
        #expect(scene.notices.count == 1)
        #expect(scene.log.contains(#""message":"database returned to an earlier state""#), "after \(time)")
        let status = try scene.site.run("status", "--json").document
        let finding = status?["overview"]?["findings"]?.arrayValue?
            .first { $0["name"]?.stringValue == "work.return" }
        #expect(
            finding?["text"]?.stringValue?.contains("The database went back to an earlier state; noticed at ") == true
                && finding?["text"]?.stringValue?.contains("(demo Production: ") == true, "\(finding?.text ?? "none")")
        let doctor = try scene.site.run(["doctor", "--offline"], status: 1).text
        #expect(doctor.contains("the database went back to an earlier state"))
        // What the consumer got before comes under the same id, if it comes again.
        try eventually("all is delivered") {
            try scene.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0") == 0
        }
        #expect(Set(scene.consumer.requests.map(\.id)) == told)
        #expect(try scene.database.count("SELECT count(*) FROM entitled.notification WHERE source = 1") == lost)
        try scene.untilRaised()
        #expect(scene.notices.count == 1)
        try scene.site.run("rebuild", "--dry-run")
    }

    @Test func `a recovery to a point in time beside running processes is noticed`() throws {
        let cluster = try TestCluster()
        let archive = try BaseBackup(of: cluster)
        let scene = try ReturnFixture(cluster)
        try archive.take()
        let target = try archive.pointInTime(in: scene.database)
        try scene.untilStored(scene.after)
        try scene.untilTold(scene.before.count + scene.after.count)
        try scene.untilRaised()
        let told = Set(scene.consumer.requests.map(\.id))

        try archive.recover(to: target)
        let since = ContinuousClock.now
        #expect(try scene.database.count("SELECT count(*) FROM entitled.notification") == scene.before.count)
        _ = try scene.untilWhole(since: since)
        try eventually("operators know") { !scene.notices.isEmpty }
        #expect(scene.notices.first?["data"]?["reason"]?.stringValue == "number")
        #expect(scene.notices.first?["data"]?["database"]?["timeline"]?.intValue == 2)
        try scene.untilRaised()
        #expect(scene.notices.count == 1 && Set(scene.consumer.requests.map(\.id)) == told)
    }

    @Test func `what is put back while no process runs is noticed, and told once, also by a worker that is killed`()
        throws
    {
        let scene = try ReturnFixture(try TestCluster())
        try scene.takeSnapshot()
        try scene.untilStored(scene.after)
        try scene.untilRaised()
        try scene.stopProcesses()
        try scene.putSnapshotBack()
        for point in ["return.before-commit", "return.after-commit"] {
            try scene.startWorker(environment: ["ENTITLED_FAIL_POINT": point])
            #expect(try scene.worker.wait() == 128 + SIGKILL)
        }
        let since = ContinuousClock.now
        try scene.startProcesses()
        _ = try scene.untilWhole(since: since)
        try eventually("operators know") { !scene.notices.isEmpty }
        try scene.untilRaised()
        #expect(scene.notices.count == 1)
        #expect(scene.notices.first?["data"]?["reason"]?.stringValue == "number")
    }

    @Test func `a worker of a new host learns of it from a process that has seen more`() throws {
        let scene = try ReturnFixture(try TestCluster())
        try scene.takeSnapshot()
        try scene.untilStored(scene.after)
        try scene.untilRaised()
        scene.worker.kill(SIGTERM)
        _ = try scene.worker.wait()
        try scene.putSnapshotBack()
        let state = "\(scene.site.folder)/state"
        try scene.site.configure(scene.sections(state: "\(scene.site.folder)/new"))
        try TestCommand.run(["/bin/mkdir", "\(scene.site.folder)/new"])
        try TestCommand.run(["/bin/cp", "\(state)/webhook-secrets.key", "\(scene.site.folder)/new"])
        let since = ContinuousClock.now
        try scene.startWorker()
        _ = try scene.untilWhole(since: since)
        try eventually("operators know; it said: \(scene.log.suffix(3000))") { !scene.notices.isEmpty }
        #expect(scene.notices.first?["data"]?["reason"]?.stringValue == "number")
    }

    @Test func `the promotion of a standby that lost nothing costs a scan, and nothing is sent twice`() throws {
        let cluster = try TestCluster()
        let standbys = Monitor<TestStandby?>(nil)
        let scene = try ReturnFixture(cluster) { database in
            standbys.change { $0 = try? TestStandby(of: cluster) }
            return "postgresql://entitled@/\(database.name)?host=\(cluster.host),"
                + (standbys.read { $0?.host ?? "" })
        }
        let standby = try #require(standbys.read { $0 })
        try scene.untilStored(scene.after)
        try scene.untilTold(scene.before.count + scene.after.count)
        let requests = scene.consumer.requests.count
        let copy = TestDatabase(
            url: "postgresql://entitled@/\(scene.database.name)?host=\(standby.host)", name: scene.database.name)
        // As a synchronous one: it has everything.
        scene.ingest.kill(SIGSTOP)
        scene.worker.kill(SIGSTOP)
        let position = try #require(try scene.database.texts("SELECT pg_current_wal_flush_lsn()::text").first)
        try eventually("the standby has everything") {
            try copy.connect().query("SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", [.text(position)]).one().bool(0)
        }
        try cluster.stop(.immediate)
        try standby.promote()
        scene.ingest.kill(SIGCONT)
        scene.worker.kill(SIGCONT)
        try eventually(timeout: .seconds(60), "operators know; it said: \(scene.log.suffix(3000))") {
            !scene.notices.isEmpty
        }
        let data = try #require(scene.notices.first?["data"])
        #expect(data["reason"]?.stringValue == "timeline" && data["is_certain"] == .bool(false))
        try eventually(timeout: .seconds(60), "the history is scanned") {
            try copy.count("SELECT count(*) FROM entitled.history_look WHERE tried_ms IS NOT NULL AND error IS NULL")
                == 1
        }
        #expect(scene.consumer.requests.count == requests)
        #expect(!scene.ingest.hasEnded && !scene.worker.hasEnded)
    }

    @Test
    func `an old primary that comes back is passed over, refused where it is the only one, and adopted by command`()
        throws
    {
        let cluster = try TestCluster()
        let made = Monitor<TestStandby?>(nil)
        let scene = try ReturnFixture(cluster) { database in
            made.change { $0 = try? TestStandby(of: cluster) }
            return "postgresql://entitled@/\(database.name)?host=\(cluster.host)," + (made.read { $0?.host ?? "" })
        }
        let standby = try #require(made.read { $0 })
        let new = TestDatabase(
            url: "postgresql://entitled@/\(scene.database.name)?host=\(standby.host)", name: scene.database.name)
        let old = scene.database
        try eventually("the standby has everything") {
            (try? new.count("SELECT number FROM entitled.database_position")) == (try? scene.number)
        }
        try cluster.stop(.immediate)
        try standby.promote()
        try eventually(timeout: .seconds(60), "they are on the new primary; it said: \(scene.log.suffix(3000))") {
            (try? new.count("SELECT timeline FROM entitled.database_position")) == 2
        }
        try eventually("the host has seen it") {
            (try? String(contentsOfFile: "\(scene.site.folder)/state/database-sighting.json", encoding: .utf8))?
                .contains(#""timeline":2"#) ?? false
        }

        // Both take writes, and the old one comes first.
        try cluster.start()
        try new.terminateConnections()
        try scene.untilStored(Array(scene.after.prefix(4)))
        #expect(try old.count("SELECT count(*) FROM entitled.notification") == scene.before.count)
        let known = Set(try new.texts("SELECT uuid FROM entitled.notification"))
        #expect(known.isSuperset(of: scene.after.prefix(4).map(\.uuid)))
        #expect(scene.ingest.log.contains(#""message":"database refused""#))

        // The old one alone.
        try standby.stop()
        let address = try scene.ingest.address("ingest")
        try eventually(timeout: .seconds(30), "it is refused; it said: \(scene.ingest.log.suffix(3000))") {
            try scene.site.post(scene.after[4], to: address) == 503 && scene.ingest.log.contains("is refused")
                && scene.log.contains("is refused")
        }
        let line = try #require(scene.ingest.logLines.first { $0.contains("is refused") })
        let identifier = try #require(
            try old.texts("SELECT system_identifier::text FROM pg_control_system()").first)
        for part in [cluster.host, "5432", identifier, "entitled migrate --adopt-database"] {
            #expect(line.contains(part), "\(line)")
        }
        for command in [["endpoints", "list"], ["migrate"]] {
            let complaint = try scene.site.run(command, status: 1).log
            #expect(complaint.contains("--adopt-database") && complaint.split(separator: "\n").count == 1)
        }
        #expect(try old.count("SELECT count(*) FROM entitled.notification") == scene.before.count)

        // The right one is back.
        try standby.start()
        try scene.untilStored([scene.after[4]])
        #expect(try old.count("SELECT count(*) FROM entitled.notification") == scene.before.count)

        // The operator decides otherwise, and what the old one lacks comes from Apple.
        try standby.stop()
        let page = try scene.site.run("migrate", "--adopt-database").text
        #expect(page.contains("adopted the database at \(cluster.host):5432, cluster \(identifier), timeline 1"))
        try scene.untilStored(Array(scene.after.suffix(2)))
        _ = try scene.untilWhole(since: .now)
        try eventually("operators know; it said: \(scene.log.suffix(3000))") {
            scene.notices.contains { $0["data"]?["reason"]?.stringValue == "adopted" }
        }
        // And the former new one is refused from now on.
        try standby.start()
        try cluster.stop(.immediate)
        try eventually(timeout: .seconds(30), "it is refused") {
            try scene.site.post(scene.after[5], to: address) == 503
                && scene.ingest.log.contains("of before an adoption")
        }
        #expect(!scene.ingest.hasEnded && !scene.worker.hasEnded)
    }
}
