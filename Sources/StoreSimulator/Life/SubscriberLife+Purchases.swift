extension SubscriberLife {
    /// Adds a period and lets the subscription renew after it.
    private mutating func addPeriod(
        _ product: StoreProduct, from begins: Int64, lasts: Int64? = nil, reason: String, offer: StoreOffer? = nil
    ) {
        let id = identifiers.transaction()
        let ends = begins &+ (lasts ?? offer?.lasts ?? product.period)
        periods.append(
            StoreTransaction(
                id: id, originalID: periods.first?.originalID ?? id, orderLineID: identifiers.orderLine(), app: app,
                productID: product.id, group: product.group, purchased: begins,
                originallyPurchased: periods.first?.originallyPurchased ?? begins, expires: ends, kind: product.kind,
                account: account, offer: offer, reason: reason, price: offer?.price ?? product.price))
        renewal = StoreRenewal(
            originalID: latest.originalID, nextProductID: product.id, productID: product.id, isOn: true,
            price: product.price, recentStart: renewal?.recentStart ?? begins, renews: ends)
        status = .active
    }

    /// The first purchase (SUBSCRIBED, INITIAL_BUY). `began`: the time of purchase, `at` unless given; `lasts`:
    /// milliseconds of the first period, by the offer or the product unless given.
    @discardableResult
    package mutating func start(
        offer: StoreOffer? = nil, began: Int64? = nil, lasts: Int64? = nil, at: Int64
    ) -> StoreNotification {
        precondition(periods.isEmpty, "the subscription was started already")
        addPeriod(product, from: began ?? at, lasts: lasts, reason: "PURCHASE", offer: offer)
        return notify("SUBSCRIBED", "INITIAL_BUY", at: at)
    }

    /// The next period, after a downgrade that of the other product (DID_RENEW).
    @discardableResult
    package mutating func renew(lasts: Int64? = nil, at: Int64) -> StoreNotification {
        let offer = running.offer
        addPeriod(product, from: expires, lasts: lasts, reason: "RENEWAL", offer: offer)
        return notify("DID_RENEW", at: at)
    }

    /// Billing works again (DID_RENEW, BILLING_RECOVERY). In grace the new period follows the old one, else it begins now.
    @discardableResult
    package mutating func recover(lasts: Int64? = nil, at: Int64) -> StoreNotification {
        addPeriod(product, from: status == .grace ? expires : max(expires, at), lasts: lasts, reason: "RENEWAL")
        return notify("DID_RENEW", "BILLING_RECOVERY", at: at)
    }

    /// Bought again after it ended (SUBSCRIBED, RESUBSCRIBE), perhaps another product of the group.
    @discardableResult
    package mutating func resubscribe(
        _ product: StoreProduct? = nil, offer: StoreOffer? = nil, lasts: Int64? = nil, at: Int64
    ) -> StoreNotification {
        self.product = product ?? self.product
        // Lapses up to 60 days do not start a new series.
        let isNewSeries = at &- expires > 60 &* StoreProduct.day
        addPeriod(self.product, from: at, lasts: lasts, reason: "PURCHASE", offer: offer)
        if isNewSeries { running.recentStart = at }
        return notify("SUBSCRIBED", "RESUBSCRIBE", at: at)
    }

    /// A better product at once: the running period is marked as upgraded, and a new one begins.
    @discardableResult
    package mutating func upgrade(
        to product: StoreProduct, offer: StoreOffer? = nil, lasts: Int64? = nil, at: Int64
    ) -> StoreNotification {
        replacePeriod(product, offer: offer, lasts: lasts, at: at)
        return notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", at: at)
    }

    /// An upgrade by an offer (OFFER_REDEEMED, UPGRADE).
    @discardableResult
    package mutating func redeemUpgrade(
        to product: StoreProduct, offer: StoreOffer = .promotional, at: Int64
    ) -> StoreNotification {
        replacePeriod(product, offer: offer, lasts: nil, at: at)
        return notify("OFFER_REDEEMED", "UPGRADE", at: at)
    }

    private mutating func replacePeriod(_ product: StoreProduct, offer: StoreOffer?, lasts: Int64?, at: Int64) {
        change(.latest) { $0.isUpgraded = true }
        self.product = product
        addPeriod(product, from: at, lasts: lasts, reason: "PURCHASE", offer: offer)
    }

    /// Something that does not renew (ONE_TIME_CHARGE). Its number is the count of those before it.
    @discardableResult
    package mutating func buyOnce(_ product: StoreProduct = .coins, at: Int64) -> StoreNotification {
        let id = identifiers.transaction()
        oneTimePurchases.append(
            StoreTransaction(
                id: id, originalID: id, app: app, productID: product.id, purchased: at, originallyPurchased: at,
                kind: product.kind, account: account, reason: "PURCHASE", price: product.price))
        return notify("ONE_TIME_CHARGE", about: .oneTime(oneTimePurchases.count - 1), at: at)
    }
}
