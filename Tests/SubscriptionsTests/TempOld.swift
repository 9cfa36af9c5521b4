@testable import Subscriptions
import Testing
import Base

/// One product of one purchase: what a subscriber's document has an entry for.
struct OldHolding {
    let purchase: Purchase
    /// The latest period of this product.
    let period: Period
    /// The end of access by this product, grace included, in ms; nil: never.
    let expires: Int64?

    var transaction: TransactionFact { period.transaction }
    var productID: String { transaction.productID }
    var isSubscription: Bool { transaction.expiresDate != nil || transaction.isRenewable }
    /// The product that the purchase has come to; only it can be in trouble or switched off.
    var isCurrent: Bool { period.id == purchase.latest.id }
    var grace: Int64? { isCurrent ? purchase.graceUntil : nil }
    var refunded: Int64? { period.revocation?.kind == .refund ? period.revocation?.date : nil }

    func isActive(at now: Int64) -> Bool { expires.map { now < $0 } ?? true }

    /// One for each product that the purchase ever was.
    static func holdings(of purchase: Purchase) -> [OldHolding] {
        Dictionary(grouping: purchase.periods, by: \.productID).values.compactMap { periods in
            let isLatestHere = periods.contains { $0.id == purchase.latest.id }
            guard let period = isLatestHere ? purchase.latest : periods.last else { return nil }
            var end = period.accessUntil
            for other in periods {
                guard let known = end, let until = other.accessUntil else {
                    end = nil
                    break
                }
                end = max(known, until)
            }
            if isLatestHere, let paid = end, let grace = purchase.graceUntil { end = max(paid, grace) }
            return OldHolding(purchase: purchase, period: period, expires: end)
        }
    }

    /// Which of two holdings of one product speaks for it: production, then the later end, then the later purchase.
    func outranks(_ other: OldHolding) -> Bool {
        if purchase.key.environment != other.purchase.key.environment {
            return purchase.key.environment == .production
        }
        return lasts(longerThan: other)
    }

    func lasts(longerThan other: OldHolding) -> Bool {
        (expires ?? .max, transaction.purchaseDate, purchase.key.originalTransactionID, productID)
            > (
                other.expires ?? .max, other.transaction.purchaseDate, other.purchase.key.originalTransactionID,
                other.productID
            )
    }
}

extension OldHolding {
    /// By product, the one that speaks for it.
    static func best(_ holdings: [OldHolding]) -> [String: OldHolding] {
        Dictionary(holdings.map { ($0.productID, $0) }) { $1.outranks($0) ? $1 : $0 }
    }

    /// By entitlement, the one that gives it longest, or gave it last.
    static func byEntitlement(_ granting: [OldHolding], _ catalogue: EntitlementCatalogue) -> [String: OldHolding] {
        var held: [String: OldHolding] = [:]
        for holding in best(granting).values {
            for name in catalogue.entitlements(of: holding.productID) {
                if let other = held[name], !holding.lasts(longerThan: other) { continue }
                held[name] = holding
            }
        }
        return held
    }
}


/// The document about one customer that RevenueCat's REST v1 gives: keys sorted at every level, dates to the second.
struct OldDocument: Sendable {
    package let catalogue: EntitlementCatalogue
    package let sandboxRule: SandboxRule
    /// Makes the ids of one-time purchases.
    private let digest: @Sendable (String) -> [UInt8]

    static let managementURL = "https://apps.apple.com/account/subscriptions"

    package init(
        catalogue: EntitlementCatalogue, sandboxRule: SandboxRule = .all,
        digest: @escaping @Sendable (String) -> [UInt8]
    ) {
        self.catalogue = catalogue
        self.sandboxRule = sandboxRule
        self.digest = digest
    }

    /// `{"request_date", "request_date_ms", "subscriber"}`.
    package func json(customer: CustomerProfile, purchases: [Purchase], now: Int64) -> JSON {
        JSON.object([
            "request_date": .date(now), "request_date_ms": .int(now),
            "subscriber": subscriber(customer, purchases, now),
        ]).sortedByName
    }

    private func subscriber(_ customer: CustomerProfile, _ purchases: [Purchase], _ now: Int64) -> JSON {
        let holdings = purchases.flatMap(OldHolding.holdings)
        let subscriptions = OldHolding.best(holdings.filter(\.isSubscription))
        let isManaged = subscriptions.values.contains { $0.isActive(at: now) }
        return .object([
            "entitlements": entitlements(customer, holdings), "first_seen": .date(customer.firstSeen),
            "last_seen": .date(customer.lastSeen), "management_url": isManaged ? .string(Self.managementURL) : .null,
            "non_subscriptions": oneTimePurchases(purchases),
            "original_app_user_id": .string(customer.originalAppUserID), "original_application_version": .null,
            "original_purchase_date": .null, "other_purchases": .object([]),
            "subscriber_attributes": customer.attributes,
            "subscriptions": .object(
                subscriptions.map { JSON.Member(name: $0, value: subscription($1, isActive: $1.isActive(at: now))) }),
        ])
    }

