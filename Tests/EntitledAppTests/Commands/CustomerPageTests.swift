import Base
import CLI
import EntitledApp
import Subscriptions
import TestSupport
import Testing

/// The page about a customer, as it stands on a terminal.
struct CustomerPageTests {
    private static let day: Int64 = 86_400_000
    private static let start: Int64 = 1_790_000_000_000
    private let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "1000")

    private func transaction(_ product: String = "pro_monthly") -> TransactionFact {
        TransactionFact(
            transactionID: "1000", originalTransactionID: "1000", productID: product, purchaseDate: Self.start,
            originalPurchaseDate: Self.start, expiresDate: Self.start + 30 * Self.day, signedDate: Self.start,
            kind: "Auto-Renewable Subscription", price: 9990, currency: "USD", tie: [])
    }

    private func purchase(_ product: String = "pro_monthly") throws -> Purchase {
        var facts = PurchaseFacts()
        facts.insert(transaction(product))
        return try #require(Purchase(folding: facts, key: key))
    }

    private func customer(_ purchases: [Purchase], ids: [String] = ["$RCAnonymousID:1", "bob"]) -> CustomerExplanation {
        let profile = CustomerProfile(
            originalAppUserID: ids.first ?? "", appUserIDs: ids, firstSeen: Self.start, lastSeen: Self.start)
        return CustomerExplanation(
            profile, purchases, catalogue: EntitlementCatalogue(["pro": ["pro_monthly"]]), now: Self.start + Self.day)
    }

    private func delivery(_ state: String, attempts: Int, status: Int? = nil, reason: String? = nil) -> DeliveryTrace {
        DeliveryTrace(
            endpoint: "we_\(state)", state: state, attempts: attempts, lastStatus: status, reason: reason,
            delivered: state == "delivered" ? Self.start + 90_000 : nil, next: state == "pending" ? Self.start : nil)
    }

    private func entry(_ number: Int64, _ deliveries: [DeliveryTrace]?) -> TimelineEntry {
        TimelineEntry(
            .notification(NotificationFact(uuid: "u", type: "DID_RENEW", signedDate: Self.start)),
            at: Self.start + number * Self.day, signed: Self.start, purchase: key, productID: "pro_monthly",
            changes: [.autoRenewOff],
            events: [
                TimelineEntry.Event(
                    id: "1", type: "CANCELLATION", reason: "UNSUBSCRIBE",
                    trace: deliveries.map { EventTrace(made: Self.start, reason: nil, deliveries: $0) })
            ])
    }

    @Test func `attributes are shown, and nothing of them where there are none`() throws {
        let email = JSON.object(["value": .string("bob@example.com"), "updated_at_ms": .int(1)])
        let bob = { (attributes: JSON) in
            CustomerExplanation(
                CustomerProfile(
                    originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: Self.start, lastSeen: Self.start,
                    attributes: attributes), [], catalogue: EntitlementCatalogue([:]), now: Self.start)
        }
        let page = CustomerPage(bob(.object(["$email": email])), Timeline([]), limit: nil).text
        #expect(page.contains("\nATTRIBUTES\n  $email  bob@example.com\n"))
        #expect(!CustomerPage(bob(.object([])), Timeline([]), limit: nil).text.contains("ATTRIBUTES"))
    }

    @Test func `a page byte for byte`() throws {
        let deliveries = [
            delivery("delivered", attempts: 2, status: 200),
            delivery("dead", attempts: 6, status: 500, reason: "status"),
            delivery("pending", attempts: 1, status: 503), delivery("held", attempts: 0, reason: "endpoint disabled"),
        ]
        let timeline = Timeline([
            entry(0, []), entry(1, deliveries), entry(2, nil),
            TimelineEntry(.action("given to bob"), at: Self.start + 3 * Self.day),
        ])
        #expect(timeline.since(Self.start + 3 * Self.day).entries == timeline.entries.suffix(1))
        let page = CustomerPage(customer([try purchase()]), timeline, limit: nil)
        #expect(
            page.text == """
                $RCAnonymousID:1
                first seen 2026-09-21 14:13:20, last change 2026-09-21 14:13:20; all times in UTC

                IDS
                  $RCAnonymousID:1  original
                  bob               alias

                ENTITLEMENTS
                  pro  active until 2026-10-21 14:13:20: pro_monthly, paid; renews then [sandbox]

                SUBSCRIPTIONS
                  pro_monthly
                    status                active until 2026-10-21 14:13:20
                    renews                2026-10-21 14:13:20
                    period                number 1, 2026-09-21 14:13:20 to 2026-10-21 14:13:20
                    price                 9.99 USD
                    original transaction  1000
                    app                   demo, Sandbox: NO REAL MONEY

                WHAT HAPPENED, in the order of signing
                  2026-09-21 14:13:20  DID_RENEW
                      auto-renew off
                      → CANCELLATION (UNSUBSCRIBE): no endpoint selects it
                  2026-09-21 14:13:20  DID_RENEW (came 2026-09-22 14:13:20)
                      auto-renew off
                      → CANCELLATION (UNSUBSCRIBE):
                          delivered to we_delivered 2026-09-21 14:14:50 after 2 attempts
                          GIVEN UP for we_dead after 6 attempts, last answer 500: status
                          pending for we_pending, 1 attempt so far, last answer 503, next try 2026-09-21 14:13:20
                          held for we_held: endpoint disabled
                  2026-09-21 14:13:20  DID_RENEW (came 2026-09-23 14:13:20)
                      auto-renew off
                      → CANCELLATION (UNSUBSCRIBE): not on record
                  2026-09-24 14:13:20  given to bob

                """)
    }

    @Test(arguments: [40, 80])
    func `on a screen no line is too long, and times are told as distances too`(columns: Int) throws {
        let now = Self.start + 3 * Self.day
        let screen = Screen(
            columns: columns, zone: LocalZone { _ in (7200, "CEST") }, clock: ManualClock(now))
        let timeline = Timeline([entry(0, [delivery("dead", attempts: 6, status: 500, reason: "status")])])
        let page = CustomerPage(customer([try purchase()]), timeline, limit: nil, on: screen).text
        #expect((page.split(separator: "\n").map(\.count).max() ?? 0) <= columns, "\(page)")
        let words = page.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
        #expect(words.contains("first seen 2026-09-21 14:13:20 (16:13:20 CEST, 3 days ago)"))
        #expect(words.contains("2026-09-21 14:13:20, 3 days ago DID_RENEW"))
        #expect(words.contains("GIVEN UP for we_dead after 6 attempts, last answer 500: status"))
    }

    @Test func `in the order of arrival the heading says so, and the date of arrival comes first`() {
        let timeline = Timeline([entry(1, []), entry(0, [])], order: .heard)
        let text = CustomerPage(customer([]), timeline, limit: nil).text
        #expect(
            text.contains(
                """
                WHAT HAPPENED, in the order of arrival
                  2026-09-21 14:13:20  DID_RENEW
                      auto-renew off
                      → CANCELLATION (UNSUBSCRIBE): no endpoint selects it
                  2026-09-22 14:13:20  DID_RENEW (signed 2026-09-21 14:13:20)

                """))
    }

    @Test func `of an event of long ago it is said that it was there`() {
        let trace = EventTrace(made: Self.start, reason: nil, deliveries: [], isKept: false)
        let event = TimelineEntry.Event(id: "1", type: "RENEWAL", reason: nil, trace: trace)
        let timeline = Timeline([TimelineEntry(.action("given to bob"), at: Self.start, events: [event])])
        #expect(CustomerPage(customer([]), timeline, limit: nil).text.contains("→ RENEWAL: no longer on record\n"))
    }

    @Test func `of a long history the newest is shown and the rest counted`() {
        let timeline = Timeline((0..<60).map { entry($0, []) })
        let short = CustomerPage(customer([]), timeline, limit: 50).text
        #expect(short.contains("10 earlier steps are not shown here: --all shows everything\n"))
        #expect(short.split(separator: "\n").filter { $0.contains("DID_RENEW") }.count == 50)
        #expect(short.contains("the steps before these: --skip 50\n"))
        let before = CustomerPage(customer([]), timeline, limit: 50, skipping: 50).text
        #expect(before.split(separator: "\n").filter { $0.contains("DID_RENEW") }.count == 10)
        #expect(!before.contains("--all") && !before.contains("--skip"))
        let whole = CustomerPage(customer([]), timeline, limit: nil).text
        #expect(!whole.contains("--all"))
        #expect(whole.split(separator: "\n").filter { $0.contains("DID_RENEW") }.count == 60)
    }

    @Test func `what came from outside steers no terminal`() throws {
        let evil = "a\u{1B}[2Jb\nc\u{202E}"
        var hostile = entry(0, [DeliveryTrace(endpoint: evil, state: "dead", attempts: 1, reason: evil)])
        let page = { (timeline: Timeline) in
            CustomerPage(self.customer([try self.purchase(evil)], ids: [evil, "\(evil)2"]), timeline, limit: nil).text
        }
        let notification = NotificationFact(uuid: "u", type: evil, subtype: evil, signedDate: 0)
        hostile = TimelineEntry(
            .notification(notification), at: 0, purchase: key, productID: evil,
            changes: [.owner(evil), .nextProduct(evil)], events: hostile.events)
        let other = TimelineEntry(
            .action(evil), at: 1,
            purchase: PurchaseKey(app: evil, environment: .production, originalTransactionID: evil), productID: evil)
        let text = try page(Timeline([hostile, other]))
        #expect(text.contains("b c"))
        #expect(!text.unicodeScalars.contains("\u{1B}"))
        #expect(!text.unicodeScalars.contains("\u{202E}"))
        #expect(!text.split(separator: "\n").contains { $0.hasPrefix("c") })
    }

    @Test func `where there are several purchases each step names its own`() {
        let other = TimelineEntry(
            .time, at: Self.start,
            purchase: PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "2000"),
            productID: "pro_yearly")
        let text = CustomerPage(customer([]), Timeline([entry(0, []), other]), limit: nil).text
        #expect(text.contains("DID_RENEW  [pro_monthly, 1000]\n"))
        #expect(text.contains("time passed  [pro_yearly, 2000]\n"))
    }

    @Test func `what was spent is a section, each environment and currency for itself`() throws {
        func bought(_ id: String, _ environment: StoreEnvironment, _ price: Int64?, isBack: Bool = false) throws
            -> Purchase
        {
            var fact = transaction()
            (fact.transactionID, fact.originalTransactionID, fact.price) = (id, id, price)
            if isBack { (fact.revocationDate, fact.revocationPercentage) = (Self.start + Self.day, 50_000) }
            var facts = PurchaseFacts()
            facts.insert(fact)
            let key = PurchaseKey(app: "demo", environment: environment, originalTransactionID: id)
            return try #require(Purchase(folding: facts, key: key))
        }
        let purchases = [
            try bought("1", .production, 9990), try bought("2", .production, 5000, isBack: true),
            try bought("3", .production, nil), try bought("4", .sandbox, 7000),
        ]
        let page = CustomerPage(customer(purchases), Timeline([]), spending: Spending(purchases), limit: nil)
        #expect(
            page.text.contains(
                """
                MONEY
                  12.49 USD                  14.99 USD in 2 payments, 2.50 USD of them went back  Production
                  1 payment without a price                                                       Production
                  7.00 USD                   7.00 USD in 1 payment                                Sandbox

                """))
        #expect(!CustomerPage(customer([]), Timeline([]), limit: nil).text.contains("MONEY"))
    }
}
