import Base

/// Purchases as an operator sees them.
package struct PurchaseSummary: Sendable {
    package let catalogue: EntitlementCatalogue
    package let sandboxRule: SandboxRule

    package init(catalogue: EntitlementCatalogue, sandboxRule: SandboxRule = .all) {
        self.catalogue = catalogue
        self.sandboxRule = sandboxRule
    }

    /// One row for each purchase, by original purchase date, then original transaction id.
    package func json(_ purchases: [Purchase], of customer: CustomerProfile, now: Int64) -> JSON {
        let successors = purchases.successors
        return .array(
            purchases.inOrderOfPurchase().map {
                row($0, ofCustomer: customer.appUserIDs, successor: successors[$0.key], now: now)
            })
    }

    /// - Parameters:
    ///   - appUserIDs: all ids of who owns it.
    ///   - successor: the purchase that it goes on as.
    package func row(
        _ purchase: Purchase, ofCustomer appUserIDs: [String], successor: Purchase? = nil, now: Int64
    ) -> JSON {
        let isGranted = sandboxRule.grants(purchase.key.environment, to: appUserIDs)
        let product = purchase.latest.productID
        let obstacle = successor == nil ? purchase.renewalObstacle(at: now)?.rawValue : EndCause.migrated.rawValue
        let isOver = successor?.continuation.map { $0.since <= now } ?? false
        let commitment = purchase.commitment
        return .object([
            "app": .string(purchase.key.app), "environment": .string(purchase.key.environment.rawValue),
            "original_transaction_id": .string(purchase.key.originalTransactionID), "product_id": .string(product),
            "pending_product_id": .text(purchase.pendingProductID),
            "continues": .text(purchase.continuation?.of), "continued_by": .text(successor?.key.originalTransactionID),
            "status": .string(isOver ? PurchaseStatus.expired.rawValue : purchase.status(at: now).rawValue),
            "commitment": commitment.map { commitment in
                .object([
                    "billing_period": .integer(commitment.billingPeriod),
                    "billing_periods": .integer(commitment.billingPeriods), "expires_at": .date(commitment.until),
                    "price": commitment.price.map { .string(Money.text(milliunits: $0)) } ?? .null,
                    "will_renew": .bool(commitment.renewal == .on),
                    "switched_off_at": .date(commitment.renewal.offSince),
                ])
            } ?? .null,
            "expires_at": .date(purchase.paidAccessUntil),
            "grace_expires_at": .date(purchase.graceUntil),
            "grace_is_assumed": .bool(purchase.graceUntil != nil && purchase.billingFailure?.isGraceAssumed == true),
            "will_renew": .bool(obstacle == nil), "will_not_renew_because": .text(obstacle),
            "entitlements": .strings(isGranted ? catalogue.entitlements(of: purchase.latest.transaction) : []),
        ])
    }
}

extension Sequence<Purchase> {
    /// By original purchase date, then original transaction id.
    func inOrderOfPurchase() -> [Purchase] {
        sorted {
            ($0.latest.transaction.originalPurchaseDate, $0.key.originalTransactionID, $0.key.app, $0.key.environment)
                < (
                    $1.latest.transaction.originalPurchaseDate, $1.key.originalTransactionID, $1.key.app,
                    $1.key.environment
                )
        }
    }
}
