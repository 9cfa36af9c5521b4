import Base
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

/// The first webhook of a purchase without a token waits for the name of its buyer (`apps[].owner_wait`).
@Suite struct OwnerWaitTests {
    private static let long = OwnerWait.Setting.fixed(3_600_000)

    private struct Told: Equatable {
        let type: String
        let appUserID: String
    }

    /// The events of the installation, the oldest period first.
    private func told(_ installation: Installation) throws -> [Told] {
        let rows = try installation.database.connect().query("SELECT body FROM entitled.event WHERE type <> 'TRANSFER'")
        return try rows.map { try JSON(parsing: try EventBodyCodec.restore(try $0.bytes(0)))["event"] }.map {
            (
                $0?["purchased_at_ms"]?.intValue ?? 0,
                Told(type: $0?["type"]?.stringValue ?? "", appUserID: $0?["app_user_id"]?.stringValue ?? "")
            )
        }.sorted { ($0.0, $0.1.type) < ($1.0, $1.1.type) }.map(\.1)
    }

    private func untilTold(_ installation: Installation, _ expected: [Told]) throws {
        try eventually("\(expected) is told") { try told(installation).count >= expected.count }
        #expect(try told(installation) == expected)
    }

    @Test func `the record is there at once, the event when the post names the buyer, and later ones follow it`() throws
    {
        let installation = try Installation()
        let worker = try RunningWorker(installation, ownerWait: Self.long)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        var life = SubscriberLife(app: Installation.app, seed: 501, withToken: false)
        let now = SystemClock().now()
        try installation.postAll([life.start(at: now - 60_000), life.autoRenewOff(at: now - 30_000)])
        try installation.untilApplied(2)
        #expect(
            try installation.database.count("SELECT count(*) FROM entitled.purchase WHERE tell_ms IS NOT NULL") == 1)
        #expect(try told(installation) == [])
        #expect(bench.post(try PostingFixture.jws(life.notifications[0]), by: "bob").status == 200)
        try untilTold(
            installation,
            [Told(type: "CANCELLATION", appUserID: "bob"), Told(type: "INITIAL_PURCHASE", appUserID: "bob")])
        #expect(
            try installation.database.count("SELECT count(*) FROM entitled.purchase WHERE tell_ms IS NOT NULL") == 0)
        try installation.expectNoDifferences()
    }

    @Test func `when the wait is over it names an anonymous customer, once, whoever is killed meanwhile`() throws {
        let installation = try Installation()
        let first = try RunningWorker(installation, ownerWait: .fixed(1_500))
        var life = SubscriberLife(app: Installation.app, seed: 502, withToken: false)
        try installation.postAll([life.start(at: SystemClock().now() - 60_000)])
        try installation.untilApplied(1)
        #expect(try told(installation) == [])
        first.stop()
        let next = try RunningWorker(installation, ownerWait: .fixed(1_500))
        defer { next.stop() }
        let owner = try #require(try installation.database.texts("SELECT owner FROM entitled.purchase").first)
        #expect(Owner.isAnonymous(owner))
        try untilTold(installation, [Told(type: "INITIAL_PURCHASE", appUserID: owner)])
        try installation.postAll([life.autoRenewOff(at: SystemClock().now())])
        try installation.untilApplied(2)
        try untilTold(
            installation,
            [Told(type: "CANCELLATION", appUserID: owner), Told(type: "INITIAL_PURCHASE", appUserID: owner)])
    }

    @Test func `an end that comes within the wait is told after its beginning`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation, ownerWait: .fixed(2_000))
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 503, withToken: false)
        let now = SystemClock().now()
        try installation.postAll([life.start(at: now - StoreProduct.day), life.refund(at: now - 1000)])
        try installation.untilApplied(2)
        let owner = try #require(try installation.database.texts("SELECT owner FROM entitled.purchase").first)
        try untilTold(
            installation,
            ["CANCELLATION", "EXPIRATION", "INITIAL_PURCHASE"].map { Told(type: $0, appUserID: owner) })
    }

    @Test(arguments: [true, false])
    func `auto waits where posts of the app come in`(posts: Bool) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation, ownerWait: .automatic)
        defer { worker.stop() }
        if posts {
            let bench = try PostingFixture(installation)
            var other = SubscriberLife(app: Installation.app, seed: 504)
            let jws = try PostingFixture.jws(other.start(at: SystemClock().now() - 60_000))
            #expect(bench.post(jws, by: "eve").status == 200)
        }
        let before = try told(installation).count
        var life = SubscriberLife(app: Installation.app, seed: 505, withToken: false)
        try installation.postAll([life.start(at: SystemClock().now() - 60_000)])
        try eventually("the purchase is a record") {
            try installation.database.count(
                "SELECT count(*) FROM entitled.purchase WHERE original_transaction_id = $1",
                [.text(life.latest.originalID)]
            ) == 1
        }
        #expect(try told(installation).count == (posts ? before : before + 1))
    }

    @Test func `what is signed with a token waits for nobody`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation, ownerWait: Self.long)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 506)
        try installation.postAll([life.start(at: SystemClock().now() - 60_000)])
        try untilTold(installation, [Told(type: "INITIAL_PURCHASE", appUserID: life.account.token ?? "")])
    }
}
