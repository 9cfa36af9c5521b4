import Subscriptions

/// Everything that can happen to a purchase: each makes one notification, of one type and subtype.
enum Deed: String, CaseIterable, Sendable {
    case start, redeemToStart, buyOnce
    case renew, recover, resubscribe, redeemToResubscribe
    case autoRenewOff, autoRenewOn, upgrade, crossgrade, downgrade, keepPlan
    case redeemAtOnce, redeemForNextRenewal, redeemUpgrade, redeemDowngrade
    case fail, failInGrace, failInGraceWithoutDate, graceOver
    case expireOff, expireUnpaid, expirePriceRefused, expireNotForSale, expireOtherwise
    case askConsent, giveConsent
    case refund, refundDeclined, refundReversed, consumptionRequest, revoke
    case extend, extensionFailed, extensionSummary
    case metadata, migration, priceChange, unknown, unknownSubtype
    case test, tokenUnreported, tokenCreated, tokenReminder, rescindConsent
    case refundPart, refundAgain, refundCorrected, post

    /// Those that begin a life.
    static let subscriptionStarts: [Deed] = [.start, .start, .start, .redeemToStart]
    /// Those that follow in the life of a subscription, and of something bought once.
    static let ofSubscriptions = allCases.filter {
        ![.start, .redeemToStart, .buyOnce, .refundPart, .refundAgain, .refundCorrected, .post].contains($0)
    }
    static let ofThingsBoughtOnce: [Deed] = [
        .refund, .refund, .refundDeclined, .refundReversed, .refundReversed, .consumptionRequest, .revoke, .metadata,
        .unknown, .test,
    ]
    /// Those that money hangs on, the rarer ones as often as others.
    static let ofMoney: [Deed] =
        [
            .renew, .renew, .renew, .resubscribe, .resubscribe, .upgrade, .crossgrade, .redeemAtOnce, .downgrade,
            .extend,
            .expireOff, .autoRenewOff, .fail,
        ] + ofMoneyOnce
    static let ofMoneyOnce: [Deed] = [
        .refund, .refund, .refund, .refundPart, .refundPart, .refundAgain, .refundAgain, .refundAgain,
        .refundCorrected, .refundReversed, .refundReversed, .refundReversed, .refundReversed, .refundDeclined, .post,
        .post, .post,
    ]
}

extension Life {
    /// Nil if it cannot happen to this life.
    ///
    /// - Parameter pick: chooses among what the deed leaves open, such as the offer or the transaction.
    mutating func live(_ deed: Deed, pick: Int, at: Int64) -> Telling? {
        if transactions.isEmpty { return begin(deed, pick, at) }
        if let telling = moveMoney(deed, pick, at) ?? tellOnly(deed, at) { return telling }
        guard latest.isRenewable else { return nil }
        return goOn(deed, pick, at) ?? end(deed, pick, at)
    }

    private mutating func begin(_ deed: Deed, _ pick: Int, _ at: Int64) -> Telling? {
        let kinds = ["Consumable", "Non-Consumable", "Non-Renewing Subscription"]
        return switch deed {
        case .start: start(began: at, lasts: pick % 3 == 0 ? 7 * day : nil, offer: Offer?.picked(pick))
        case .redeemToStart: redeemToStart(.picked(pick), at: at)
        case .buyOnce: buyOnce("coins_100", kind: kinds[pick % kinds.count], quantity: 1 + pick % 4, at: at)
        case .test, .tokenUnreported, .tokenCreated, .tokenReminder, .rescindConsent, .extensionSummary:
            tellOnly(deed, at)
        default: nil
        }
    }

    private mutating func goOn(_ deed: Deed, _ pick: Int, _ at: Int64) -> Telling? {
        switch deed {
        case .renew: renew(at: at, offer: pick % 5 == 0 ? .paidCode : nil)
        case .recover: renew(at: at, recovery: true, begins: pick % 2 == 0 ? max(at, expires) : nil)
        case .resubscribe: resubscribe(product: Self.product(pick), at: at, offer: Offer?.picked(pick))
        case .redeemToResubscribe: redeemToResubscribe(.picked(pick), at: at)
        case .autoRenewOff: autoRenewOff(at: at)
        case .autoRenewOn: autoRenewOn(at: at)
        case .upgrade: upgrade(to: "pro_yearly", price: 59990, at: at, lasts: 365 * day)
        case .crossgrade: upgrade(to: "duo_monthly", price: 12990, at: at)
        case .downgrade: downgrade(to: "basic_monthly", price: 4990, at: at)
        case .keepPlan: keepPlan(at: at)
        case .redeemAtOnce: redeemAtOnce(.picked(pick), at: at)
        case .redeemForNextRenewal: redeemForNextRenewal(.picked(pick), at: at)
        case .redeemUpgrade: redeemUpgrade(to: "pro_yearly", price: 59990, .picked(pick), at: at)
        case .redeemDowngrade: redeemDowngrade(to: "basic_monthly", price: 4990, at: at)
        case .askConsent: askConsent(at: at)
        case .giveConsent: giveConsent(at: at)
        case .extend: extend(by: Int64(1 + pick % 30) * day, at: at)
        case .extensionFailed: notify("RENEWAL_EXTENSION", "FAILURE", at: at)
        default: nil
        }
    }

