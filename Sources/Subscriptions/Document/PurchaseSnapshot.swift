import Base

/// What documents need of a purchase, and nothing else: a function of its facts and of how grace is assumed, so that it
/// can be kept for as long as both stay. It does not depend on the time of reading.
package struct PurchaseSnapshot: Sendable, Equatable {
    package let key: PurchaseKey
    /// One for each product that it ever was, in the order of their ids.
    package let holdings: [Holding]
    /// What was bought once and not taken back, or not all of it.
    package let items: [Item]
    /// The purchase that it continues, if Apple migrated one.
    package let continuation: Purchase.Continuation?

    /// One thing that was bought once; dates in ms.
    package struct Item: Sendable, Equatable {
        package let productID: String
        package let transactionID: String
        package let purchaseDate: Int64
        package let originalPurchaseDate: Int64
        package let price: Holding.Price?
        package let store: String
    }

    package init(_ purchase: Purchase) {
        self.init(
            key: purchase.key, holdings: Holding.holdings(of: purchase),
            items: purchase.periods.filter {
                $0.transaction.isBoughtOnce && ($0.revocation == nil || $0.isKeptInPart)
            }.map { period in
                let transaction = period.transaction
                return Item(
                    productID: transaction.productID, transactionID: transaction.transactionID,
                    purchaseDate: transaction.purchaseDate, originalPurchaseDate: transaction.originalPurchaseDate,
                    price: Holding.Price(keptOf: period), store: Holding.appStore)
            }, continuation: purchase.continuation)
    }

    package init(key: PurchaseKey, holdings: [Holding], items: [Item], continuation: Purchase.Continuation? = nil) {
        (self.key, self.holdings, self.items) = (key, holdings, items)
        self.continuation = continuation
    }
}
