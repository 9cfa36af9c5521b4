import Base

/// One thing that was bought once, as people read of it.
package struct OneTimePurchase: Sendable, Equatable {
    package let productID: String
    /// In ms.
    package let bought: Int64
    package let price: String?
    package let state: String
    package let transactionID: String
    package let key: PurchaseKey

    /// Those of a purchase, in their order.
    package static func all(of purchase: Purchase) -> [OneTimePurchase] {
        purchase.periods.filter(\.isOneTime).map { OneTimePurchase($0, key: purchase.key) }
    }

    private init(_ period: Period, key: PurchaseKey) {
        let transaction = period.transaction
        productID = transaction.productID
        bought = transaction.purchaseDate
        let number = transaction.quantity > 1 ? " for \(transaction.quantity)" : ""
        price = DisplayText.amount(of: period).map { $0 + number }
        transactionID = transaction.transactionID
        self.key = key
        switch period.revocation {
        case nil: state = transaction.isFamilyShare ? "shared by a family member" : "owned"
        case let revocation? where period.isKeptInPart:
            state = "owned, refunded in part as of \(DisplayText.time(revocation.date))"
        case let revocation? where revocation.kind == .refund:
            state = "refunded as of \(DisplayText.time(revocation.date))"
        case let revocation?: state = "no longer shared as of \(DisplayText.time(revocation.date))"
        }
    }
}

extension Period {
    /// Bought once, without an end. A grant is none, though it may have no end.
    var isOneTime: Bool { transaction.isBoughtOnce && transaction.expiresDate == nil }
}
