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
        .array(purchases.inOrderOfPurchase().map { row($0, ofCustomer: customer.appUserIDs, now: now) })
    }

    /// - Parameter appUserIDs: all ids of who owns it.
    package func row(_ purchase: Purchase, ofCustomer appUserIDs: [String], now: Int64) -> JSON {
        let isGranted = sandboxRule.grants(purchase.key.environment, to: appUserIDs)
        let product = purchase.latest.productID
        return .object([
            "app": .string(purchase.key.app), "environment": .string(purchase.key.environment.rawValue),
            "original_transaction_id": .string(purchase.key.originalTransactionID), "product_id": .string(product),
            "pending_product_id": .text(purchase.pendingProductID),
            "status": .string(purchase.status(at: now).rawValue), "expires_at": .date(purchase.paidAccessUntil),
            "grace_expires_at": .date(purchase.graceUntil),
            "grace_is_assumed": .bool(purchase.graceUntil != nil && purchase.billingFailure?.isGraceAssumed == true),
            "will_renew": .bool(purchase.willRenew),
            "will_not_renew_because": .text(purchase.renewalObstacle?.rawValue),
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
