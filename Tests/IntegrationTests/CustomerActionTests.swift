import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@Suite struct CustomerActionTests {
    /// An installation with a worker, a consumer, and a connection for actions.
    private final class Scene {
        let installation: Installation
        let worker: RunningWorker
        let consumer: Consumer
        let connection: PostgresConnection
        let actions: CustomerActions
        private var posted: Int64 = 0

        init() throws {
            installation = try Installation()
            consumer = try Consumer()
            _ = try installation.addEndpoint(consumer)
            worker = try RunningWorker(installation)
            connection = try installation.database.connect(role: "entitled_worker")
            actions = CustomerActions(
                origin: ActionTable.Origin(actor: "tester", reason: "a test"),
                foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        }

        func end() {
            worker.stop()
            consumer.stop()
        }

        func apply(_ notifications: StoreNotification...) throws {
            posted += Int64(notifications.count)
            try installation.postAll(notifications)
            try installation.untilApplied(posted)
        }

        func customer(_ anyID: String) throws -> CustomerQuery.Found? {
            try CustomerQuery.find(anyID: anyID, foldSettings: FoldSettings(), on: connection)
        }

        func owner(_ life: SubscriberLife) throws -> String? {
            try installation.database.texts(
                "SELECT owner FROM entitled.purchase WHERE original_transaction_id = $1",
                [.text(life.latest.originalID)]
            ).first
        }

        func key(_ life: SubscriberLife) -> PurchaseKey {
            PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        }

        func logged() throws -> [String] {
            try installation.database.texts(
                "SELECT kind || ' ' || actor || ' ' || coalesce(reason, '-') FROM entitled.action ORDER BY seq")
        }
    }

    private func life(_ number: UInt64, token: String? = nil) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: 60, number: number)
        if let token { life.account.token = token }
        return life
    }

    // MARK: - Aliases

    @Test
    func
        `an alias joins an anonymous customer to a person, and a token that is signed later follows the restore behaviour`()
        throws
    {
        let scene = try Scene()
        defer { scene.end() }
        var life = life(1)
        try scene.apply(life.start(at: Installation.start).withoutToken)
        let anonymous = try #require(try scene.owner(life))
        let alias = try scene.actions.alias(anonymous, "user-42", on: scene.connection)
        #expect(alias.originalAppUserID == anonymous)
        #expect(alias.appUserIDs == [anonymous, "user-42"])
        #expect(alias.isNew)
        #expect(try scene.actions.alias("user-42", anonymous, on: scene.connection).isNew == false)
        #expect(try scene.logged() == ["alias tester a test"])
        try scene.apply(life.renew(at: Installation.start + 30 * StoreProduct.day))
        let former = try #require(try scene.customer("user-42"))
        #expect(former.customer.appUserIDs == [anonymous, "user-42"])
        #expect(former.purchases.isEmpty)
        let token = try #require(life.account.token)
        #expect(try scene.customer(token)?.purchases.map(\.periods.count) == [2])
        // Consumers are told before the renewal, which names the customer of the token.
        let requests = try scene.consumer.wait(3)
        let transfer = try #require(requests.last { $0.type == "TRANSFER" }?.event)
        #expect(transfer["transferred_from"] == .strings([anonymous, "user-42"]))
        #expect(transfer["transferred_to"] == .strings([token]))
        let event = try #require(requests.last { $0.type == "RENEWAL" }?.event)
        #expect(event["app_user_id"] == .string(token))
        try scene.installation.expectNoDifferences()
    }

    @Test func `two customers become one under the id that was first, with all purchases`() throws {
        let scene = try Scene()
        defer { scene.end() }
        var (first, second) = (life(2), life(3))
        try scene.apply(first.start(at: Installation.start))
        try scene.apply(second.start(at: Installation.start))
        let (one, two) = (try #require(first.account.token), try #require(second.account.token))
        #expect(try scene.actions.alias(two, one, on: scene.connection).originalAppUserID == one)
        #expect(try scene.customer(two)?.purchases.count == 2)
        #expect(try scene.customer(one)?.customer.appUserIDs == [one, two])
        try scene.installation.expectNoDifferences()
    }

    @Test(arguments: ["", "null", "a/b", "[object Object]", String(repeating: "x", count: 101), "a\u{7}b"])
    func `what cannot name anybody is refused, and nothing changes`(id: String) throws {
        let scene = try Scene()
        defer { scene.end() }
        var life = life(4)
        try scene.apply(life.start(at: Installation.start))
        let token = try #require(life.account.token)
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try scene.actions.alias(token, id, on: scene.connection)
        }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try scene.actions.transfer(from: token, to: id, on: scene.connection)
        }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try scene.actions.claim(
                scene.key(life), by: id, settings: RestoreSettings(general: .transfer), on: scene.connection)
        }
        #expect(try scene.logged() == [])
        #expect(try scene.customer(token)?.customer.appUserIDs == [token])
    }

    @Test func `who is not known is told so`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let nobody = CustomerActions.Rejection.unknown("nobody")
        #expect(throws: nobody) { _ = try scene.actions.alias("nobody", "user", on: scene.connection) }
        #expect(throws: nobody) { _ = try scene.actions.transfer(from: "nobody", to: "user", on: scene.connection) }
        #expect(throws: nobody) { _ = try scene.actions.delete("nobody", on: scene.connection) }
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.app_user_id") == 0)
    }

    // MARK: - Transfers

    @Test func `a transfer moves what is named, tells consumers once, and outranks later tokens`() throws {
        let scene = try Scene()
        defer { scene.end() }
        var (first, second) = (life(5), life(6))
        second.account = first.account
        try scene.apply(first.start(at: Installation.start), second.start(at: Installation.start))
        let token = try #require(first.account.token)
        let transfer = try scene.actions.transfer(
            from: token, to: "winner", only: [first.latest.originalID], on: scene.connection)
        #expect(transfer.purchases == [scene.key(first)])
        #expect(try scene.customer(token)?.purchases.map(\.key) == [scene.key(second)])
        #expect(try scene.customer("winner")?.purchases.map(\.key) == [scene.key(first)])
        let requests = try scene.consumer.wait(3)
        let event = try #require(requests.first { $0.type == "TRANSFER" })
        #expect(transfer.events == [event.id])
        #expect(event.event?["transferred_from"] == .strings([token]))
        #expect(event.event?["transferred_to"] == .strings(["winner"]))
        #expect(event.event?["environment"] == .string("PRODUCTION"))

        try scene.apply(first.renew(at: Installation.start + 30 * StoreProduct.day))
        #expect(try scene.owner(first) == "winner")
        #expect(try scene.consumer.wait(4).last?.event?["app_user_id"] == .string("winner"))
        #expect(try scene.customer(first.latest.originalID)?.customer.originalAppUserID == "winner")

        // Asked for again there is nothing to move; the rest can follow.
        let again = try scene.actions.transfer(
            from: token, to: "winner", only: [first.latest.originalID], on: scene.connection)
        #expect(again.purchases.isEmpty && again.events.isEmpty)
        #expect(throws: CustomerActions.Rejection.notTheirs(purchase: "2000", customer: token)) {
            _ = try scene.actions.transfer(from: token, to: "winner", only: ["2000"], on: scene.connection)
        }
        // The history of both says so, once, and what consumers were told.
        for id in [token, "winner"] {
            let found = try #require(try scene.customer(id))
            let told = try TimelineQuery.timeline(
                of: found.purchases.map(\.key), appUserIDs: found.customer.appUserIDs, patience: StoreProduct.day,
                foldSettings: FoldSettings(), now: SystemClock().now(), on: scene.connection
            ).entries.filter { if case .action = $0.kind { true } else { false } }
            #expect(told.map(\.title) == ["purchases were moved from \(token) to winner, by tester: a test"])
            #expect(told.flatMap(\.events).map(\.id) == transfer.events)
            #expect(told.flatMap(\.events).allSatisfy { $0.trace?.deliveries.map(\.state) == ["delivered"] })
        }
        #expect(try scene.actions.transfer(from: token, to: "winner", on: scene.connection).purchases.count == 1)
        #expect(try scene.actions.transfer(from: token, to: "winner", on: scene.connection).purchases.isEmpty)
        #expect(try scene.logged().count == 2)
        try scene.installation.expectNoDifferences()
    }

    @Test func `transfers to and fro beside workers end with what was done last`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let second = try RunningWorker(scene.installation, lease: .seconds(2))
        defer { second.stop() }
        var lives = (0..<12).map { life(100 + $0, token: "aaaaaaaa-0000-4000-8000-000000000001") }
        var notifications = lives.indices.map { lives[$0].start(at: Installation.start) }
        try scene.installation.postAll(notifications)
        try scene.installation.untilApplied(12)
        for round in Int64(1)...15 {
            for place in lives.indices {
                let at = Installation.start + round * 3_600_000
                notifications.append(
                    round % 2 == 1 ? lives[place].autoRenewOff(at: at) : lives[place].autoRenewOn(at: at))
            }
        }
        let database = scene.installation.database
        let actions = scene.actions
        let movers = ["aaaaaaaa-0000-4000-8000-000000000001", "user-b", "user-c"].map { from in
            TestThread {
                let connection = try database.connect(role: "entitled_worker")
                for to in ["user-b", "user-c", "aaaaaaaa-0000-4000-8000-000000000001", "user-b", "user-c"]
                where to != from {
                    do {
                        _ = try actions.transfer(from: from, to: to, on: connection)
                    } catch CustomerActions.Rejection.unknown {
                        // Nobody gave them anything yet.
                    }
                }
            }
        }
        try scene.installation.postAll(Array(notifications.dropFirst(12)))
        for mover in movers { try mover.value() }
        try scene.installation.untilApplied(12 + 12 * 15)
        // What the log says last is how it is, for each purchase.
        try scene.installation.expectNoDifferences()
        #expect(try scene.installation.heldReasons() == [])
        let events = try database.count("SELECT count(*) FROM entitled.event WHERE type = 'TRANSFER'")
        #expect(events == (try database.count("SELECT count(*) FROM entitled.action WHERE kind = 'transfer'")))
        #expect(events > 0)
    }

    // MARK: - Claims

    @Test func `a claim of an unclaimed purchase joins, again it does nothing`() throws {
        let scene = try Scene()
        defer { scene.end() }
        var life = life(7)
        try scene.apply(life.start(at: Installation.start).withoutToken)
        let list = { (isUnclaimed: Bool) in
            try PurchaseQuery.list(
                isUnclaimed: isUnclaimed, app: nil, environment: nil, atMost: 10, foldSettings: FoldSettings(),
                on: scene.connection)
        }
        #expect(try list(true).map(\.purchase.key) == [scene.key(life)])
        guard case .joined(let alias) = try claim(life, "user-7", .keep, scene) else {
            Issue.record("not joined")
            return
        }
        #expect(alias.appUserIDs.contains("user-7"))
        guard case .theirs = try claim(life, "user-7", .keep, scene) else {
            Issue.record("claimed twice")
            return
        }
        #expect(try list(true).isEmpty)
        #expect(try list(false).count == 1)
        #expect(try scene.logged().count == 1)
        try scene.installation.expectNoDifferences()
    }

    @Test func `a claim of somebody's purchase follows the restore behaviour and takes the account's purchases along`()
        throws
    {
        let scene = try Scene()
        defer { scene.end() }
        var (first, second, other) = (life(8), life(9), life(10))
        second.account = first.account
        other.account.token = first.account.token
        try scene.apply(
            first.start(at: Installation.start), second.start(at: Installation.start),
            other.start(at: Installation.start))
        #expect(throws: CustomerActions.Rejection.self) { _ = try claim(first, "thief", .keep, scene) }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try claim(first, "thief", .transferIfNoActiveSubscriptions, scene)
        }
        #expect(try scene.customer("thief") == nil)
        guard case .moved(let transfer) = try claim(first, "heir", .transfer, scene) else {
            Issue.record("not moved")
            return
        }
        #expect(Set(transfer.purchases) == [scene.key(first), scene.key(second)])
        #expect(try scene.owner(other) == first.account.token)
        guard case .joined(let alias) = try claim(first, "sharer", .share, scene) else {
            Issue.record("not joined")
            return
        }
        #expect(Set(alias.appUserIDs) == ["heir", "sharer"])
        try scene.installation.expectNoDifferences()
    }

    private func claim(
        _ life: SubscriberLife, _ id: String, _ behavior: RestoreBehavior, _ scene: Scene
    ) throws -> CustomerActions.Claim {
        try scene.actions.claim(
            scene.key(life), by: id, settings: RestoreSettings(general: behavior), on: scene.connection)
    }

    // MARK: - Deletion

    @Test func `a deleted customer does not come back with the next notification, and the purchase goes on`() throws {
        let scene = try Scene()
        defer { scene.end() }
        var life = life(11)
        try scene.apply(life.start(at: Installation.start))
        let token = try #require(life.account.token)
        _ = try scene.actions.alias(token, "user-11", on: scene.connection)
        let deletion = try scene.actions.delete("user-11", on: scene.connection)
        #expect(Set(deletion.appUserIDs) == [token, "user-11"])
        #expect(try scene.customer("user-11") == nil)
        #expect(try scene.customer(token) == nil)
        let owner = try #require(try scene.owner(life))
        #expect(Owner.isAnonymous(owner))
        try scene.apply(life.renew(at: Installation.start + 30 * StoreProduct.day))
        #expect(try scene.owner(life) == owner)
        #expect(try scene.customer(token) == nil)
        #expect(try scene.customer(life.latest.originalID)?.purchases.first?.periods.count == 2)
        #expect(try scene.logged().count == 3)
        #expect(throws: CustomerActions.Rejection.unknown("user-11")) {
            _ = try scene.actions.delete("user-11", on: scene.connection)
        }
        // What they bought before, and is heard of only now, belongs to nobody.
        var before = self.life(14, token: token)
        try scene.apply(before.start(at: Installation.start))
        #expect(try scene.owner(before).map(Owner.isAnonymous) == true)
        // Who buys with the same token since then is somebody.
        var later = self.life(12, token: token)
        try scene.apply(later.start(at: SystemClock().now() + 5000))
        #expect(try scene.customer(token)?.purchases.map(\.key) == [scene.key(later)])
        try scene.installation.expectNoDifferences()
    }

    /// A worker is ahead of the deletion: it has locked the customer and not yet committed the purchase.
    @Test func `deleting sees a purchase that was being given meanwhile`() throws {
        let scene = try Scene()
        defer { scene.end() }
        var life = life(13)
        try scene.apply(life.start(at: Installation.start))
        let token = try #require(life.account.token)
        let other = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000000000000013")
        #expect(other.lane != scene.key(life).lane)
        let (database, actions) = (scene.installation.database, scene.actions)
        let ahead = try database.connect()
        let deleter = try ahead.transaction {
            try ahead.query(
                "SELECT FROM entitled.customer WHERE original_app_user_id = $1 FOR NO KEY UPDATE", [.text(token)])
            try ahead.query(
                """
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                    will_renew, version, updated_ms)
                VALUES ($1, 'demo', 0, $2, $3, 'pro_monthly', true, 1, 1)
                """, [.int2(other.lane.number), .text(other.originalTransactionID), .text(token)])
            try ahead.query(
                "INSERT INTO entitled.owner_lane (owner, lane) VALUES ($1, $2)",
                [.text(token), .int2(other.lane.number)])
            let deleter = TestThread { try actions.delete(token, on: try database.connect(role: "entitled_worker")) }
            try database.untilBlocked()
            return deleter
        }
        #expect(Set(try deleter.value().purchases) == [other, scene.key(life)])
        #expect(try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = $1", [.text(token)]) == 0)
    }

    @Test func `deleting beside new purchases of the same customer loses none`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let second = try RunningWorker(scene.installation, lease: .seconds(2))
        defer { second.stop() }
        let token = "bbbbbbbb-0000-4000-8000-000000000001"
        var lives = (0..<60).map { life(200 + $0, token: token) }
        // Bought after each deletion: the same customer again and again.
        let bought = SystemClock().now() + 120_000
        let notifications = lives.indices.map { lives[$0].start(at: bought) }
        let (database, actions) = (scene.installation.database, scene.actions)
        let deleter = TestThread {
            let connection = try database.connect(role: "entitled_worker")
            var deletions = 0
            while deletions < 4 {
                do {
                    _ = try actions.delete(token, on: connection)
                    deletions += 1
                } catch CustomerActions.Rejection.unknown {
                    if try database.count("SELECT count(*) FROM entitled.purchase") == 60 { return }
                }
            }
        }
        try scene.installation.postAll(notifications)
        try deleter.value()
        try scene.installation.untilApplied(60)
        #expect(try scene.installation.heldReasons() == [])
        let lost = """
            SELECT count(*) FROM entitled.purchase p
            WHERE NOT EXISTS (SELECT 1 FROM entitled.app_user_id a WHERE a.id = p.owner)
            """
        #expect(try database.count(lost) == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.purchase") == 60)
        try scene.installation.expectNoDifferences()
    }
}
