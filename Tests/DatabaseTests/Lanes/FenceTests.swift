import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct FenceTests {
    private func expire(_ database: TestDatabase) throws {
        try database.execute("UPDATE entitled.lane SET lease_until = '-infinity'")
        try database.execute("DELETE FROM entitled.worker")
    }

    private func pass(_ worker: TestWorker, _ lanes: [Lane] = Lane.all) throws -> Set<Lane> {
        try worker.connection.transaction {
            try Fence.pass(lanes, leases: worker.leases, on: worker.connection).lanes
        }
    }

    @Test func `the owner passes with its lanes and no others`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try TestWorker(1, in: database)
        #expect(try pass(worker).isEmpty)
        try worker.maintain()
        #expect(try pass(worker).count == 256)
        try worker.leases.release([Lane(number: 7)], on: worker.connection)
        #expect(try pass(worker, [Lane(number: 7), Lane(number: 8)]) == [Lane(number: 8)])
    }

    @Test func `a worker that lost its lanes passes with nothing`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (late, heir) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        try late.maintain()
        try expire(database)
        try heir.maintain()
        #expect(try pass(late).isEmpty)
        #expect(try pass(heir).count == 256)
    }

    @Test func `a lane that came back to its former owner does not open to the former epoch`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let worker = try TestWorker(1, in: database)
        try worker.maintain()
        let former = worker.leases
        try expire(database)
        let again = try TestWorker(1, in: database)
        try again.maintain()
        #expect(again.count == 256)
        let passed = try worker.connection.transaction {
            try Fence.pass(Lane.all, leases: former, on: worker.connection).lanes
        }
        #expect(passed.isEmpty)
    }

    @Test func `nobody takes a lane while its owner's transaction runs`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (owner, heir) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        try owner.maintain()
        try expire(database)
        let lane = Lane(number: 42)
        try owner.connection.transaction {
            #expect(try Fence.pass([lane], leases: owner.leases, on: owner.connection).lanes == [lane])
            try heir.maintain()
            #expect(heir.count == 255)
            #expect(heir.leases.epochs[lane] == nil)
        }
        try heir.maintain()
        #expect(heir.leases.epochs[lane] != nil)
    }

    @Test func `a fence that waits for a takeover finds the lane gone`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let late = try TestWorker(1, in: database)
        try late.maintain()
        let leases = late.leases
        let taker = try database.connect()
        let waiting = try taker.transaction {
            try taker.query(
                "UPDATE entitled.lane SET owner = $1, epoch = epoch + 1 WHERE lane = 3",
                [.uuid([UInt8](repeating: 9, count: 16))])
            let waiting = TestThread {
                let connection = try database.connect(role: "entitled_worker")
                return try connection.transaction {
                    try Fence.pass([Lane(number: 3), Lane(number: 4)], leases: leases, on: connection).lanes
                }
            }
            try database.untilBlocked()
            return waiting
        }
        #expect(try waiting.value() == [Lane(number: 4)])
    }

    @Test func `a data transaction is durable and ends before the lease does`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("ALTER DATABASE \(database.name) SET synchronous_commit = off")
        let worker = try TestWorker(1, in: database, lease: .seconds(10))
        try worker.maintain()
        let names = [
            "synchronous_commit", "statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout",
        ]
        let settings = try worker.connection.transaction {
            _ = try Fence.pass([Lane(number: 1)], leases: worker.leases, on: worker.connection)
            return try names.map { name in
                try worker.connection.query("SELECT current_setting($1)", [.text(name)]).one().text(0)
            }
        }
        #expect(settings == ["on", "5s", "5s", "5s"])
    }

    @Test func `a worker that stands still in a transaction loses its lock`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let still = try TestWorker(1, in: database, lease: .seconds(2))
        try still.maintain()
        let heir = try TestWorker(2, in: database, lease: .seconds(2))
        try still.connection.query("BEGIN")
        _ = try Fence.pass(Lane.all, leases: still.leases, on: still.connection)
        try eventually("the lanes are taken over") {
            try heir.maintain()
            return heir.count == 256
        }
        #expect(throws: PostgresError.self) { try still.connection.query("COMMIT") }
    }
}
