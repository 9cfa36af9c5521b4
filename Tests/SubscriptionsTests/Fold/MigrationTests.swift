import Base
import Subscriptions
import Testing

/// Subscriptions that Apple continues under another original transaction id.
struct MigrationTests {
    private static let catalogue = EventBodyTests.catalogue
    private static let customer = CustomerProfile(
        originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch)
    private static let moved = epoch + 5 * day

    /// The former subscription, and the one that it goes on as.
    private static func lives(product: String = "pro_generic") -> (old: Life, new: Life) {
        var old = Life()
        _ = old.start()
        old.product = product
        var new = old.migrated(to: "2000", at: moved)
        _ = new.notify("MIGRATION", at: moved)
        _ = new.renew(at: new.expires)
        return (old, new)
    }

    @Test func `the new purchase begins with a renewal, in every order`() {
        let (_, new) = Self.lives()
        for order in [new.tellings, new.tellings.reversed()] {
            var story = Story(new.key)
            let drafts = order.flatMap { story.hear($0, now: Self.moved + day) }
            #expect(drafts.names == ["RENEWAL", "RENEWAL"])
            #expect(drafts.allSatisfy { $0.period.number >= 2 && !$0.isTrialConversion })
            #expect(story.purchase?.continuation == Purchase.Continuation(of: "1000", since: Self.moved))
        }
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `beside the new purchase the former one is over`(order: [Int]) throws {
        let (old, new) = Self.lives()
        let all = try [old, new].map { try #require($0.purchase()) }
        let purchases = order.map { all[$0] }
        let now = Self.moved + day
        let rows = PurchaseSummary(catalogue: Self.catalogue).json(purchases, of: Self.customer, now: now)
        let former = try #require(rows.arrayValue?.first { $0["original_transaction_id"] == .string("1000") })
        #expect(former["status"] == .string("expired") && former["will_renew"] == .bool(false))
        #expect(former["will_not_renew_because"] == .string("migrated"))
        #expect(former["continued_by"] == .string("2000"))
        let current = try #require(rows.arrayValue?.first { $0["original_transaction_id"] == .string("2000") })
        #expect(current["status"] == .string("active") && current["will_renew"] == .bool(true))
        #expect(current["continues"] == .string("1000") && current["continued_by"] == .null)
        let document = SubscriberDocument(catalogue: Self.catalogue)
        let shown = document.json(customer: Self.customer, purchases: purchases, now: now)["subscriber"]
        #expect(shown?["subscriptions"]?["pro_monthly"]?["expires_date"] == .date(Self.moved))
        #expect(shown?["subscriptions"]?["pro_generic"]?["expires_date"] == .date(new.expires))
        let explained = CustomerExplanation(Self.customer, purchases, catalogue: Self.catalogue, now: now)
        #expect(
            explained.purchases.first?.lines.first?.text
                == "goes on since \(DisplayText.time(Self.moved)) as pro_generic, original transaction 2000")
        #expect(explained.purchases.first?.lines.contains { $0.label == "renews" } == false)
        let pro = explained.entitlements.first { $0.name == "pro" }
        #expect(pro?.word == "migrated")
    }

    @Test func `of the same product the new purchase gives access, and the former one is nowhere`() throws {
        let (old, new) = Self.lives(product: "pro_monthly")
        let document = SubscriberDocument(catalogue: Self.catalogue)
        let shown = document.json(
            customer: Self.customer, purchases: try [old, new].map { try #require($0.purchase()) },
            now: Self.moved + day
        )["subscriber"]
        #expect(shown?["subscriptions"]?["pro_monthly"]?["store_transaction_id"] == .string("2000-2"))
        #expect(shown?["entitlements"]?["pro"]?["expires_date"] == .date(new.expires))
    }

    /// From the subscription into a bundle, and back to the id that it had.
    @Test func `who goes back to the former id has that one, and not the one in between`() throws {
        var (old, new) = Self.lives()
        let back = Self.moved + 10 * day
        old.product = "pro_monthly"
        old.addPeriod(from: back, to: back + 30 * day)
        old.transactions[1].previousOriginalTransactionID = "2000"
        _ = old.notify("SUBSCRIBED", "RESUBSCRIBE", at: back)
        new.tellings.removeLast()
        let purchases = try [old, new].map { try #require($0.purchase()) }
        #expect(purchases[0].latest.number == 2 && purchases[0].periods.first?.isFirst == true)
        let rows = PurchaseSummary(catalogue: Self.catalogue).json(purchases, of: Self.customer, now: back + day)
        #expect(rows.arrayValue?.map { $0["continued_by"] } == [.null, .string("1000")])
        #expect(rows.arrayValue?.map { $0["status"] } == [.string("active"), .string("expired")])
        let document = SubscriberDocument(catalogue: Self.catalogue)
        let shown = document.json(customer: Self.customer, purchases: purchases, now: back + day)["subscriber"]
        #expect(shown?["entitlements"]?["pro"]?["expires_date"] == .date(back + 30 * day))
        #expect(shown?["subscriptions"]?["pro_generic"]?["expires_date"] == .date(back))
    }

    @Test func `the same id of another app or environment continues nothing`() throws {
        let (old, new) = Self.lives()
        let real = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1000")
        let former = try #require(Purchase(folding: old.facts, key: real))
        let row = PurchaseSummary(catalogue: Self.catalogue)
            .json([former, try #require(new.purchase())], of: Self.customer, now: Self.moved + day).arrayValue?.first
        #expect(row?["status"] == .string("active") && row?["continued_by"] == .null)
    }
}
