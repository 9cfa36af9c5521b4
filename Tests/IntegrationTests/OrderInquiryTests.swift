import AppStoreAPI
import Base
import Daemon
import Database
import Duties
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Operators ask Apple which purchases an order number stands for.
@Suite struct OrderInquiryTests {
    private static let day = StoreProduct.day
    private static let now = SystemClock().now()
    private static let none = JSON.object([JSON.Member]())

    /// As the simulated store writes it.
    private static func order(of transaction: String) throws -> String {
        "M" + String(try #require(UInt64(transaction)), radix: 36, uppercase: true)
    }

    private static func bought(_ number: UInt64) -> (id: String, notification: StoreNotification) {
        var life = SubscriberLife(app: Installation.app, seed: 147, number: number)
        let notification = life.start(lasts: 30 * day, at: now - 2 * day)
        return (life.transaction(.latest).originalID, notification)
    }

    @Test func `a purchase of which nothing was heard is found, stored and folded`() throws {
        let one = Self.bought(1)
        let fixture = try InquiryFixture(told: [], apple: [one.notification])
        let job = try fixture.ask(.orderLookup, try Self.order(of: one.id), Self.none)
        try fixture.runAll()
        #expect(try fixture.sentence(job) == "The order is of 1 purchase. 1 signed transaction was new.")
        let outcome = try JSON(parsing: Array(try #require(try fixture.change(job).outcome).utf8))
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: one.id)
        #expect(outcome["purchases"] == .array([key.named]))
        try eventually("it is applied") {
            try fixture.installation.database.count("SELECT count(*) FROM entitled.purchase") == 1
        }
        try fixture.installation.expectNoDifferences()
        let again = try fixture.ask(.orderLookup, try Self.order(of: one.id), Self.none)
        try fixture.runAll()
        #expect(try fixture.sentence(again) == "The order is of 1 purchase. Nothing that it signed was new.")
        #expect(try fixture.notifications == 1)
    }

    @Test func `an order that Apple does not know changes nothing`() throws {
        let fixture = try InquiryFixture(told: [], apple: [])
        let job = try fixture.ask(.orderLookup, "MK5TTTVWJH", Self.none)
        try fixture.runAll()
        #expect(
            try fixture.sentence(job)
                == "Apple knows no such order of demo, or calls it invalid; nothing was changed.")
        #expect(try fixture.change(job).state == .done)
        #expect(try fixture.notifications == 0)
    }

    @Test(arguments: [StoreFault(.error), StoreFault(.unauthorized)])
    func `what one app is not answered keeps no answer of another one back`(fault: StoreFault) throws {
        let one = Self.bought(2)
        let fixture = try InquiryFixture(told: [], apple: [one.notification])
        // By its name the first to be asked about.
        let unwell = try PlayedHistory(fixture.installation, [], faults: [fault])
        let job = try fixture.ask(.orderLookup, try Self.order(of: one.id), Self.none)
        let unknown = try fixture.ask(.orderLookup, "MK5TTTVWJH", Self.none)
        let duty = fixture.duty(others: ["another": unwell])
        for _ in 0..<3 {
            try fixture.run(duty)
            try fixture.hurry()
        }
        try eventually("it is applied") {
            try fixture.installation.database.count("SELECT count(*) FROM entitled.purchase") == 1
        }
        try fixture.runAll(duty)
        let sentence = try fixture.sentence(job)
        #expect(
            sentence.hasPrefix("The order is of 1 purchase. 1 signed transaction was new. another: Apple"),
            "\(sentence)")
        #expect(try fixture.change(job).state == .done)
        let other = try fixture.sentence(unknown)
        #expect(other.hasPrefix("The order was not found. another: Apple"), "\(other)")
        #expect(try fixture.change(unknown).state == .failed)
    }

    @Test(arguments: DeletionPolicy.allCases)
    func `an order that is answered while its customer is deleted is forgotten, though it was never answered before`(
        policy: DeletionPolicy
    ) throws {
        let one = Self.bought(4)
        let fixture = try InquiryFixture(
            told: [one.notification], faults: [StoreFault(.slow, path: "/lookup/", seconds: 5)])
        let order = try Self.order(of: one.id)
        let job = try fixture.ask(.orderLookup, order, Self.none)
        let owner = try #require(
            try fixture.installation.database.texts("SELECT owner FROM entitled.purchase").first)
        let failures = Monitor<[String]>([])
        let deleting = ServiceThread("deleting") {
            do {
                try eventually("it is asked for") { !fixture.apple.calls(of: "/lookup/").isEmpty }
                try fixture.delete(owner, policy)
            } catch { failures.change { $0.append("\(error)") } }
        }
        try fixture.run()
        deleting.join()
        #expect(failures.read { $0 } == [])
        #expect(try fixture.sentence(job).hasPrefix("A customer was deleted since it was asked for"))
        let rows = try fixture.installation.database.texts(
            """
            SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a
            """)
        #expect(rows.count == 2 && rows.allSatisfy { !$0.contains(order) && !$0.contains(one.id) }, "\(rows)")
    }

    @Test func `one app alone is asked about where it is named`() throws {
        let one = Self.bought(3)
        let fixture = try InquiryFixture(told: [], apple: [one.notification])
        let unwell = try PlayedHistory(fixture.installation, [], faults: [StoreFault(.error)])
        let job = try fixture.ask(
            .orderLookup, try Self.order(of: one.id), .object(["app": .string("demo")]))
        try fixture.runAll(fixture.duty(others: ["another": unwell]))
        #expect(try fixture.sentence(job) == "The order is of 1 purchase. 1 signed transaction was new.")
        #expect(unwell.calls == [])
    }

    @Test func `a number is read as customers write it, and what is none is none`() {
        #expect(OrderID(" mk5tttvwjh ")?.text == "MK5TTTVWJH")
        for text in [
            "", "M", "M1", "K5TTTVWJHM", "MK5-TTTVWJH", "MK5TTT VWJH", "MÄ5TTTVWJH", "Mß1234", "Mﬀ12345", "Mı123456",
            "ﬃM12345",
            "M" + String(repeating: "1", count: 32),
        ] {
            #expect(OrderID(text) == nil, "\(text)")
        }
        #expect(OrderID(likely: "margaret") == nil && OrderID(likely: "margaret1") != nil)
        #expect(OrderID(likely: "MKTTTVWJH") != nil)
    }
}