    // MARK: - Entitlements

    /// All that were ever held. Readers judge them by `expires_date` alone, so it has the grace in it.
    private func entitlements(_ customer: CustomerProfile, _ holdings: [OldHolding]) -> JSON {
        let granting = holdings.filter { sandboxRule.grants($0.purchase.key.environment, to: customer.appUserIDs) }
        let held = OldHolding.byEntitlement(granting, catalogue)
        return .object(
            held.map { name, holding in
                JSON.Member(
                    name: name,
                    value: .object([
                        "expires_date": .date(holding.expires), "grace_period_expires_date": .date(holding.grace),
                        "product_identifier": .string(holding.productID),
                        "purchase_date": .date(holding.transaction.purchaseDate),
                    ]))
            })
    }

    // MARK: - Subscriptions

    private func subscription(_ holding: OldHolding, isActive: Bool) -> JSON {
        let (purchase, transaction) = (holding.purchase, holding.transaction)
        return .object([
            "auto_resume_date": .null,
            "billing_issues_detected_at": .date(holding.isCurrent ? purchase.billingFailure?.since : nil),
            "display_name": .null, "expires_date": .date(holding.expires),
            "grace_period_expires_date": .date(holding.grace),
            "is_sandbox": .bool(purchase.key.environment == .sandbox),
            "management_url": isActive ? .string(Self.managementURL) : .null,
            "original_purchase_date": .date(transaction.originalPurchaseDate),
            "ownership_type": .string(transaction.isFamilyShare ? "FAMILY_SHARED" : "PURCHASED"),
            "period_type": .string(holding.period.type.rawValue.lowercased()), "price": price(transaction),
            "product_plan_identifier": .null, "purchase_date": .date(transaction.purchaseDate),
            "refunded_at": .date(holding.refunded), "store": .string("app_store"),
            "store_transaction_id": .string(transaction.transactionID),
            "unsubscribe_detected_at": .date(holding.isCurrent ? purchase.autoRenewOffSince : nil),
        ])
    }

    /// Null where nothing was signed: readers drop an entry whose amount is no number.
    private func price(_ transaction: TransactionFact) -> JSON {
        guard let amount = transaction.price, let currency = transaction.currency else { return .null }
        return .object(["amount": Money.number(milliunits: amount), "currency": .string(currency)])
    }

    // MARK: - What was bought once

    /// By product, in the order of purchase; without what was taken back.
    private func oneTimePurchases(_ purchases: [Purchase]) -> JSON {
        let bought = purchases.flatMap { purchase in
            purchase.periods.filter { !$0.transaction.isRenewable && $0.transaction.expiresDate == nil }
                .filter { $0.revocation == nil }.map { (key: purchase.key, transaction: $0.transaction) }
        }
        let byProduct = Dictionary(grouping: bought, by: \.transaction.productID)
        return .object(
            byProduct.map { product, items in
                let ordered = items.sorted {
                    ($0.transaction.purchaseDate, $0.transaction.transactionID)
                        < ($1.transaction.purchaseDate, $1.transaction.transactionID)
                }
                return JSON.Member(
                    name: product, value: .array(ordered.map { oneTimePurchase($0.key, $0.transaction) }))
            })
    }

    private func oneTimePurchase(_ key: PurchaseKey, _ transaction: TransactionFact) -> JSON {
        let name = "one-time|\(key.app)|\(key.environment.rawValue)|\(transaction.transactionID)"
        return .object([
            "display_name": .null, "id": .string(Hex.encode(digest(name).prefix(5))),
            "is_sandbox": .bool(key.environment == .sandbox),
            "original_purchase_date": .date(transaction.originalPurchaseDate), "price": price(transaction),
            "purchase_date": .date(transaction.purchaseDate), "store": .string("app_store"),
            "store_transaction_id": .string(transaction.transactionID),
        ])
    }
}

struct TempOldTests {
    @Test func `same as before`() throws {
        var n = 0
        for seed in UInt64(0)..<1500 {
            let purchases = [seed, seed + 5000, seed + 9000].compactMap { Scenario(seed: $0).life.purchase(defaultGrace: 2 * day) }
            let customer = CustomerProfile(originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch + day)
            for rule in [SandboxRule.all, .none] {
            for now in stride(from: epoch - day, to: epoch + 300 * day, by: Int(11 * day + hour)) {
                let a = OldDocument(catalogue: EventBodyTests.catalogue, sandboxRule: rule) { digest($0) }.json(customer: customer, purchases: purchases, now: now).text
                let b = SubscriberDocument(catalogue: EventBodyTests.catalogue, sandboxRule: rule) { digest($0) }.json(customer: customer, purchases: purchases, now: now).text
                if a != b { Issue.record("seed"); return }
                n += 1
            }
            }
        }
        print("compared", n)
    }
}
