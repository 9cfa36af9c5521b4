import API
import AppStore
import Base
import Customers
import Daemon
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// A posted transaction brings everything that Apple knows of its account.
@Suite struct RestoreTests {
    private static let day = StoreProduct.day

    private let installation: Installation
    private let worker: RunningWorker

    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
    }

    private var database: TestDatabase { installation.database }

    /// A subscriber for three months, who bought coins and a lifetime product on the way.
    private func veteran(_ seed: UInt64, withToken: Bool = false) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: seed, withToken: withToken)
        let now = SystemClock().now()
        life.start(at: now - 80 * Self.day)
        life.buyOnce(at: now - 79 * Self.day)
        life.renew(at: now - 50 * Self.day)
        life.buyOnce(.lifetime, at: now - 40 * Self.day)
        life.renew(at: now - 20 * Self.day)
        return life
    }

    private static let restore: KeyValuePairs<String, JSON?> = [
        "is_restore": .bool(true), "initiation_source": .string("restore"),
    ]

    /// What a login makes the SDK post (`syncPurchases`), which says of an identified customer that it is no restore.
    private static let sync: KeyValuePairs<String, JSON?> = [
        "is_restore": .bool(false), "initiation_source": .string("restore"),
    ]

    @Test(arguments: [restore, sync])
    func `a restore with a consumable brings the subscription and the rest of the account`(
        words: KeyValuePairs<String, JSON?>
    ) throws {
        defer { worker.stop() }
        let life = veteran(4000)
        let bench = try PostingFixture(installation, apple: PlayedHistory(installation, life.notifications))
        let answer = bench.post(try PostingFixture.jws(life.notifications[1]), by: "carla", words)
        #expect(answer.status == 200, "\(answer.text)")
        let subscriber = answer.json.subscriber
        #expect(subscriber?["subscriptions"]?["pro_monthly"]?["store_transaction_id"] == .string(life.latest.id))
        #expect(subscriber?["entitlements"]?["pro"]?["product_identifier"] == .string("pro_lifetime"))
        #expect(subscriber?["non_subscriptions"]?["pro_lifetime"] != nil)
        #expect(subscriber?["non_subscriptions"]?["coins_100"] != nil)
        #expect(try database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["carla"])
        try installation.expectNoDifferences()
    }

    @Test func `the first transaction of a subscription brings its whole chain, and no end that was none`() throws {
        defer { worker.stop() }
        let life = veteran(4001)
        let bench = try PostingFixture(installation, apple: PlayedHistory(installation, life.notifications))
        let answer = bench.post(try PostingFixture.jws(life.notifications[0]), by: "user-1")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            answer.json.subscriber?["subscriptions"]?["pro_monthly"]?["store_transaction_id"]
                == .string(life.latest.id))
        #expect(
            try database.texts("SELECT type FROM entitled.event ORDER BY type") == [
                "INITIAL_PURCHASE", "NON_RENEWING_PURCHASE", "NON_RENEWING_PURCHASE", "RENEWAL", "RENEWAL",
            ])
        try installation.expectNoDifferences()
    }

    private func owners() throws -> [String] {
        try database.texts("SELECT DISTINCT owner FROM entitled.purchase ORDER BY 1")
    }

    @Test func `an account that was looked through is asked about again by a restore alone, and not at once`() throws {
        defer { worker.stop() }
        let life = veteran(4002)
        let apple = try PlayedHistory(installation, life.notifications)
        let bench = try PostingFixture(installation, apple: apple)
        #expect(bench.post(try PostingFixture.jws(life.notifications[0]), by: "user-1").status == 200)
        let calls = apple.calls.count
        #expect(calls == 2)
        for place in [1, 2] {
            #expect(bench.post(try PostingFixture.jws(life.notifications[place]), by: "user-1").status == 200)
        }
        #expect(bench.post(try PostingFixture.jws(life.notifications[1]), by: "user-1", Self.restore).status == 200)
        #expect(apple.calls.count == calls)
        try database.execute("UPDATE entitled.account_look SET looked_ms = looked_ms - 120000")
        let before = try database.count("SELECT count(*) FROM entitled.notification")
        #expect(bench.post(try PostingFixture.jws(life.notifications[1]), by: "user-1", Self.restore).status == 200)
        #expect(apple.calls.count == calls + 2)
        // Apple said nothing new.
        #expect(try database.count("SELECT count(*) FROM entitled.notification") == before)
        #expect(try owners() == ["user-1"])
    }

    @Test func `many devices of one account at the same moment ask once`() throws {
        defer { worker.stop() }
        let life = veteran(4003)
        let apple = try PlayedHistory(
            installation, life.notifications, faults: [StoreFault(.slow, path: "/subscriptions/", seconds: 0.5)])
        let bench = try PostingFixture(installation, apple: apple)
        let jws = try PostingFixture.jws(life.notifications[1])
        // More than may wait about one account: the others ask again.
        let threads = (0..<50).map { _ in TestThread { try bench.postUntilTaken(jws, by: "carla", Self.restore) } }
        let answers = try threads.map { try $0.value() }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(answers.allSatisfy { $0.json.subscriber?["entitlements"]?["pro"] != nil })
        #expect(apple.calls.count == 2)
        #expect(try owners() == ["carla"])
        try installation.expectNoDifferences()
    }

    private static let faults = [
        StoreFault(.error), StoreFault(.rateLimited, seconds: 0.2), StoreFault(.slow, seconds: 20), StoreFault(.reset),
        StoreFault(.garbage), StoreFault(.unauthorized),
    ]

    @Test(arguments: faults)
    func `while Apple does not answer the app gets what is known, and the rest comes by itself`(
        fault: StoreFault
    ) throws {
        defer { worker.stop() }
        let life = veteran(4004)
        let apple = try PlayedHistory(installation, life.notifications, faults: [fault])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(1))
        let jws = try PostingFixture.jws(life.notifications[1])
        let answer = try bench.postUntilTaken(jws, by: "carla", Self.restore)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json.subscriber?["non_subscriptions"]?["coins_100"] != nil)
        #expect(answer.json.subscriber?["subscriptions"]?["pro_monthly"] == nil)
        let other = SubscriberLife.single(4005)
        #expect(try bench.postUntilTaken(PostingFixture.jws(other.notifications[0]), by: "dora").status == 200)
        #expect(try database.count("SELECT count(*) FROM entitled.account_look WHERE next_ms IS NOT NULL") == 2)
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) {
            try eventually("the rest of the account is carla's") {
                try database.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'carla'") == 3
            }
        }
        let looked = try database.texts(
            "SELECT original_transaction_id FROM entitled.account_look WHERE looked_ms IS NOT NULL")
        let posted = try #require(life.notifications[1].transaction?["originalTransactionId"]?.stringValue)
        #expect(looked.contains(posted))
        try installation.expectNoDifferences()
    }

    @Test func `what Apple does not know is not asked about for ever`() throws {
        defer { worker.stop() }
        let stranger = SubscriberLife.single(4006)
        let apple = try PlayedHistory(installation, [])
        let bench = try PostingFixture(installation, apple: apple)
        #expect(bench.post(try PostingFixture.jws(stranger.notifications[0]), by: "dora").status == 200)
        try database.execute("UPDATE entitled.account_look SET attempts = 4")
        try apple.lookingThrough(as: worker.id) {
            try eventually("it is given up") {
                try database.count("SELECT count(*) FROM entitled.account_look WHERE next_ms IS NULL") == 1
            }
        }
        #expect(try owners() == ["dora"])
    }

    @Test(arguments: RestoreBehavior.allCases)
    func `of a named user's account a restore moves what restore_behavior lets it move`(
        behavior: RestoreBehavior
    ) throws {
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        defer { worker.stop(); consumer.stop() }
        let life = veteran(4007)
        let apple = try PlayedHistory(installation, life.notifications)
        let bench = try PostingFixture(installation, behavior: behavior, apple: apple)
        #expect(bench.post(try PostingFixture.jws(life.notifications[0]), by: "anna").status == 200)
        #expect(try owners() == ["anna"])
        for isFresh in [true, false] {
            if !isFresh { try database.execute("UPDATE entitled.account_look SET looked_ms = looked_ms - 120000") }
            // Answered as if nothing but the purchase itself had been posted.
            let answer = bench.post(try PostingFixture.jws(life.notifications[3]), by: "bert", Self.restore)
            let isAllowed = [.transfer, .share].contains(behavior)
            #expect(answer.status == (isAllowed ? 200 : 400), "\(answer.text)")
            if behavior == .share { #expect(answer.json.subscriber?["original_app_user_id"] == .string("anna")) }
            let consumables = try database.texts(
                "SELECT owner FROM entitled.purchase WHERE product_id = 'coins_100'")
            let others = try database.texts(
                "SELECT DISTINCT owner FROM entitled.purchase WHERE product_id <> 'coins_100'")
            #expect(consumables == ["anna"])
            #expect(others == [behavior == .transfer ? "bert" : "anna"])
        }
        #expect(
            try database.count("SELECT count(*) FROM entitled.event WHERE type = 'TRANSFER'")
                == (behavior == .transfer ? 1 : 0))
        try installation.expectNoDifferences()
    }

    @Test func `an account with hundreds of purchases comes whole`() throws {
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 4008, withToken: false)
        let now = SystemClock().now()
        life.start(at: now - 20 * Self.day)
        for number in 0..<300 { life.buyOnce(at: now - 19 * Self.day + Int64(number) * 60_000) }
        let bench = try PostingFixture(installation, apple: PlayedHistory(installation, life.notifications))
        let answer = bench.post(try PostingFixture.jws(life.notifications[7]), by: "carla", Self.restore)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json.subscriber?["non_subscriptions"]?["coins_100"]?.arrayValue?.count == 300)
        #expect(answer.json.subscriber?["entitlements"]?["pro"] != nil)
        #expect(try owners() == ["carla"])
    }

    @Test func `a customer who is deleted while Apple is away gets nothing afterwards`() throws {
        defer { worker.stop() }
        let life = veteran(4009)
        let apple = try PlayedHistory(installation, life.notifications, faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(1))
        let text = try PostingFixture.jws(life.notifications[1])
        #expect(try bench.postUntilTaken(text, by: "carla", Self.restore).status == 200)
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(86_400)))
        _ = try actions.delete("carla", on: try database.connect(role: "entitled_api"))
        apple.clearFaults()
        try apple.lookingThrough(as: worker.id) {
            try eventually("the account is known") {
                try database.count("SELECT count(*) FROM entitled.purchase") == 3
            }
        }
        #expect(try owners().allSatisfy { $0.hasPrefix("$RCAnonymousID:") })
        #expect(try database.count("SELECT count(*) FROM entitled.app_user_id WHERE id = 'carla'") == 0)
    }

    @Test func `what is erased while Apple is asked about it does not come back with the answer`() throws {
        defer { worker.stop() }
        let life = veteran(4011)
        let apple = try PlayedHistory(installation, life.notifications, faults: [StoreFault(.error)])
        let bench = try PostingFixture(installation, apple: apple, patience: .seconds(1))
        let text = try PostingFixture.jws(life.notifications[1])
        #expect(try bench.postUntilTaken(text, by: "carla", Self.restore).status == 200)
        apple.clearFaults()
        apple.add(StoreFault(.slow, path: "/history/", seconds: 1))
        try apple.lookingThrough(as: worker.id) {
            try eventually("Apple is asked") { !apple.calls(of: "/history/").isEmpty }
            try database.execute("DELETE FROM entitled.account_look")
            try eventually("Apple answered") { apple.metrics.exposition().contains(#"outcome="found""#) }
        }
        #expect(try database.count("SELECT count(*) FROM entitled.purchase") == 1)
        #expect(try database.count("SELECT count(*) FROM entitled.account_look") == 0)
    }

    @Test func `a family member's restore brings what the member has, of the sandbox too`() throws {
        defer { worker.stop() }
        var life = SubscriberLife(
            app: Installation.sandbox, seed: 4010, withToken: false, isFamilyMember: true)
        let now = SystemClock().now()
        life.start(at: now - 40 * Self.day)
        life.renew(at: now - 10 * Self.day)
        life.buyOnce(.lifetime, at: now - 5 * Self.day)
        let apple = try PlayedHistory(installation, life.notifications, app: Installation.sandbox)
        let bench = try PostingFixture(installation, apple: apple)
        let answer = bench.post(try PostingFixture.jws(life.notifications[2]), by: "fred", Self.restore)
        #expect(answer.status == 200, "\(answer.text)")
        let subscription = answer.json.subscriber?["subscriptions"]?["pro_monthly"]
        #expect(subscription?["ownership_type"] == .string("FAMILY_SHARED"))
        #expect(subscription?["is_sandbox"] == .bool(true))
        #expect(try owners() == ["fred"])
        try installation.expectNoDifferences()
    }
}

extension SubscriberLife {
    /// A subscription that began yesterday, of an account of its own.
    fileprivate static func single(_ seed: UInt64) -> SubscriberLife {
        var life = SubscriberLife(app: Installation.app, seed: seed, withToken: false)
        life.start(at: SystemClock().now() - StoreProduct.day)
        return life
    }
}
