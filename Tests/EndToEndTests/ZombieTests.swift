import Base
import Daemon
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Workers that stand still, leave or die while others are there.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ZombieTests {
    private func site(_ changes: [String: JSON] = [:]) throws -> (Site, TestDatabase) {
        let database = try TestCluster.shared.makeMigratedDatabase()
        return (try Site(database, changes), database)
    }

    private func isStopped(_ program: Program) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(program.process)/stat", encoding: .utf8)) ?? ""
        return status.split(separator: ")").last?.hasPrefix(" T") ?? false
    }

    /// Lanes of each owner, the largest share first.
    private func shares(_ database: TestDatabase) throws -> [Int64] {
        try database.connect().query(
            "SELECT count(*) FROM entitled.lane WHERE owner IS NOT NULL GROUP BY owner ORDER BY 1 DESC"
        ).map { try $0.int(0) }
    }

    private static let moments: [FailPoint] = [.applyAfterFence, .applyBeforeCommit, .deliverBeforeRecord]

    @Test(arguments: moments)
    func `a worker that stands still inside its transaction loses its locks and writes nothing`(
        moment: FailPoint
    ) throws {
        let (site, database) = try site()
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let ingest = try site.start("ingest")
        let still = try site.start("worker", environment: [FailPoint.variable: "\(moment.rawValue):stop"])
        try eventually("it has lanes") { still.log.contains("lanes gained") }
        var life = SubscriberLife(app: Site.app, seed: 40)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        try eventually("it stands still") { isStopped(still) }
        let since = ContinuousClock.now
        let heir = try site.start("worker")
        let delivered = "SELECT count(*) FROM entitled.delivery WHERE state = 1 AND attempts = 1"
        try eventually("the other applies and delivers") { try database.count(delivered) == 1 }
        // A lease of two seconds, and whatever this machine is busy with.
        #expect(ContinuousClock.now - since < .seconds(10))
        still.kill(SIGCONT)
        try eventually("it finds its lanes lost; it said: \(still.log)") { still.log.contains("lanes lost") }
        try eventually("both have lanes again") { try shares(database) == [128, 128] }
        #expect(try database.count(delivered) == 1)
        for table in ["event", "attempt", "purchase"] {
            #expect(try database.count("SELECT count(*) FROM entitled.\(table)") == 1, "\(table)")
        }
        #expect(Set(consumer.requests.map(\.id)).count == 1)
        #expect(Set(consumer.requests.map(\.body)).count == 1)
        for program in [still, heir] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
    }

    @Test func `with the default lease others go on within 15 s of a death and 2 s of an orderly end`() throws {
        let (site, database) = try site(["worker": .object([JSON.Member]())])
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let ingest = try site.start("ingest")
        let first = try site.start("worker")
        let second = try site.start("worker")
        try eventually(timeout: .seconds(40), "both have their share") { try shares(database) == [128, 128] }
        first.kill()
        try first.wait()
        var since = ContinuousClock.now
        let address = try ingest.address("ingest")
        for number in 0..<UInt64(40) {
            var life = SubscriberLife(app: Site.app, seed: 41, number: number)
            #expect(try site.post(life.start(at: Site.start), to: address) == 200)
        }
        try eventually(timeout: .seconds(30), "all are applied") {
            try database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        #expect(ContinuousClock.now - since < .seconds(15))
        #expect(try shares(database) == [256])

        let third = try site.start("worker")
        try eventually("both have their share") { try shares(database) == [128, 128] }
        second.kill(SIGTERM)
        since = ContinuousClock.now
        try eventually("the other has them all") { try shares(database) == [256] }
        #expect(ContinuousClock.now - since < .seconds(2))
        #expect(try second.wait() == 0)
        third.kill(SIGTERM)
        #expect(try third.wait() == 0)
    }

    @Test func `a worker that waits for a consumer at its end keeps only that lane`() throws {
        let (site, database) = try site(["worker": .object([JSON.Member]())])
        let consumer = try Consumer { _, _ in .hold }
        defer { consumer.stop() }
        _ = try site.addEndpoint(consumer)
        let ingest = try site.start("ingest")
        let leaving = try site.start("worker")
        var life = SubscriberLife(app: Site.app, seed: 42)
        #expect(try site.post(life.start(at: Site.start), to: ingest.address("ingest")) == 200)
        _ = try consumer.wait(1)
        let heir = try site.start("worker")
        try eventually(timeout: .seconds(40), "both have their share") { try shares(database) == [128, 128] }
        leaving.kill(SIGTERM)
        let since = ContinuousClock.now
        try eventually("the other has the rest") { try shares(database) == [255, 1] }
        #expect(ContinuousClock.now - since < .seconds(5))
        consumer.release(200)
        try eventually("the other has them all") { try shares(database) == [256] }
        #expect(try leaving.wait() == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.delivery WHERE state = 1 AND attempts = 1") == 1)
        withExtendedLifetime(heir) {}
    }

    @Test func `lanes are shared evenly by workers that come, die, and leave`() throws {
        let (site, database) = try site()
        var workers = try (0..<3).map { _ in try site.start("worker") }
        try eventually("three have their share") { try shares(database) == [86, 86, 84] }
        workers.removeLast().kill()
        try eventually("two have their share") { try shares(database) == [128, 128] }
        workers += [try site.start("worker"), try site.start("worker")]
        try eventually("four have their share") { try shares(database) == [64, 64, 64, 64] }
        workers.removeFirst().kill(SIGTERM)
        try eventually("three have their share again") { try shares(database) == [86, 86, 84] }
        let former = Set(try database.texts("SELECT DISTINCT owner::text FROM entitled.lane"))
        #expect(former.count == 3)
    }
}
