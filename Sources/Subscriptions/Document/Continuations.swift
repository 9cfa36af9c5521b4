/// Purchases of one customer of which one continues another (Apple: previousOriginalTransactionId). The two have lanes and
/// folds of their own; that the former one is over is known where both are seen.
extension [PurchaseSnapshot] {
    /// All holdings, those of a purchase that goes on as another one until that began.
    var holdings: [Holding] {
        let ends = Dictionary(
            compactMap { snapshot in
                snapshot.continuation.map { (snapshot.key.of($0.of), $0.since) }
            }, uniquingKeysWith: Swift.max)
        guard !ends.isEmpty else { return flatMap(\.holdings) }
        return flatMap { snapshot in
            guard let end = ends[snapshot.key], snapshot.holdings.allSatisfy({ $0.purchaseDate < end }) else {
                return snapshot.holdings
            }
            return snapshot.holdings.map { $0.ending(by: end) }
        }
    }
}

extension Sequence<Purchase> {
    /// By the purchase that goes on, the one that it goes on as.
    var successors: [PurchaseKey: Purchase] {
        let purchases = Dictionary(map { ($0.key, $0) }) { first, _ in first }
        let pairs = compactMap { purchase -> (PurchaseKey, Purchase)? in
            guard let former = purchase.continuation.flatMap({ purchases[purchase.key.of($0.of)] }),
                purchase.continues(former)
            else { return nil }
            return (former.key, purchase)
        }
        return Dictionary(pairs) { one, other in
            (one.continuation?.since ?? 0) >= (other.continuation?.since ?? 0) ? one : other
        }
    }
}

extension Purchase {
    /// Whether that purchase is over because it goes on as this one, and has not begun anew since.
    package func continues(_ former: Purchase) -> Bool {
        guard let continuation else { return false }
        return key.of(continuation.of) == former.key
            && former.latest.transaction.purchaseDate < continuation.since
    }
}

extension PurchaseKey {
    /// The key of another purchase of the same app and environment.
    fileprivate func of(_ originalTransactionID: String) -> PurchaseKey {
        PurchaseKey(app: app, environment: environment, originalTransactionID: originalTransactionID)
    }
}

extension Holding {
    /// The same, with access until then at most, in ms.
    fileprivate func ending(by instant: Int64) -> Holding {
        Holding(
            key: key, productID: productID, transactionID: transactionID, purchaseDate: purchaseDate,
            originalPurchaseDate: originalPurchaseDate, expires: Swift.min(expires ?? .max, instant), grace: nil,
            refunded: refunded, unpaidSince: nil, switchedOffSince: switchedOffSince, isSubscription: isSubscription,
            isRenewable: isRenewable, isFamilyShare: isFamilyShare, periodType: periodType, price: price, store: store,
            grantedEntitlement: grantedEntitlement)
    }
}