    private mutating func end(_ deed: Deed, _ pick: Int, _ at: Int64) -> Telling? {
        switch deed {
        case .fail: return billingFailure(at: at)
        case .failInGrace: return billingFailure(graceUntil: max(at, expires) + Int64(3 + pick % 25) * day, at: at)
        case .failInGraceWithoutDate:
            status = 4
            renewal.isInBillingRetryPeriod = true
            return notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", at: at)
        case .graceOver: return graceOver(at: at)
        case .expireOff: return expire("VOLUNTARY", at: at)
        case .expireUnpaid: return expire("BILLING_RETRY", at: at)
        case .expirePriceRefused: return expire("PRICE_INCREASE", at: at)
        case .expireNotForSale: return expire("PRODUCT_NOT_FOR_SALE", at: at)
        case .expireOtherwise: return expire(nil, at: at)
        default: return nil
        }
    }

    private mutating func moveMoney(_ deed: Deed, _ pick: Int, _ at: Int64) -> Telling? {
        // Mostly the latest transaction.
        let place = pick % 3 == 0 ? pick % transactions.count : transactions.count - 1
        let reasons = [nil, "UNINTENDED_PURCHASE", "LEGAL", "SOMETHING_NEW"]
        return switch deed {
        case .refund: refund(place, at: at)
        case .refundDeclined: refundDeclined(place, at: at)
        case .refundPart: refund(place, at: at, share: [33_333, 50_000, 100_000, 1][pick % 4])
        case .refundAgain: refund(place, at: at, revoked: lastRevocation(of: place))
        case .refundCorrected: correctRefund(place, by: Int64(pick % 20) * day, at: at)
        case .post: post(place, at: at)
        case .refundReversed: refundReversed(place, at: at)
        case .consumptionRequest: consumptionRequest(place, reason: reasons[pick % reasons.count], at: at)
        case .revoke: isFamily ? familyRevoke(at: at) : nil
        default: nil
        }
    }

    private func lastRevocation(of place: Int) -> Int64? {
        let id = transactions[place].transactionID
        return tellings.compactMap(\.transaction).last { $0.transactionID == id && $0.revocationDate != nil }?
            .revocationDate
    }

    /// Apple signs another date of a refund that stands.
    private mutating func correctRefund(_ place: Int, by length: Int64, at: Int64) -> Telling? {
        transactions[place].revocationDate.map { refund(place, at: at, revoked: $0 - length) }
    }

    private mutating func tellOnly(_ deed: Deed, _ at: Int64) -> Telling? {
        let hasRenewal = transactions.last?.expiresDate != nil
        return switch deed {
        case .metadata: notify("METADATA_UPDATE", at: at, hasRenewal: hasRenewal)
        case .migration: notify("MIGRATION", at: at, hasRenewal: hasRenewal)
        case .priceChange: notify("PRICE_CHANGE", at: at, hasRenewal: hasRenewal)
        case .unknown: notify("SOMETHING_NEW", at: at, hasRenewal: hasRenewal)
        case .unknownSubtype: notify("DID_RENEW", "ON_A_TUESDAY", at: at, hasRenewal: hasRenewal)
        case .test: notifyAlone("TEST", at: at)
        case .tokenUnreported: notifyAlone("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", at: at)
        case .tokenCreated: notifyAlone("EXTERNAL_PURCHASE_TOKEN", "CREATED", at: at)
        case .tokenReminder: notifyAlone("EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER", at: at)
        case .rescindConsent: notifyAlone("RESCIND_CONSENT", at: at)
        case .extensionSummary: notifyAlone("RENEWAL_EXTENSION", "SUMMARY", at: at)
        default: nil
        }
    }

    private static func product(_ pick: Int) -> String? { pick % 2 == 0 ? nil : "pro_yearly" }
}

extension Life.Offer {
    fileprivate static func picked(_ pick: Int) -> Life.Offer { allCases[pick % allCases.count] }
}

extension Life.Offer? {
    fileprivate static func picked(_ pick: Int) -> Life.Offer? { pick % 4 == 0 ? nil : Life.Offer.picked(pick) }
}
