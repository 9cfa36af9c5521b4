import Subscriptions

extension MappingStory {
    static let all = starts + renewals + choices + offers + failures + ends + refunds + others

    // MARK: - Pasts

    @Sendable private static func started(_ life: inout Life) { _ = life.start() }
    @Sendable private static func onTrial(_ life: inout Life) { _ = life.start(lasts: 7 * day, offer: .trial) }
    @Sendable private static func off(_ life: inout Life) {
        _ = life.start()
        _ = life.autoRenewOff(at: epoch + day)
    }
    @Sendable private static func lapsed(_ life: inout Life) {
        off(&life)
        _ = life.expire(at: life.expires)
    }
    @Sendable private static func inGrace(_ life: inout Life) {
        _ = life.start()
        _ = life.billingFailure(graceUntil: life.expires + 6 * day, at: life.expires)
    }
    @Sendable private static func inRetry(_ life: inout Life) {
        _ = life.start()
        _ = life.billingFailure(at: life.expires)
    }
    @Sendable private static func changing(_ life: inout Life) {
        _ = life.start()
        _ = life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day)
    }
    @Sendable private static func renewed(_ life: inout Life) {
        _ = life.start()
        _ = life.renew(at: life.expires)
    }
    @Sendable private static func asked(_ life: inout Life) {
        _ = life.start()
        _ = life.askConsent(at: epoch + day)
    }
    @Sendable private static func bought(_ life: inout Life) { _ = life.buyOnce("coins_100", at: epoch) }

    // MARK: - Subscriptions that begin and go on

    private static let starts: [MappingStory] = [
        MappingStory(1, "a free trial", hears: { $0.start(offer: .trial) }),
        MappingStory(2, "an introductory price", hears: { $0.start(offer: .intro) }),
        MappingStory(3, "no offer", hears: { $0.start() }),
        MappingStory(4, "a free offer code", hears: { $0.start(offer: .code) }),
        MappingStory(4, "a paid offer code", hears: { $0.start(offer: .paidCode) }),
        MappingStory(4, "a promotional offer", hears: { $0.start(offer: .promotional) }),
        MappingStory(4, "a win-back offer", hears: { $0.start(offer: .winBack) }),
        MappingStory(5, "shared by the family", isFamily: true, hears: { $0.start() }, leaves: \.isFamilyShare),
        MappingStory(6, "lapsed, the same group", after: lapsed, hears: { $0.resubscribe(at: $0.expires + day) }),
        MappingStory(
            6, "lapsed, the same group", "another product", after: lapsed,
            hears: { $0.resubscribe(product: "pro_yearly", at: $0.expires + day) }),
        MappingStory(
            6, "lapsed after a trial",
            after: {
                onTrial(&$0)
                _ = $0.expire(at: $0.expires)
            }, hears: { $0.resubscribe(at: $0.expires + day) }),
        MappingStory(
            7, "lapsed, another group", after: lapsed,
            hears: { life in
                let at = life.expires + day
                life = Life("2000", product: "news_monthly")
                return life.start(began: at)
            }),
    ]

    private static let renewals: [MappingStory] = [
        MappingStory(8, "after a paid period", after: started, hears: { $0.renew(at: $0.expires) }),
        MappingStory(9, "after a trial", after: onTrial, hears: { $0.renew(at: $0.expires) }),
        MappingStory(
            9, "a trial that is heard of after the period that followed it",
            after: { life in
                onTrial(&life)
                _ = life.renew(at: life.expires)
                life.tellings.swapAt(0, 1)
            }, hears: { $0.tellings[1] }),
        MappingStory(
            10, "to another product, as chosen before", after: changing, hears: { $0.renew(at: $0.expires) },
            leaves: { $0.latest.productID == "basic_monthly" && $0.pendingProductID == nil }),
        MappingStory(
            11, "unpaid until now", "in grace", after: inGrace,
            hears: { $0.renew(at: $0.expires + day, recovery: true) },
            leaves: { $0.billingFailure == nil && $0.graceUntil == nil }),
        MappingStory(
            11, "unpaid until now", "after the end", after: inRetry,
            hears: { $0.renew(at: $0.expires + day, recovery: true) }, leaves: { $0.billingFailure == nil }),
    ]

    // MARK: - Choices

    private static let choices: [MappingStory] = [
        MappingStory(
            12, "on until now", after: started, hears: { $0.autoRenewOff(at: epoch + day) },
            leaves: { $0.autoRenewOffSince == epoch + day }),
        MappingStory(
            12, "a year paid by the month, which is not to go on",
            after: {
                started(&$0)
                $0.commit(period: 3)
            }, hears: { $0.commitmentOff(at: epoch + day) },
            leaves: { $0.willRenew && $0.cancelledSince == epoch + day }),
        MappingStory(12, "off already", after: off, hears: { $0.autoRenewOff(at: epoch + 2 * day) }),
        MappingStory(
            13, "a charge is being retried", "in grace", after: inGrace,
            hears: { $0.autoRenewOff(at: $0.expires + day) },
            leaves: { $0.autoRenewOffSince != nil }),
        MappingStory(
            13, "a charge is being retried", "without access", after: inRetry,
            hears: { $0.autoRenewOff(at: $0.expires + day) }),
        MappingStory(
            13, "refunded",
            after: {
                started(&$0)
                _ = $0.refund(at: epoch + day)
            }, hears: { $0.autoRenewOff(at: epoch + 2 * day) }),
        MappingStory(
            14, "before the end", after: off, hears: { $0.autoRenewOn(at: epoch + 2 * day) }, leaves: \.willRenew),
        MappingStory(
            15, "after the end", hasTimers: true, after: off, hears: { $0.autoRenewOn(at: $0.expires + hour) },
            leaves: { $0.accessUntil == epoch + 30 * day }),
        MappingStory(
            16, "at once", after: started, hears: { $0.upgrade(to: "pro_yearly", price: 59990, at: epoch + day) }),
        MappingStory(
            16, "at once", "the old transaction is not known to be upgraded", after: started,
            hears: { life in
                let upgrade = life.upgrade(to: "pro_yearly", price: 59990, at: epoch + day)
                life.transactions[0].isUpgraded = false
                return upgrade
            }),
        MappingStory(
            16, "at once, from one trial into another", after: onTrial,
            hears: { life in
                life.transactions[0].isUpgraded = true
                life.product = "pro_yearly"
                life.addPeriod(from: epoch + day, to: epoch + 15 * day, offer: .trial)
                return life.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", at: epoch + day)
            }),
        MappingStory(
            17, "from the next renewal on", after: started,
            hears: { $0.downgrade(to: "basic_monthly", price: 4990, at: epoch + day) },
            leaves: { $0.latest.productID == "pro_monthly" }),
        MappingStory(
            18, "a pending change is taken back", after: changing, hears: { $0.keepPlan(at: epoch + 2 * day) },
            leaves: { $0.pendingProductID == nil }),
    ]

    private static let offers: [MappingStory] = [
        MappingStory(19, "the same product, at once", after: started, hears: { $0.redeemAtOnce(at: epoch + day) }),
        MappingStory(
            19, "the same product, from the next renewal on", after: started,
            hears: { $0.redeemForNextRenewal(at: epoch + day) }),
        MappingStory(19, "a first purchase, as told until 2024", hears: { $0.redeemToStart(at: epoch) }),
        MappingStory(
            19, "a resubscription, as told until 2024", after: lapsed,
            hears: { $0.redeemToResubscribe(at: $0.expires + day) }),
        MappingStory(
            20, "an upgrade by an offer", after: started,
            hears: { $0.redeemUpgrade(to: "pro_yearly", price: 59990, at: epoch + day) }),
        MappingStory(
            21, "a downgrade by an offer", after: started,
            hears: { $0.redeemDowngrade(to: "basic_monthly", price: 4990, at: epoch + day) }),
    ]

    // MARK: - Failures and ends

    private static let failures: [MappingStory] = [
        MappingStory(
            22, "in grace", after: started,
            hears: { $0.billingFailure(graceUntil: $0.expires + 6 * day, at: $0.expires) },
            leaves: { $0.status(at: $0.latest.paidUntil ?? 0) == .grace }),
        MappingStory(
            22, "in grace", "before the period's end", after: started,
            hears: { $0.billingFailure(graceUntil: $0.expires + 6 * day, at: $0.expires - hour) }),
        MappingStory(
            23, "without grace", after: started, hears: { $0.billingFailure(at: $0.expires) },
            leaves: { $0.status(at: $0.latest.paidUntil ?? 0) == .billingRetry }),
        MappingStory(
            23, "without grace, before the period's end", after: started,
            hears: { $0.billingFailure(at: $0.expires - hour) }),
        MappingStory(24, "still unpaid", after: inGrace, hears: { $0.graceOver(at: $0.expires + 6 * day) }),
    ]

    private static let ends: [MappingStory] = [
        MappingStory(25, "switched off before", after: off, hears: { $0.expire(at: $0.expires) }),
        MappingStory(
            26, "no end was told", "the failure was never heard of", after: started,
            hears: { $0.expire("BILLING_RETRY", at: $0.expires + 60 * day) }),
        MappingStory(
            27, "the end was told", "with the failure", after: inRetry,
            hears: { $0.expire("BILLING_RETRY", at: $0.expires + 60 * day) }, leaves: { $0.retryEndsAt == nil }),
        MappingStory(
            27, "the end was told", "when grace ran out", hasTimers: true, after: inGrace,
            hears: { $0.expire("BILLING_RETRY", at: $0.expires + 60 * day) }),
        MappingStory(
            28, "no cancellation was told", "asked before", after: asked,
            hears: { $0.expire("PRICE_INCREASE", at: $0.expires) }),
        MappingStory(
            28, "no cancellation was told", "the question was never heard of", after: started,
            hears: { $0.expire("PRICE_INCREASE", at: $0.expires) }),
        MappingStory(
            28, "a cancellation was told", after: off, hears: { $0.expire("PRICE_INCREASE", at: $0.expires) }),
        MappingStory(
            29, "the product is not sold any more", after: started,
            hears: { $0.expire("PRODUCT_NOT_FOR_SALE", at: $0.expires) }),
        MappingStory(30, "another reason", after: started, hears: { $0.expire(nil, at: $0.expires) }),
        MappingStory(31, "consent is needed", after: started, hears: { $0.askConsent(at: epoch + day) }),
        MappingStory(32, "consent was asked for", after: asked, hears: { $0.giveConsent(at: epoch + 2 * day) }),
        MappingStory(32, "consent was not asked for", after: started, hears: { $0.giveConsent(at: epoch + day) }),
    ]

    // MARK: - Money that goes back

    private static let refunds: [MappingStory] = [
        MappingStory(
            33, "the latest period, which runs", after: started, hears: { $0.refund(at: epoch + day) },
            leaves: { $0.status(at: epoch + day) == .revoked }),
        MappingStory(
            33, "the latest period, which is over", after: lapsed, hears: { $0.refund(at: $0.expires + day) }),
        MappingStory(
            34, "an earlier period", after: renewed, hears: { $0.refund(0, at: $0.expires - day) },
            leaves: { $0.status(at: ($0.accessUntil ?? 0) - 1) == .active }),
        MappingStory(
            35, "a period that an upgrade replaced",
            after: {
                started(&$0)
                _ = $0.upgrade(to: "pro_yearly", price: 59990, at: epoch + day)
            }, hears: { $0.refund(0, at: epoch + 2 * day) }, leaves: { $0.status(at: epoch + 3 * day) == .active }),
        MappingStory(36, "bought once", "a consumable", after: bought, hears: { $0.refund(at: epoch + day) }),
        MappingStory(
            36, "bought once", "a non-consumable",
            after: { _ = $0.buyOnce("pro_lifetime", kind: "Non-Consumable", at: epoch) },
            hears: { $0.refund(at: epoch + day) }, leaves: { !$0.hasAccess(at: epoch + day) }),
        MappingStory(
            36, "bought once", "a non-renewing subscription",
            after: { _ = $0.buyOnce("season", kind: "Non-Renewing Subscription", at: epoch) },
            hears: { $0.refund(at: epoch + day) }),
        MappingStory(
            33, "the latest period, again after a reversal",
            after: {
                started(&$0)
                _ = $0.refund(at: epoch + day, revoked: epoch + day)
                _ = $0.refundReversed(at: epoch + 2 * day)
            }, hears: { $0.refund(at: epoch + 3 * day, revoked: epoch + day) },
            leaves: { $0.status(at: epoch + 3 * day) == .revoked }),
        MappingStory(
            36, "a part of a consumable",
            after: { _ = $0.buyOnce("coins_100", price: 4000, quantity: 4, at: epoch) },
            hears: { $0.refund(at: epoch + day, share: 25_000) }, leaves: { $0.hasAccess(at: epoch + 2 * day) }),
        MappingStory(
            36, "another amount than was told",
            after: {
                bought(&$0)
                _ = $0.refund(at: epoch + day, share: 25_000)
            }, hears: { $0.refund(at: epoch + 2 * day, revoked: epoch + day, share: 50_000) }),
        MappingStory(37, "nothing changes", after: started, hears: { $0.refundDeclined(at: epoch + day) }),
        MappingStory(
            37, "nothing changes", "bought once", after: bought, hears: { $0.refundDeclined(at: epoch + day) }),
        MappingStory(
            38, "the refund was told",
            after: {
                started(&$0)
                _ = $0.refund(at: epoch + day)
            }, hears: { $0.refundReversed(at: epoch + 2 * day) }, leaves: { $0.status(at: epoch + 2 * day) == .active }),
        MappingStory(
            38, "the refund was of an earlier period",
            after: {
                renewed(&$0)
                _ = $0.refund(0, at: $0.expires - 2 * day)
            }, hears: { $0.refundReversed(0, at: $0.expires - day) }),
        MappingStory(
            38, "what the family shared is given back", isFamily: true,
            after: {
                started(&$0)
                _ = $0.familyRevoke(at: epoch + day)
            }, hears: { $0.refundReversed(at: epoch + 2 * day) },
            leaves: { $0.status(at: epoch + 2 * day) == .active }),
        MappingStory(
            39, "Apple asks before it decides", after: started, hears: { $0.consumptionRequest(at: epoch + day) }),
    ]

    // MARK: - Others

    private static let others: [MappingStory] = [
        MappingStory(
            40, "the end was moved to later", after: started, hears: { $0.extend(by: day, at: epoch + day) },
            leaves: { $0.accessUntil == epoch + 31 * day }),
        MappingStory(
            40, "from one past instant to another", hasTimers: true, after: started,
            hears: { $0.extend(by: day, at: $0.expires + 5 * day) },
            leaves: { $0.accessUntil == epoch + 31 * day }),
        MappingStory(
            41, "a mass extension is done", after: started,
            hears: { $0.notifyAlone("RENEWAL_EXTENSION", "SUMMARY", at: epoch + day) }),
        MappingStory(
            41, "a mass extension left one out", after: started,
            hears: { $0.notify("RENEWAL_EXTENSION", "FAILURE", at: epoch + day) }),
        MappingStory(
            42, "a member lost what the family shared", isFamily: true, after: started,
            hears: { $0.familyRevoke(at: epoch + day) }, leaves: { $0.status(at: epoch + day) == .revoked }),
        MappingStory(
            42, "a member lost what the family shared", "bought once", isFamily: true,
            after: { _ = $0.buyOnce("pro_lifetime", kind: "Non-Consumable", at: epoch) },
            hears: { $0.familyRevoke(at: epoch + day) }),
        MappingStory(43, "bought once", "a consumable", hears: { $0.buyOnce("coins_100", at: epoch) }),
        MappingStory(
            43, "bought once", "a non-consumable",
            hears: { $0.buyOnce("pro_lifetime", kind: "Non-Consumable", at: epoch) }),
        MappingStory(
            43, "bought once", "a non-renewing subscription",
            hears: { $0.buyOnce("season", kind: "Non-Renewing Subscription", at: epoch) }),
        MappingStory(
            43, "bought once, shared by the family", isFamily: true,
            hears: { $0.buyOnce("pro_lifetime", kind: "Non-Consumable", at: epoch) }),
        MappingStory(44, "about no purchase", hears: { $0.notifyAlone("TEST", at: epoch) }),
        MappingStory(
            44, "about no purchase", "beside one", after: started, hears: { $0.notifyAlone("TEST", at: epoch + day) }),
        MappingStory(
            45, "a token that nothing was reported for",
            hears: { $0.notifyAlone("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", at: epoch) }),
        MappingStory(45, "a new token", hears: { $0.notifyAlone("EXTERNAL_PURCHASE_TOKEN", "CREATED", at: epoch) }),
        MappingStory(
            45, "a token that is active",
            hears: { $0.notifyAlone("EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER", at: epoch) }),
        MappingStory(46, "new metadata", after: started, hears: { $0.notify("METADATA_UPDATE", at: epoch + day) }),
        MappingStory(
            46, "taken over by Advanced Commerce", after: started, hears: { $0.notify("MIGRATION", at: epoch + day) }),
        MappingStory(
            46, "to a new original transaction id", after: started,
            hears: { life in
                life = life.migrated(to: "2000", at: epoch + 5 * day)
                return life.notify("MIGRATION", at: epoch + 5 * day)
            }, leaves: { $0.continuation?.of == "1000" && $0.latest.number == 2 }),
        MappingStory(
            46, "another price from the next renewal on", after: started,
            hears: { life in
                life.renewal.renewalPrice = 12_990
                return life.notify("PRICE_CHANGE", at: epoch + day)
            }),
        MappingStory(
            46, "a guardian withdrew consent to the app", hears: { $0.notifyAlone("RESCIND_CONSENT", at: epoch) }),
        MappingStory(
            47, "signed before what is known, about nothing new", "a switch that was undone",
            after: {
                off(&$0)
                _ = $0.autoRenewOn(at: epoch + 2 * day)
            }, hears: { $0.tellings[1] }, leaves: \.willRenew),
        MappingStory(
            47, "signed before what is known, about nothing new", "a failure that was made good",
            after: {
                inGrace(&$0)
                _ = $0.renew(at: $0.expires + day, recovery: true)
            }, hears: { $0.tellings[1] }, leaves: { $0.billingFailure == nil }),
        MappingStory(
            47, "signed before what is known, about nothing new", "an end before a resubscription",
            after: {
                lapsed(&$0)
                _ = $0.resubscribe(at: $0.expires + day)
            }, hears: { $0.tellings[2] }, leaves: { $0.status(at: epoch + 40 * day) == .active }),
        MappingStory(
            48, "a purchase heard of first by its renewal",
            hears: {
                _ = $0.start()
                return $0.renew(at: $0.expires)
            }),
        MappingStory(
            48, "a purchase heard of first when it is switched off",
            hears: {
                _ = $0.start()
                return $0.autoRenewOff(at: epoch + day)
            }),
        MappingStory(
            49, "a period that had begun by the date of a refund that was told",
            after: { life in
                started(&life)
                _ = life.renew(at: life.expires)
                _ = life.refund(0, at: life.expires - 5 * day)
                _ = life.post(0, at: life.expires - 4 * day)
                life.tellings.removeSubrange(1...2)
            },
            hears: { life in life.notify("DID_RENEW", at: life.expires - 3 * day) }),
    ]
}
