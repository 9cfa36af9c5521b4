extension SubscriberLife {
    /// Why a subscription ended: the subtype of EXPIRED, and `expirationIntent`.
    package enum Ending: String, Sendable, CaseIterable {
        case voluntary = "VOLUNTARY"
        case billingRetry = "BILLING_RETRY"
        case priceIncrease = "PRICE_INCREASE"
        case productNotForSale = "PRODUCT_NOT_FOR_SALE"
        case other = ""

        var subtype: String? { self == .other ? nil : rawValue }

        var intent: Int64 {
            switch self {
            case .voluntary: 1
            case .billingRetry: 2
            case .priceIncrease: 3
            case .productNotForSale: 4
            case .other: 5
            }
        }
    }

    /// A renewal could not be paid (DID_FAIL_TO_RENEW); with an end of grace, access goes on until then.
    @discardableResult
    package mutating func failBilling(graceUntil: Int64? = nil, at: Int64) -> StoreNotification {
        status = graceUntil == nil ? .billingRetry : .grace
        running.isInBillingRetry = true
        running.expirationIntent = Ending.billingRetry.intent
        running.graceEnds = graceUntil
        return notify("DID_FAIL_TO_RENEW", graceUntil == nil ? nil : "GRACE_PERIOD", at: at)
    }

    /// Still not paid, and no access any more (GRACE_PERIOD_EXPIRED).
    @discardableResult
    package mutating func endGrace(at: Int64) -> StoreNotification {
        status = .billingRetry
        return notify("GRACE_PERIOD_EXPIRED", at: at)
    }

    @discardableResult
    package mutating func expire(_ ending: Ending = .voluntary, at: Int64) -> StoreNotification {
        status = .expired
        running.isOn = false
        running.isInBillingRetry = false
        running.expirationIntent = ending.intent
        running.graceEnds = nil
        running.winBackOffers = ending == .voluntary ? ["comeback"] : []
        return notify("EXPIRED", ending.subtype, at: at)
    }

    /// The customer's money goes back (REFUND). A refund of an earlier period leaves the subscription as it is.
    /// `percentage`: thousandths of a percent.
    @discardableResult
    package mutating func refund(
        _ purchase: Purchase = .latest, percentage: Int64 = 100_000, at: Int64
    ) -> StoreNotification {
        let kind = percentage == 100_000 ? "REFUND_FULL" : "REFUND_PRORATED"
        let signed = revoke(purchase, kind, percentage: percentage, at: at)
        if isLatest(purchase) { status = .revoked }
        return notify("REFUND", about: purchase, at: signed)
    }

    @discardableResult
    package mutating func reverseRefund(_ purchase: Purchase = .latest, at: Int64) -> StoreNotification {
        change(purchase) { $0.revocation = nil }
        if isLatest(purchase) { status = expires > at ? .active : .expired }
        return notify("REFUND_REVERSED", about: purchase, at: at)
    }

    @discardableResult
    package mutating func declineRefund(_ purchase: Purchase = .latest, at: Int64) -> StoreNotification {
        notify("REFUND_DECLINED", about: purchase, at: at)
    }

    /// The store asks what was used before it decides on a refund.
    @discardableResult
    package mutating func requestConsumption(
        _ purchase: Purchase = .latest, reason: String = "UNINTENDED_PURCHASE", at: Int64
    ) -> StoreNotification {
        notify("CONSUMPTION_REQUEST", about: purchase, consumptionReason: reason, at: at)
    }

    /// Family Sharing ended (REVOKE).
    @discardableResult
    package mutating func revokeFamily(_ purchase: Purchase = .latest, at: Int64) -> StoreNotification {
        let signed = revoke(purchase, "FAMILY_REVOKE", percentage: nil, at: at)
        if isLatest(purchase) { status = .revoked }
        return notify("REVOKE", about: purchase, at: signed)
    }

    /// Never before it was bought; when Apple signs it, which is never before it happened.
    private mutating func revoke(_ purchase: Purchase, _ type: String, percentage: Int64?, at: Int64) -> Int64 {
        let date = max(transaction(purchase).purchased &+ 1000, at &- 2000)
        change(purchase) {
            $0.revocation = StoreTransaction.Revocation(date: date, reason: 0, type: type, percentage: percentage)
        }
        return max(at, date)
    }

    private func isLatest(_ purchase: Purchase) -> Bool {
        switch purchase {
        case .latest: true
        case .period(let index): index == periods.count - 1
        case .oneTime: false
        }
    }
}
