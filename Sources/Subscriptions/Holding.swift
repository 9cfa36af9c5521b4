import Base

/// One product of one purchase: what a subscriber's document has an entry for.
struct Holding {
    let purchase: Purchase
    /// The latest period of this product.
    let period: Period
    /// The end of access by this product, grace included, in ms; nil: never.
    let expires: Int64?

    var transaction: TransactionFact { period.transaction }
    var productID: String { transaction.productID }
    var isSubscription: Bool { !period.isOneTime }
    /// The product that the purchase has come to; only it can be in trouble or switched off.
    var isCurrent: Bool { period.id == purchase.latest.id }
    var grace: Int64? { isCurrent ? purchase.graceUntil : nil }
    var refunded: Int64? { period.revocation?.kind == .refund ? period.revocation?.date : nil }

    func isActive(at now: Int64) -> Bool { expires.map { now < $0 } ?? true }

    /// One for each product that the purchase ever was.
    static func holdings(of purchase: Purchase) -> [Holding] {
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
            return Holding(purchase: purchase, period: period, expires: end)
        }
    }

    /// Which of two holdings of one product speaks for it: production, then the later end, then the later purchase.
    func outranks(_ other: Holding) -> Bool {
        if purchase.key.environment != other.purchase.key.environment {
            return purchase.key.environment == .production
        }
        return lasts(longerThan: other)
    }

    func lasts(longerThan other: Holding) -> Bool {
        (expires ?? .max, transaction.purchaseDate, purchase.key.originalTransactionID, productID)
            > (
                other.expires ?? .max, other.transaction.purchaseDate, other.purchase.key.originalTransactionID,
                other.productID
            )
    }
}

extension Holding {
    /// By product, the one that speaks for it.
    static func best(_ holdings: [Holding]) -> [String: Holding] {
        Dictionary(holdings.map { ($0.productID, $0) }) { $1.outranks($0) ? $1 : $0 }
    }

    /// By entitlement, the one that gives it longest, or gave it last.
    static func byEntitlement(_ granting: [Holding], _ catalogue: EntitlementCatalogue) -> [String: Holding] {
        var held: [String: Holding] = [:]
        for holding in best(granting).values {
            for name in catalogue.entitlements(of: holding.transaction) {
                if let other = held[name], !holding.lasts(longerThan: other) { continue }
                held[name] = holding
            }
        }
        return held
    }
}
