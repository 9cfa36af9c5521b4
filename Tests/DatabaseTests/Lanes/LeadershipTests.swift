import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct LeadershipTests {
    private func leadership(_ worker: TestWorker) -> Leadership {
        Leadership(worker: worker.leases.worker, lease: worker.leases.duration)
    }

    private func expire(_ database: TestDatabase) throws {
        try database.execute("UPDATE entitled.lane SET lease_until = '-infinity'")
        try database.execute("DELETE FROM entitled.worker")
    }

    @Test func `the worker that holds the first lane is the leader, and no other one`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (leader, follower) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        #expect(try !leadership(leader).isLeader(on: leader.connection))
        try leader.maintain()
        #expect(try leadership(leader).isLeader(on: leader.connection))
        #expect(try !leadership(follower).isLeader(on: follower.connection))
        #expect(throws: Leadership.Lost.self) {
            try leadership(follower).transaction(on: follower.connection) { _ in _ = Issue.record("it is a follower") }
        }
    }

    @Test func `after a takeover the former leader writes nothing, whatever it believes`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (late, heir) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        try late.maintain()
        try expire(database)
        // A lease that is over leads no more, also before another worker comes.
        #expect(try !leadership(late).isLeader(on: late.connection))
        try heir.maintain()
        #expect(throws: Leadership.Lost.self) {
            try leadership(late).transaction(on: late.connection) { _ in _ = Issue.record("it was taken over") }
        }
        #expect(!late.connection.isInTransaction)
        try leadership(heir).transaction(on: heir.connection) { _ in }
    }

    @Test func `no worker becomes the leader while a transaction of the leader runs`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let (leader, heir) = (try TestWorker(1, in: database), try TestWorker(2, in: database))
        try leader.maintain()
        try leadership(leader).transaction(on: leader.connection) { _ in
            try expire(database, but: Lane.first)
            try heir.maintain()
            #expect(heir.leases.epochs[Lane.first] == nil)
        }
        try expire(database)
        try heir.maintain()
        #expect(try leadership(heir).isLeader(on: heir.connection))
    }

    private func expire(_ database: TestDatabase, but lane: Lane) throws {
        try database.execute(
            "UPDATE entitled.lane SET lease_until = '-infinity' WHERE lane <> $1", [.int2(lane.number)])
    }

    @Test func `two transactions of the leader that lock further lanes end one after the other`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let leader = try TestWorker(1, in: database)
        try leader.maintain()
        let leadership = leadership(leader)
        let second = try leadership.transaction(on: leader.connection) { _ in
            let second = TestThread {
                let connection = try database.connect(role: "entitled_worker")
                try leadership.transaction(on: connection) { _ in
                    _ = try Fence.hold([Lane.first, Lane(number: 9)], on: connection)
                }
            }
            try database.untilBlocked()
            _ = try Fence.hold([Lane.first, Lane(number: 9)], on: leader.connection)
            return second
        }
        try second.value()
    }

    @Test func `a transaction of the leader is durable and ends before the lease does`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("ALTER DATABASE \(database.name) SET synchronous_commit = off")
        let leader = try TestWorker(1, in: database, lease: .seconds(10))
        try leader.maintain()
        let names = [
            "synchronous_commit", "statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout",
        ]
        let settings = try leadership(leader).transaction(on: leader.connection) { _ in
            try names.map { name in
                try leader.connection.query("SELECT current_setting($1)", [.text(name)]).one().text(0)
            }
        }
        #expect(settings == ["on", "5s", "5s", "5s"])
    }
}
