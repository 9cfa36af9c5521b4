import Base
import Subscriptions
import Testing

/// Products that do not renew, and run for as long as the configuration says.
struct DurationTests {
    private static let settings = FoldSettings(
        durations: ["season_pass": .months(3), "day_pass": .time(24 * hour)])
    private static let catalogue = EntitlementCatalogue(["pro": ["season_pass", "day_pass", "pro_monthly"]])
    private static let customer = CustomerProfile(
        originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch)
    /// Three months after 2026-09-21T14:13:20Z.
    private static let end = epoch + 91 * day

    private static func bought(_ product: String = "season_pass", kind: String = "Non-Renewing Subscription") -> Life {
        var life = Life()
        _ = life.buyOnce(product, kind: kind, price: 29_990, at: epoch)
        return life
    }

    private static func purchase(_ life: Life, _ settings: FoldSettings = settings) throws -> Purchase {
        try #require(Purchase(folding: life.facts, key: life.key, foldSettings: settings))
    }

    @Test(arguments: [
        ("90d", ProductDuration.time(90 * day)), ("12h", .time(12 * hour)), ("P30D", .time(30 * day)),
        ("P2W", .time(14 * day)), ("P3M", .months(3)), ("P1Y", .months(12)), ("P100Y", .months(1200)),
    ])
    func `a duration is spelled as configurations do, or as ISO 8601`(text: String, duration: ProductDuration) {
        #expect(ProductDuration(text: text) == duration)
        #expect(ProductDuration(text: duration.text) == duration)
    }

    @Test(arguments: [
        "", "0d", "P0M", "-1d", "P-1M", "P3", "3M", "P1M2D", "PT12H", "P", "M", "P1X", "p3m", "P101Y", "P1201M",
        "36526d",
        "P99999999999999999999D", "forever",
    ])
    func `anything else is no duration`(text: String) {
        #expect(ProductDuration(text: text) == nil)
    }

    @Test func `access ends after its duration, and the end is told`() throws {
        var life = Life()
        var story = Story(life.key, foldSettings: Self.settings)
        let bought = try #require(
            story.hear(life.buyOnce("season_pass", kind: "Non-Renewing Subscription", at: epoch)).first)
        #expect(bought.name == "NON_RENEWING_PURCHASE" && bought.expiration == Self.end)
        #expect(story.wait(until: Self.end - 1).names == [])
        let ended = story.wait(until: Self.end)
        #expect(ended.names == ["EXPIRATION(UNSUBSCRIBE)"] && ended.first?.expiration == Self.end)
        let purchase = try #require(story.purchase)
        #expect(purchase.hasAccess(at: Self.end - 1) && !purchase.hasAccess(at: Self.end))
        #expect(purchase.status(at: Self.end) == .expired && !purchase.willRenew)
        #expect(purchase.nextWake(after: epoch, confirmation: ExpiryConfirmation()) == Self.end)
        #expect(try Self.purchase(life, FoldSettings()).accessUntil == nil)
    }

    @Test func `documents, rows and explanations agree on the end`() throws {
        let life = Self.bought()
        let purchase = try Self.purchase(life)
        let document = SubscriberDocument(catalogue: Self.catalogue)
        for (now, isActive) in [(epoch + day, true), (Self.end, false)] {
            let shown = document.json(customer: Self.customer, purchases: [purchase], now: now)["subscriber"]
            #expect(shown?["entitlements"]?["pro"]?["expires_date"] == .date(Self.end))
            #expect(shown?["non_subscriptions"]?["season_pass"]?.arrayValue?.count == 1)
            let entry = shown?["subscriptions"]?["season_pass"]
            #expect(entry?["expires_date"] == .date(Self.end))
            // Clients of RevenueCat's take for renewing what nobody cancelled.
            #expect(entry?["unsubscribe_detected_at"] == .date(epoch))
            #expect(entry?["management_url"] == .null && shown?["management_url"] == .null)
            let row = PurchaseSummary(catalogue: Self.catalogue).row(purchase, ofCustomer: ["bob"], now: now)
            #expect(row["expires_at"] == .date(Self.end) && row["will_renew"] == .bool(false))
            let pro = CustomerExplanation(Self.customer, [purchase], catalogue: Self.catalogue, now: now).entitlements[
                0]
            #expect(pro.isActive == isActive && pro.until == Self.end)
            #expect(pro.word == (isActive ? "once" : "ran_out"))
        }
    }

    @Test func `a refund ends it, and what is bought again runs from its own purchase on`() throws {
        var life = Life()
        var story = Story(life.key, foldSettings: Self.settings)
        _ = story.hear(life.buyOnce("season_pass", kind: "Non-Renewing Subscription", at: epoch))
        #expect(
            story.hear(life.refund(at: epoch + day)).names
                == ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"])
        var again = Life("2")
        _ = again.buyOnce("season_pass", kind: "Non-Renewing Subscription", at: epoch + 30 * day)
        let document = SubscriberDocument(catalogue: Self.catalogue)
        let purchases = try [Self.bought(), again].map { try Self.purchase($0) }
        let shown = document.json(customer: Self.customer, purchases: purchases, now: epoch + 40 * day)["subscriber"]
        #expect(shown?["entitlements"]?["pro"]?["expires_date"] == .date(epoch + 122 * day))
        #expect(shown?["non_subscriptions"]?["season_pass"]?.arrayValue?.count == 2)
    }

    @Test func `two of it last twice as long, and no number traps`() throws {
        var life = Self.bought("day_pass", kind: "Consumable")
        #expect(try Self.purchase(life).accessUntil == epoch + day)
        life.transactions[0].quantity = 2
        _ = life.notify("ONE_TIME_CHARGE", at: epoch + hour, hasRenewal: false)
        #expect(try Self.purchase(life).accessUntil == epoch + 2 * day)
        for (product, start, quantity) in [
            ("day_pass", Int64.max, Int.max), ("season_pass", .max, .max), ("season_pass", .min, .min),
            ("day_pass", .min, 0),
        ] {
            var facts = PurchaseFacts()
            facts.insert(
                TransactionFact(
                    transactionID: "1", originalTransactionID: "1", productID: product, purchaseDate: start,
                    originalPurchaseDate: start, signedDate: epoch, kind: "Non-Renewing Subscription",
                    quantity: quantity,
                    tie: []))
            #expect(Purchase(folding: facts, key: life.key, foldSettings: Self.settings)?.accessUntil != nil)
        }
    }

    @Test func `what renews, what Apple gave an end and what is not configured are left alone`() throws {
        var renewing = Life(product: "season_pass")
        _ = renewing.start()
        #expect(try Self.purchase(renewing).accessUntil == renewing.expires)
        var signed = Self.bought()
        signed.transactions[0].expiresDate = epoch + 5 * day
        _ = signed.notify("ONE_TIME_CHARGE", at: epoch + hour, hasRenewal: false)
        #expect(try Self.purchase(signed).accessUntil == epoch + 5 * day)
        #expect(try Self.purchase(Self.bought("lifetime", kind: "Non-Consumable")).accessUntil == nil)
        #expect(try Self.purchase(Self.bought("season_pass", kind: "Promotional")).accessUntil != nil)
    }
}
