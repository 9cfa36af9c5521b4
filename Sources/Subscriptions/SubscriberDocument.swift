import Base

/// The document about one customer that RevenueCat's REST v1 gives: keys sorted at every level, dates to the second.
package struct SubscriberDocument: Sendable {
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
        let holdings = purchases.flatMap(Holding.holdings)
        let subscriptions = Holding.best(holdings.filter(\.isSubscription))
        let isManaged = subscriptions.values.contains { $0.isActive(at: now) && $0.transaction.grant == nil }
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
    private func entitlements(_ customer: CustomerProfile, _ holdings: [Holding]) -> JSON {
        let granting = holdings.filter { sandboxRule.grants($0.purchase.key.environment, to: customer.appUserIDs) }
        let held = Holding.byEntitlement(granting, catalogue)
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

    private func subscription(_ holding: Holding, isActive: Bool) -> JSON {
        let (purchase, transaction) = (holding.purchase, holding.transaction)
        let isGrant = transaction.grant != nil
        return .object([
            "auto_resume_date": .null,
            "billing_issues_detected_at": .date(holding.isCurrent ? purchase.billingFailure?.since : nil),
            "display_name": .null, "expires_date": .date(holding.expires),
            "grace_period_expires_date": .date(holding.grace),
            "is_sandbox": .bool(purchase.key.environment == .sandbox),
            "management_url": isActive && !isGrant ? .string(Self.managementURL) : .null,
            "original_purchase_date": .date(transaction.originalPurchaseDate),
            "ownership_type": .string(transaction.isFamilyShare ? "FAMILY_SHARED" : "PURCHASED"),
            "period_type": .string(holding.period.type.rawValue.lowercased()), "price": price(transaction),
            "product_plan_identifier": .null, "purchase_date": .date(transaction.purchaseDate),
            "refunded_at": .date(holding.refunded), "store": .string(isGrant ? "promotional" : "app_store"),
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
            purchase.periods.filter { $0.isOneTime && $0.revocation == nil }
                .map { (key: purchase.key, transaction: $0.transaction) }
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
