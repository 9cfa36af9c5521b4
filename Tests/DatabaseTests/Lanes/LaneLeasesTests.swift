import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct LaneLeasesTests {
    /// Turns of all workers until nobody's share changes.
    private func settle(_ workers: [TestWorker]) throws {
        for _ in 0..<4 {
            for worker in workers { try worker.maintain() }
        }
    }

    @Test func `workers that come and go always share all lanes fairly`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (a, b, c) = (
            try TestWorker(1, in: database), try TestWorker(2, in: database), try TestWorker(3, in: database)
        )
        try settle([a])
        #expect(a.count == 256)
        try settle([a, b])
        #expect([a.count, b.count] == [128, 128])
        try settle([a, b, c])
        #expect([a.count, b.count, c.count].sorted() == [84, 86, 86])
        #expect(Set(a.leases.owned + b.leases.owned + c.leases.owned).count == 256)
        try b.leases.releaseAll(on: b.connection)
        try settle([a, c])
        #expect([a.count, c.count] == [128, 128])
        try a.leases.releaseAll(on: a.connection)
        try settle([c])
        #expect(c.count == 256)
    }

    @Test func `lanes of a worker that stops renewing go to another with a new epoch`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let lost = try TestWorker(1, in: database, lease: .milliseconds(300))
        try lost.maintain()
        let before = lost.leases.epochs
        let heir = try TestWorker(2, in: database, lease: .milliseconds(300))
        try eventually("all lanes are taken over") {
            try heir.maintain()
            return heir.count == 256
        }
        #expect(heir.leases.epochs.allSatisfy { lane, epoch in epoch == (before[lane] ?? 0) + 1 })
        #expect(try lost.leases.renew(on: lost.connection).lost.count == 256)
        #expect(lost.count == 0)
    }

    @Test func `a worker without the sealing key in use gives all lanes to one that has it`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("INSERT INTO entitled.sealing_key (fingerprint, created_ms) VALUES ('new', 1)")
        let (unable, able) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        unable.leases.sealingKeys = ["old"]
        able.leases.sealingKeys = ["old", "new"]
        try settle([unable])
        #expect(unable.count == 256)
        // Lane 0 as well, whose owner leads.
        try settle([able, unable])
        #expect([unable.count, able.count] == [0, 256])
    }

    @Test func `the leader goes on leading when it gives lanes back`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let workers = try (UInt8(1)...2).map { try TestWorker($0, in: database) }
        for worker in workers { worker.leases.groups = TestGroups.four }
        try settle([workers[0]])
        try settle(workers)
        #expect(workers[0].leases.epochs[.first] != nil && workers[0].count == 128)
    }

    // MARK: - In groups

    @Test func `workers share the lanes of four groups fairly, and of as few groups as possible`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.guardFourGroups()
        let workers = try (UInt8(1)...3).map { try TestWorker($0, in: database) }
        for worker in workers { worker.leases.groups = TestGroups.four }
        try settle(Array(workers.prefix(2)))
        #expect(workers.map(\.count) == [128, 128, 0])
        #expect(workers.prefix(2).allSatisfy { TestGroups.four.split($0.leases.owned).count == 2 })
        try settle(workers)
        #expect(workers.map(\.count).sorted() == [84, 86, 86])
        #expect(Set(workers.flatMap(\.leases.owned)) == Set(Lane.all))
        for worker in workers { try worker.leases.releaseAll(on: worker.connection) }
        #expect(try database.crossings() == 0)
    }

    @Test func `a group whose rows cannot be changed keeps no lease of the others from being renewed`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try TestWorker(1, in: database)
        worker.leases.groups = TestGroups.four
        try worker.maintain()
        let ends = "SELECT (extract(epoch FROM min(lease_until)) * 1000000)::int8 FROM entitled.lane WHERE "
        let (broken, others) = (TestGroups.four(of: "lane") + " = 2", TestGroups.four(of: "lane") + " <> 2")
        let before = try (database.count(ends + broken), database.count(ends + others))
        try database.breakGroup(2, on: "lane")
        let change = try worker.maintain()
        #expect(change.failures.count == 1 && change.lost.isEmpty)
        #expect(try database.count(ends + broken) == before.0)
        #expect(try database.count(ends + others) > before.1)
        #expect(worker.count == 256)
        try database.mendGroup(on: "lane")
        try eventually("the leases of the group are renewed") {
            try worker.maintain()
            return try database.count(ends + broken) > before.0
        }
    }

    @Test func `a lock on a lease is not taken for a server that hangs`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try TestWorker(1, in: database)
        worker.leases.groups = TestGroups.onTwoServers
        try worker.maintain()
        let holder = try database.connect()
        try holder.query("BEGIN")
        try holder.query("SELECT 1 FROM entitled.lane WHERE \(TestGroups.four(of: "lane")) = 0 LIMIT 1 FOR UPDATE")
        try worker.connection.query("SET statement_timeout = '300ms'")
        let ends = "SELECT (extract(epoch FROM min(lease_until)) * 1000000)::int8 FROM entitled.lane WHERE "
        let others = TestGroups.four(of: "lane") + " <> 0"
        let before = try database.count(ends + others)
        let change = try worker.maintain()
        #expect(change.failures.count == 1 && change.failures.allSatisfy { !$0.isTimeout })
        #expect((0..<4).filter(worker.leases.areFailing) == [0])
        #expect(try database.count(ends + others) > before)
    }

    @Test func `one group's failure is thrown where there is no other`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try TestWorker(1, in: database)
        try worker.maintain()
        try database.breakGroup(2, on: "lane")
        #expect(throws: PostgresError.self) { try worker.maintain() }
        #expect(worker.count == 256)
    }

    @Test(arguments: [1, 4])
    func `leases take one statement for each group, and none more where there is one group`(count: Int) throws {
        let groups = TestGroups.of(count)
        let database = try TestCluster.shared.makeMigratedDatabase()
        let log = try StatementLog(database)
        let worker = try TestWorker(1, in: database)
        worker.leases.groups = groups
        let before = try log.mark()
        try worker.maintain()
        // Heartbeat, share, one takeover for each group, and the forgetting of former workers.
        #expect(try log.statements(since: before).count == 3 + groups.count)
        let renewal = try log.mark()
        try worker.maintain()
        #expect(try !worker.leases.areAnyFree(on: worker.connection))
        #expect(try log.statements(since: renewal).count == 2 + 2 * groups.count)
        let release = try log.mark()
        try worker.leases.releaseAll(on: worker.connection)
        #expect(try log.statements(since: release).count == 1 + groups.count)
    }

    @Test func `a lease that runs is not taken`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (a, b) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        try a.maintain()
        #expect(try b.maintain().gained.isEmpty)
    }

    @Test func `renewing moves the end and keeps the epoch`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try TestWorker(1, in: database)
        try worker.maintain()
        let epochs = worker.leases.epochs
        let ends = "SELECT (extract(epoch FROM min(lease_until)) * 1000000)::int8 FROM entitled.lane"
        let before = try database.count(ends)
        #expect(try worker.leases.renew(on: worker.connection).lost.isEmpty)
        #expect(try database.count(ends) > before)
        #expect(worker.leases.epochs == epochs)
    }

    @Test func `what is released is free at once`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (a, b) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        try a.maintain()
        let some = Array(a.leases.owned.prefix(5))
        try a.leases.release(some, on: a.connection)
        #expect(a.count == 251)
        #expect(try Set(b.maintain().gained) == Set(some))
    }

    @Test func `a late worker cannot release what is another's`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let late = try TestWorker(1, in: database)
        try late.maintain()
        try database.execute("UPDATE entitled.lane SET lease_until = '-infinity'")
        try database.execute("DELETE FROM entitled.worker")
        let heir = try TestWorker(2, in: database)
        try heir.maintain()
        try late.leases.releaseAll(on: late.connection)
        #expect(try heir.leases.renew(on: heir.connection).lost.isEmpty)
        #expect(heir.count == 256)
    }

    @Test func `two workers that start at once own no lane together`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let threads = (UInt8(1)...4).map { number in
            TestThread {
                let worker = try TestWorker(number, in: database)
                for _ in 0..<8 { try worker.maintain() }
                return worker.leases.owned
            }
        }
        let owned = try threads.flatMap { try $0.value() }
        #expect(Set(owned).count == owned.count)
    }
}
