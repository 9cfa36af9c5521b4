import Base
import Subscriptions
import Testing

/// What should have an end and has none gives no access: facts that were stored before such notifications were held.
struct MissingEndTests {
    private static func facts(_ kind: String, expires: Int64? = nil) -> PurchaseFacts {
        var facts = PurchaseFacts()
        facts.insert(
            TransactionFact(
                transactionID: "1", originalTransactionID: "1", productID: "pro_monthly", purchaseDate: epoch,
                originalPurchaseDate: epoch, expiresDate: expires, signedDate: epoch, kind: kind, tie: []))
        return facts
    }

    private static let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")

    @Test(arguments: ["Auto-Renewable Subscription", "", "Something New"])
    func `without an end it gives nothing`(kind: String) throws {
        let purchase = try #require(Purchase(folding: Self.facts(kind), key: Self.key))
        #expect(purchase.accessUntil == epoch)
        #expect(purchase.status(at: epoch) == .expired && !purchase.hasAccess(at: epoch))
        let customer = CustomerProfile(originalAppUserID: "a", appUserIDs: ["a"], firstSeen: epoch, lastSeen: epoch)
        let document = SubscriberDocument(catalogue: EventBodyTests.catalogue)
        let shown = document.json(customer: customer, purchases: [purchase], now: epoch + day)["subscriber"]
        #expect(shown?["entitlements"]?["pro"]?["expires_date"] == .date(epoch))
        #expect(shown?["non_subscriptions"] == .object([]))
        let explained = CustomerExplanation(customer, [purchase], catalogue: EventBodyTests.catalogue, now: epoch + day)
        #expect(explained.entitlements.first { $0.name == "pro" }?.isActive == false)
        #expect(explained.oneTimePurchases.isEmpty && explained.purchases.count == 1)
    }

    @Test func `with an end it gives what it gave, and what is bought once never ends`() throws {
        for kind in ["Auto-Renewable Subscription", "Something New"] {
            let purchase = try #require(Purchase(folding: Self.facts(kind, expires: epoch + day), key: Self.key))
            #expect(purchase.accessUntil == epoch + day)
        }
        for kind in ["Consumable", "Non-Consumable", "Non-Renewing Subscription"] {
            #expect(try #require(Purchase(folding: Self.facts(kind), key: Self.key)).accessUntil == nil)
        }
    }

    @Test func `the name of a type of RevenueCat's that is never sent is refused with the reason`() {
        #expect(EventType.objection(to: "RENEWAL") == nil)
        #expect(
            EventType.objection(to: "initial_purchase") == "types of events are in capitals: write INITIAL_PURCHASE")
        #expect(
            EventType.objection(to: "SUBSCRIPTION_PAUSED")
                == "entitled never sends SUBSCRIPTION_PAUSED. Subscriptions can be paused in Google Play only.")
        #expect(
            EventType.objection(to: "invoice_issuance")?.hasPrefix("entitled never sends INVOICE_ISSUANCE.") == true)
        #expect(EventType.objection(to: "NOTHING")?.hasPrefix("there is no such event; known are TEST, ") == true)
        #expect(AbsentEvent.all.allSatisfy { EventType(rawValue: $0.type) == nil && $0.reason.hasSuffix(".") })
        #expect(AbsentEvent.all.allSatisfy { EventTypeTable.document.contains("| `\($0.type)` | \($0.reason) |") })
    }
}
