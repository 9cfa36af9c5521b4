import Base

/// One product of one purchase: what a subscriber's document has an entry for. Says nothing that depends on the time of
/// reading; what does, takes that time.
package struct Holding: Sendable, Equatable {
    package let key: PurchaseKey
    package let productID: String
    /// The latest transaction of this product; dates in ms.
    package let transactionID: String
    package let purchaseDate: Int64
    package let originalPurchaseDate: Int64
    /// The end of access by this product, grace included, in ms; nil: never.
    package let expires: Int64?
    /// The end of grace, in ms, while the failure lasts.
    package let grace: Int64?
    package let refunded: Int64?
    /// Since when it cannot be charged, and since when it is switched off, in ms.
    package let unpaidSince: Int64?
    package let switchedOffSince: Int64?
    /// Whether its place is among subscriptions: it renews, or has an end.
    package let isSubscription: Bool
    /// Whether it renews by itself, unless it is switched off.
    package let isRenewable: Bool
    package let isFamilyShare: Bool
    package let periodType: PeriodType
    package let price: Price?
    package let store: String
    /// What is given whatever the catalogue says; nil of everything that was bought.
    package let grantedEntitlement: String?

    package static let appStore = "app_store"
    package static let promotional = "promotional"

    /// What was charged: milliunits of an ISO 4217 currency.
    package struct Price: Sendable, Equatable {
        package let amount: Int64
        package let currency: String

        package init(amount: Int64, currency: String) {
            (self.amount, self.currency) = (amount, currency)
        }

        /// What the customer paid for a period; what was free is 0 of a currency, if one was signed. Nil where no price is
        /// known.
        init?(of period: Period) {
            guard let charge = period.charge else {
                guard let currency = period.transaction.currency else { return nil }
                self.init(amount: 0, currency: currency)
                return
            }
            guard let currency = charge.currency else { return nil }
            self.init(amount: charge.milliunits, currency: currency)
        }

        /// The same without what went back.
        init?(keptOf period: Period) {
            guard let paid = Price(of: period) else { return nil }
            self.init(amount: paid.amount - (period.refund?.milliunits ?? 0), currency: paid.currency)
        }
    }

    package func isActive(at now: Int64) -> Bool { expires.map { now < $0 } ?? true }

    /// Which of two holdings of one product speaks for it: what gives access, then production, then the later end, then
    /// the later purchase. A tester whose own subscription lapsed has what was bought in the sandbox.
    func outranks(_ other: Holding, at now: Int64) -> Bool {
        if isActive(at: now) != other.isActive(at: now) { return isActive(at: now) }
        if key.environment != other.key.environment { return key.environment == .production }
        return lasts(longerThan: other)
    }

    func lasts(longerThan other: Holding) -> Bool {
        (expires ?? .max, purchaseDate, key.originalTransactionID, productID)
            > (other.expires ?? .max, other.purchaseDate, other.key.originalTransactionID, other.productID)
    }
}

extension Holding {
    /// One for each product that the purchase ever was, in the order of their ids.
    static func holdings(of purchase: Purchase) -> [Holding] {
        Dictionary(grouping: purchase.periods, by: \.productID).values.compactMap { periods in
            let isCurrent = periods.contains { $0.id == purchase.latest.id }
            guard let period = isCurrent ? purchase.latest : periods.last else { return nil }
            return Holding(purchase, period, end: end(of: periods), isCurrent: isCurrent)
        }.sorted { $0.productID < $1.productID }
    }

    /// - Parameter isCurrent: whether the purchase has come to this product; only it can be in trouble or switched off.
    private init(_ purchase: Purchase, _ period: Period, end: Int64?, isCurrent: Bool) {
        let transaction = period.transaction
        let grace = isCurrent ? purchase.graceUntil : nil
        self.init(
            key: purchase.key, productID: transaction.productID, transactionID: transaction.transactionID,
            purchaseDate: transaction.purchaseDate, originalPurchaseDate: transaction.originalPurchaseDate,
            expires: end.map { max($0, grace ?? $0) }, grace: grace,
            // What an upgrade gives back is no refund: the customer changed to another product.
            refunded: period.revocation?.kind == .refund && !transaction.isUpgraded ? period.revocation?.date : nil,
            unpaidSince: isCurrent ? purchase.billingFailure?.since : nil,
            // Clients take everything that was not cancelled for renewing.
            switchedOffSince: transaction.isBoughtOnce
                ? transaction.purchaseDate : isCurrent ? purchase.cancelledSince : nil,
            isSubscription: !period.isOneTime, isRenewable: transaction.isRenewable,
            isFamilyShare: transaction.isFamilyShare, periodType: period.type, price: Price(of: period),
            store: transaction.grant == nil ? Holding.appStore : Holding.promotional,
            grantedEntitlement: transaction.grant?.entitlement)
    }

    /// When the last of these periods ends, in ms; nil: never.
    private static func end(of periods: [Period]) -> Int64? {
        var last = Int64.min
        for period in periods {
            guard let end = period.accessUntil else { return nil }
            last = max(last, end)
        }
        return last
    }

    /// By product, the one that speaks for it.
    static func best(_ holdings: [Holding], at now: Int64) -> [String: Holding] {
        Dictionary(holdings.map { ($0.productID, $0) }) { $1.outranks($0, at: now) ? $1 : $0 }
    }

    /// The production holding of the same product that would speak for it, had it not ended; nil where there is none.
    func passedOver(among holdings: [Holding], at now: Int64) -> Holding? {
        guard key.environment == .sandbox, isActive(at: now) else { return nil }
        let ended = holdings.filter { $0.productID == productID && $0.key.environment == .production }
        return Holding.best(ended, at: now)[productID]
    }

    /// By entitlement, the one that gives it longest, or gave it last.
    static func byEntitlement(
        _ granting: [Holding], _ catalogue: EntitlementCatalogue, at now: Int64
    ) -> [String: Holding] {
        var held: [String: Holding] = [:]
        for holding in best(granting, at: now).values {
            for name in holding.grantedEntitlement.map({ [$0] }) ?? catalogue.entitlements(of: holding.productID) {
                if let other = held[name], !holding.lasts(longerThan: other) { continue }
                held[name] = holding
            }
        }
        return held
    }
}
