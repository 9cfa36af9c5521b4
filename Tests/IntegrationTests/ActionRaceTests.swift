import Base
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Actions that others come in between of: each race is held where it could be lost.
@Suite struct ActionRaceTests {
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))

    private func key(_ life: SubscriberLife) -> PurchaseKey {
        PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
    }

    private func ownerless(_ database: TestDatabase) throws -> Int64 {
        try database.count(
            """
            SELECT count(*) FROM entitled.purchase p
            WHERE NOT EXISTS (SELECT 1 FROM entitled.app_user_id a WHERE a.id = p.owner)
            """)
    }

    /// As a worker holds the owner of a new purchase, and as an action holds who gets one.
    @Test(arguments: [true, false])
    func `a purchase that comes while its customer is being deleted is deleted from them too`(asWorker: Bool) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        let token = "cccccccc-0000-4000-8000-000000000001"
        var (first, second) = (
            SubscriberLife(app: Installation.app, seed: 90, number: 1),
            SubscriberLife(app: Installation.app, seed: 90, number: 2)
        )
        first.account.token = token
        try installation.postAll([first.start(at: Installation.start), second.start(at: Installation.start)])
        try installation.untilApplied(2)
        worker.stop()
        let database = installation.database
        let other = try database.connect(role: "entitled_worker")
        let (actions, given) = (actions, key(second))
        let deleter = try other.transaction {
            if asWorker {
                try CustomerTable.makeAndHold([token], now: 1, on: other)
            } else {
                _ = try CustomerTable.lock([token], on: other)
            }
            let deleter = TestThread {
                try actions.delete(token, on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            try PurchaseTable.setOwners([(given, token)], now: 1, on: other)
            return deleter
        }
        #expect(Set(try deleter.value().purchases) == [key(first), key(second)])
        #expect(try ownerless(database) == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.action WHERE kind = 'delete'") == 1)
    }

    /// Who owns nothing is in no lane, so nothing keeps the worker from reading before the deletion and making after it.
    @Test func `a deleted customer is not there again by a purchase that was being applied meanwhile`() throws {
        let installation = try Installation()
        let database = installation.database
        let token = "cccccccc-0000-4000-8000-000000000009"
        try CustomerTable.make([token], now: 1, on: try database.connect(role: "entitled_worker"))
        let actions = actions
        let other = try database.connect()
        let (deleter, worker) = try other.transaction {
            // The deletion has removed the id by then, and is not committed.
            try other.query("LOCK TABLE entitled.deletion_id IN EXCLUSIVE MODE")
            let deleter = TestThread { try actions.delete(token, on: try database.connect(role: "entitled_worker")) }
            try database.untilBlocked()
            var life = SubscriberLife(app: Installation.app, seed: 96)
            life.account.token = token
            #expect(try installation.post(life.start(at: Installation.start)).status == 200)
            let worker = try RunningWorker(installation)
            try database.untilBlocked(2)
            return (deleter, worker)
        }
        defer { worker.stop() }
        _ = try deleter.value()
        try installation.untilApplied(1)
        #expect(try database.count("SELECT count(*) FROM entitled.app_user_id WHERE id = $1", [.text(token)]) == 0)
        #expect(try ownerless(database) == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.purchase WHERE starts_with(owner, '$RC')") == 1)
        #expect(try installation.heldReasons() == [])
    }

    /// The first of the two waits for a lane, and in the meantime the other is done.
    @Test func `of two transfers of one purchase that is the last which was done last, whichever was begun first`()
        throws
    {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        let token = "dddddddd-0000-4000-8000-000000000001"
        var lives = (UInt64(0)..<2).map { SubscriberLife(app: Installation.app, seed: 91, number: $0) }
        for place in lives.indices { lives[place].account.token = token }
        try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
        try installation.untilApplied(2)
        worker.stop()
        let keys = lives.map(key).sorted { $0.lane < $1.lane }
        try #require(keys[0].lane < keys[1].lane)
        let database = installation.database
        let other = try database.connect(role: "entitled_worker")
        let actions = actions
        let all = try other.transaction {
            _ = try Fence.hold([keys[0].lane], on: other)
            let all = TestThread {
                try actions.transfer(
                    from: token, to: "user-last", on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            let only = [keys[1].originalTransactionID]
            let connection = try database.connect(role: "entitled_worker")
            _ = try actions.transfer(from: token, to: "user-first", only: only, on: connection)
            _ = try actions.transfer(from: "user-first", to: token, only: only, on: connection)
            return all
        }
        #expect(Set(try all.value().purchases) == Set(keys))
        try installation.expectNoDifferences()
    }

    @Test func `an action that a deadlock ends is done again`() throws {
        let installation = try Installation()
        let database = installation.database
        let connection = try database.connect(role: "entitled_worker")
        try CustomerTable.make(["a", "b"], now: 1, on: connection)
        let other = try database.connect()
        let actions = actions
        // The other one waits for what the action holds, and the action for what the other holds.
        let deleter = try other.transaction {
            _ = try other.query("SET LOCAL deadlock_timeout = '60s'")
            _ = try other.query("SELECT 1 FROM entitled.app_user_id WHERE id = 'a' FOR KEY SHARE")
            let deleter = TestThread {
                try actions.delete("a", on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            _ = try CustomerTable.lock(["a"], on: other)
            return deleter
        }
        #expect(try deleter.value().appUserIDs == ["a"])
    }

    @Test func `an alias locks customers in their order, as others do`() throws {
        let installation = try Installation()
        let database = installation.database
        let other = try database.connect(role: "entitled_worker")
        try CustomerTable.make(["a", "b"], now: 1, on: other)
        let actions = actions
        let alias = try other.transaction {
            _ = try CustomerTable.lock(["a"], on: other)
            let alias = TestThread {
                try actions.alias("a", "b", on: try database.connect(role: "entitled_worker"))
            }
            try database.untilBlocked()
            _ = try other.query("SET LOCAL lock_timeout = '500ms'")
            _ = try CustomerTable.lock(["a", "b"], on: other)
            return alias
        }
        #expect(try alias.value().appUserIDs == ["a", "b"])
    }

    @Test func `a worker that joins customers locks them before their ids, as deleting does`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let token = "eeeeeeee-0000-4000-8000-000000000001"
        var (first, second) = (
            SubscriberLife(app: Installation.app, seed: 93, number: 1),
            SubscriberLife(app: Installation.app, seed: 93, number: 2)
        )
        (first.account.token, second.account.token) = (token, token)
        try installation.postAll([
            first.start(at: Installation.start), second.start(at: Installation.start).withoutToken,
        ])
        try installation.untilApplied(2)
        let database = installation.database
        let other = try database.connect(role: "entitled_worker")
        struct Undo: Error {}
        #expect(throws: Undo.self) {
            try other.transaction {
                _ = try CustomerTable.lock([token], on: other)
                try installation.postAll([second.autoRenewOff(at: Installation.start + 3_600_000)])
                try database.untilBlocked()
                _ = try other.query("SET LOCAL lock_timeout = '500ms'")
                _ = try other.query("DELETE FROM entitled.app_user_id WHERE id = $1", [.text(token)])
                throw Undo()
            }
        }
        try installation.untilApplied(3)
        #expect(try database.count("SELECT count(*) FROM entitled.customer") == 1)
        try installation.expectNoDifferences()
    }

    @Test func `a rebuild with less patience leaves no end untold`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        let now = SystemClock().now()
        var life = SubscriberLife(app: Installation.sandbox, seed: 92, number: 1)
        // It ended two hours ago, and the worker waits for the news of a renewal.
        try installation.postAll([life.start(lasts: 10 * StoreProduct.day, at: now - 10 * StoreProduct.day - 7_200_000)]
        )
        try installation.untilApplied(1)
        worker.stop()
        let armed = "SELECT count(*) FROM entitled.purchase WHERE wake_ms IS NOT NULL"
        try #require(try installation.database.count(armed) == 1)
        let totals = try RecordRebuild(patience: .seconds(3600), foldSettings: FoldSettings(), isDry: false).run(
            on: try installation.database.connect(role: "entitled_worker"), progress: { _ in },
            found: { _ in })
        #expect(totals.differences == 0)
        #expect(try installation.database.count(armed) == 1)
    }

    @Test func `a rebuild with other settings begins anew`() throws {
        let installation = try Installation()
        func run(_ grace: Duration, pages: Int) throws -> Bool {
            var (isResumed, shown) = (false, 0)
            _ = try RecordRebuild(patience: .zero, foldSettings: FoldSettings(defaultGrace: grace), isDry: false).run(
                on: try installation.database.connect(role: "entitled_worker"),
                progress: { progress in
                    isResumed = isResumed || progress.isResumed
                    shown += 1
                    if shown == pages {
                        _ = try? installation.database.count(
                            """
                            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                            WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = 'entitled'
                            """)
                    }
                }, found: { _ in })
            return isResumed
        }
        #expect(throws: PostgresError.self) { _ = try run(.seconds(60), pages: 20) }
        #expect(try !run(.seconds(120), pages: .max))
        #expect(try !run(.seconds(60), pages: .max))
    }

    @Test func `a rebuild that is over says when it ended`() throws {
        let installation = try Installation()
        let connection = try installation.database.connect(role: "entitled_worker")
        _ = try RecordRebuild(patience: .zero, foldSettings: FoldSettings(), isDry: false).run(
            on: connection, progress: { _ in }, found: { _ in })
        #expect(
            try installation.database.count("SELECT count(*) FROM entitled.rebuild WHERE finished_ms > started_ms")
                == 1)
    }
}
