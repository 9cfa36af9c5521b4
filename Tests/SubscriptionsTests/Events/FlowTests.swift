import Subscriptions
import Testing

/// One flow of the event format each; after every step exactly the events that are new.
struct FlowTests {
    @Test(
        arguments: [
            (nil, PeriodType.normal), (Life.Offer.trial, .trial), (.intro, .introductory), (.code, .trial),
            (.paidCode, .introductory), (.promotional, .normal), (.winBack, .normal),
        ] as [(Life.Offer?, PeriodType)])
    func `a start is an initial purchase of the period's type`(offer: Life.Offer?, type: PeriodType) throws {
        let (_, _, drafts) = Story.begin(offer: offer)
        let draft = try #require(drafts.first)
        #expect(drafts.names == ["INITIAL_PURCHASE"])
        #expect(draft.period.type == type)
        #expect(draft.period.number == 1)
        #expect(draft.payment == .received(draft.period.charge))
    }

    @Test func `a trial that becomes paid is a renewal and a conversion`() throws {
        var (life, story, _) = Story.begin(lasts: 7 * day, offer: .trial)
        let drafts = story.hear(life.renew(at: life.expires - hour))
        #expect(drafts.names == ["RENEWAL"])
        let renewal = try #require(drafts.first)
        #expect(renewal.isTrialConversion)
        #expect(renewal.period.number == 2)
        #expect(renewal.period.type == .normal)
        let again = story.hear(life.renew(at: life.expires - hour))
        #expect(again.names == ["RENEWAL"])
        #expect(again.first?.isTrialConversion == false)
    }

    @Test func `a trial that is cancelled ends unsubscribed`() {
        var (life, story, _) = Story.begin(lasts: 7 * day, offer: .trial)
        #expect(story.hear(life.autoRenewOff(at: epoch + day)).names == ["CANCELLATION(UNSUBSCRIBE)"])
        let end = story.hear(life.expire(at: life.expires + second))
        #expect(end.names == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(end.first?.payment == EventDraft.Payment.none)
    }

    @Test func `a cancellation that is taken back is told both times`() {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.autoRenewOff(at: epoch + day)).names == ["CANCELLATION(UNSUBSCRIBE)"])
        #expect(story.purchase?.willRenew == false)
        #expect(story.hear(life.autoRenewOn(at: epoch + 2 * day)).names == ["UNCANCELLATION"])
        #expect(story.purchase?.willRenew == true)
        #expect(story.hear(life.autoRenewOff(at: epoch + 3 * day)).names == ["CANCELLATION(UNSUBSCRIBE)"])
        #expect(story.hear(life.autoRenewOn(at: epoch + 4 * day)).names == ["UNCANCELLATION"])
        #expect(story.hear(life.renew(at: life.expires)).names == ["RENEWAL"])
    }

    @Test func `an expiry is noticed without a notification and told once`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        #expect(
            story.purchase?.nextWake(after: epoch + day, confirmation: ExpiryConfirmation(patience: day))
                == life.expires)
        #expect(story.wait(until: life.expires - 1).isEmpty)
        #expect(story.wait(until: life.expires).names == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(story.hear(life.expire(at: life.expires + hour)).isEmpty)
    }

    @Test func `a resubscription after the end is a renewal of the other product`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        _ = story.hear(life.expire(at: life.expires + second))
        let drafts = story.hear(life.resubscribe(product: "pro_yearly", at: life.expires + day))
        #expect(drafts.names == ["RENEWAL"])
        #expect(drafts.first?.period.productID == "pro_yearly")
        #expect(story.purchase?.status(at: life.latest.purchaseDate + 1) == .active)
    }

    @Test func `a resubscription that is heard of first by its switch-off is told with it`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        _ = story.hear(life.expire(at: life.expires + second))
        let again = life.resubscribe(at: life.expires + 5 * day)
        let off = life.autoRenewOff(at: life.latest.purchaseDate + day)
        #expect(story.hear(off).names == ["RENEWAL", "CANCELLATION(UNSUBSCRIBE)"])
        #expect(story.hear(again, now: off.signed + hour).isEmpty)
        #expect(story.purchase?.autoRenewOffSince == off.signed)
    }

    @Test func `auto-renewal switched on after the end is not told`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        _ = story.wait(until: life.expires)
        #expect(story.hear(life.autoRenewOn(at: life.expires + hour)).isEmpty)
    }

    @Test func `a billing failure in grace that is made good`() {
        var (life, story, _) = Story.begin()
        let grace = life.expires + 16 * day
        let drafts = story.hear(life.billingFailure(graceUntil: grace, at: life.expires - hour))
        #expect(drafts.names == ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)"])
        #expect(drafts.first?.graceUntil == grace)
        #expect(story.purchase?.status(at: life.expires - 1) == .active)
        #expect(story.purchase?.status(at: life.expires) == .grace)
        let recovered = story.hear(life.renew(at: life.expires + 3 * day, recovery: true))
        #expect(recovered.names == ["RENEWAL"])
        #expect(story.purchase?.status(at: life.latest.purchaseDate + 4 * day) == .active)
        #expect(story.purchase?.billingFailure == nil)
    }

    @Test func `a grace that runs out ends once, and the end of retries is quiet`() {
        var (life, story, _) = Story.begin()
        let grace = life.expires + 6 * day
        _ = story.hear(life.billingFailure(graceUntil: grace, at: life.expires - hour))
        #expect(story.purchase?.nextWake(after: life.expires, confirmation: ExpiryConfirmation(patience: day)) == grace)
        #expect(story.wait(until: grace).names == ["EXPIRATION(BILLING_ERROR)"])
        #expect(story.hear(life.graceOver(at: grace + second)).isEmpty)
        #expect(story.purchase?.status(at: grace + second) == .billingRetry)
        #expect(story.hear(life.expire("BILLING_RETRY", at: grace + 30 * day)).isEmpty)
        #expect(story.purchase?.status(at: grace + 30 * day) == .expired)
        #expect(story.purchase?.accessUntil == grace)
    }

    @Test func `a billing failure without grace ends access at once, or at the expiry that is in the future`() {
        var (late, lateStory, _) = Story.begin()
        let drafts = lateStory.hear(late.billingFailure(at: late.expires + hour))
        #expect(drafts.names == ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)", "EXPIRATION(BILLING_ERROR)"])
        #expect(drafts.first?.graceUntil == nil)
        var (early, story, _) = Story.begin()
        #expect(
            story.hear(early.billingFailure(at: early.expires - hour)).names
                == ["BILLING_ISSUE", "CANCELLATION(BILLING_ERROR)"])
        #expect(story.wait(until: early.expires).names == ["EXPIRATION(BILLING_ERROR)"])
        #expect(story.hear(early.renew(at: early.expires + day, recovery: true)).names == ["RENEWAL"])
    }

    @Test func `grace that is heard of after access had ended is told without a second cancellation`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.billingFailure(at: life.expires))
        let grace = life.expires + 6 * day
        let drafts = story.hear(life.billingFailure(graceUntil: grace, at: life.expires + hour))
        #expect(drafts.names == ["BILLING_ISSUE"])
        #expect(drafts.first?.graceUntil == grace)
        #expect(story.hear(life.autoRenewOff(at: life.expires + 2 * hour)).isEmpty)
    }

    @Test func `auto-renewal that is switched off while a charge is retried is not told`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.billingFailure(graceUntil: life.expires + 6 * day, at: life.expires - hour))
        #expect(story.hear(life.autoRenewOff(at: life.expires + hour)).isEmpty)
        #expect(story.hear(life.autoRenewOn(at: life.expires + 2 * hour)).isEmpty)
    }

    @Test func `an upgrade is a product change and a renewal, in this order`() {
        var (life, story, _) = Story.begin()
        let drafts = story.hear(life.upgrade(to: "pro_yearly", price: 59990, at: epoch + 10 * day))
        #expect(drafts.names == ["PRODUCT_CHANGE", "RENEWAL"])
        #expect(drafts.first?.period.productID == "pro_monthly")
        #expect(drafts.first?.newProductID == "pro_yearly")
        #expect(drafts.last?.period.productID == "pro_yearly")
        #expect(story.purchase?.pendingProductID == nil)
    }

    @Test func `a downgrade is told when chosen, and its renewal later`() {
        var (life, story, _) = Story.begin()
        let change = story.hear(life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day))
        #expect(change.names == ["PRODUCT_CHANGE"])
        #expect(change.first?.period.productID == "pro_monthly")
        #expect(change.first?.newProductID == "basic_monthly")
        #expect(story.purchase?.latest.productID == "pro_monthly")
        let renewal = story.hear(life.renew(at: life.expires - hour))
        #expect(renewal.names == ["RENEWAL"])
        #expect(renewal.first?.period.transaction.price == 4990)
        #expect(story.purchase?.latest.productID == "basic_monthly")
        #expect(story.purchase?.pendingProductID == nil)
    }

    @Test func `a downgrade that is taken back is told once`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day))
        #expect(story.hear(life.keepPlan(at: epoch + 2 * day)).isEmpty)
    }

    @Test func `an extension has the new end`() {
        var (life, story, _) = Story.begin()
        let drafts = story.hear(life.extend(by: 7 * day, at: epoch + day))
        #expect(drafts.names == ["SUBSCRIPTION_EXTENDED"])
        #expect(drafts.first?.expiration == life.expires)
    }

    @Test func `an extension after the end was told gives access back`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.expire(at: life.expires))
        #expect(story.hear(life.extend(by: 7 * day, at: life.expires + day)).names == ["SUBSCRIPTION_EXTENDED"])
        #expect(story.purchase?.hasAccess(at: life.expires - 1) == true)
    }

    @Test func `a price increase that is accepted`() {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.askConsent(at: epoch + day)).names == ["PRICE_INCREASE_CONSENT_REQUIRED"])
        #expect(story.hear(life.askConsent(at: epoch + 2 * day)).isEmpty)
        #expect(story.hear(life.giveConsent(at: epoch + 3 * day)).names == ["PRICE_INCREASE_CONSENT_APPROVED"])
    }

    @Test func `a price increase that needs no consent is not told`() {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.giveConsent(at: epoch + day)).isEmpty)
    }

    @Test func `a price increase that is refused is one cancellation, then the end`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.askConsent(at: epoch + day))
        let early = story.hear(life.expire("PRICE_INCREASE", at: life.expires - second))
        #expect(early.names == ["CANCELLATION(PRICE_INCREASE)"])
        #expect(story.hear(life.expire("PRICE_INCREASE", at: life.expires)).names == ["EXPIRATION(PRICE_INCREASE)"])
    }

    @Test func `a price increase that is refused is no cancellation once the end or another one was told`() {
        var (ended, endedStory, _) = Story.begin()
        #expect(endedStory.wait(until: ended.expires + day).names == ["EXPIRATION(UNKNOWN)"])
        #expect(endedStory.hear(ended.expire("PRICE_INCREASE", at: ended.expires + day)).isEmpty)
        var (unpaid, story, _) = Story.begin()
        _ = story.hear(unpaid.billingFailure(graceUntil: unpaid.expires + 6 * day, at: unpaid.expires))
        let late = story.hear(unpaid.expire("PRICE_INCREASE", at: unpaid.expires + 7 * day))
        #expect(late.names == ["EXPIRATION(PRICE_INCREASE)"])
    }

    @Test func `an end that nobody was there to tell has the reason that Apple gave later`() {
        var (life, story, _) = Story.begin()
        let end = life.expire("BILLING_RETRY", at: life.expires + 60 * day)
        #expect(story.hear(end).names == ["EXPIRATION(BILLING_ERROR)"])
    }

    @Test func `an end that no timer noticed is told with its reason when auto-renewal is switched on after it`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        #expect(story.hear(life.autoRenewOn(at: life.expires + hour)).names == ["EXPIRATION(UNSUBSCRIBE)"])
    }

    @Test func `a downgrade is not told again when auto-renewal was off in between`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day))
        #expect(story.hear(life.autoRenewOff(at: epoch + 2 * day)).names == ["CANCELLATION(UNSUBSCRIBE)"])
        #expect(story.hear(life.autoRenewOn(at: epoch + 3 * day)).names == ["UNCANCELLATION"])
        _ = story.hear(life.keepPlan(at: epoch + 4 * day))
        let again = story.hear(life.downgrade(to: "basic_monthly", price: 4990, at: epoch + 5 * day))
        #expect(again.names == ["PRODUCT_CHANGE"])
    }

    @Test func `a downgrade that is heard of first while auto-renewal is off is told when it is on`() {
        var (life, _, _) = Story.begin()
        _ = life.autoRenewOff(at: epoch + day)
        life.renewal.autoRenewProductID = "basic_monthly"
        var story = Story(life.key)
        #expect(
            story.hear(life.notify("PRICE_CHANGE", at: epoch + 2 * day)).names
                == ["INITIAL_PURCHASE", "CANCELLATION(UNSUBSCRIBE)"])
        #expect(story.hear(life.autoRenewOn(at: epoch + 3 * day)).names == ["PRODUCT_CHANGE", "UNCANCELLATION"])
    }

    @Test func `an offer that waits for the next renewal is that renewal's`() {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.redeemForNextRenewal(at: epoch + day)).isEmpty)
        let renewal = story.hear(life.renew(at: life.expires, offer: .paidCode))
        #expect(renewal.names == ["RENEWAL"])
        #expect(renewal.first?.period.transaction.offerIdentifier == "CODE_2026")
    }

    @Test func `a family member's share that is taken away is an expiration only`() {
        var (life, story, drafts) = Story.begin(isFamily: true)
        #expect(drafts.names == ["INITIAL_PURCHASE"])
        #expect(story.hear(life.familyRevoke(at: epoch + day)).names == ["EXPIRATION(UNKNOWN)"])
        #expect(story.purchase?.status(at: epoch + day) == .revoked)
    }

    @Test func `a one-time purchase and its refund and reversal are money only`() {
        var life = Life("2000")
        var story = Story(life.key)
        let bought = story.hear(life.buyOnce("coins_100", at: epoch))
        #expect(bought.names == ["NON_RENEWING_PURCHASE"])
        #expect(bought.first?.expiration == nil)
        #expect(story.hear(life.refund(at: epoch + day)).names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
        #expect(story.hear(life.refundReversed(at: epoch + 2 * day)).names == ["REFUND_REVERSED"])
    }

    @Test func `a subscription that should renew is given patience, then ends`() {
        var (life, story, _) = Story.begin()
        #expect(story.wait(until: life.expires + day - 1).isEmpty)
        #expect(
            story.purchase?.nextWake(after: life.expires, confirmation: ExpiryConfirmation(patience: day)) == life
                .expires
                + day)
        #expect(story.wait(until: life.expires + day).names == ["EXPIRATION(UNKNOWN)"])
        #expect(story.hear(life.renew(at: life.expires + 2 * day)).names == ["RENEWAL"])
    }

    @Test(
        arguments: [
            ("CONSUMPTION_REQUEST", nil), ("REFUND_DECLINED", nil), ("RENEWAL_EXTENSION", "FAILURE"),
            ("METADATA_UPDATE", nil), ("MIGRATION", nil), ("PRICE_CHANGE", nil), ("SOMETHING_NEW", "ODD"),
        ] as [(String, String?)])
    func `what changes nothing sends nothing`(type: String, subtype: String?) {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.notify(type, subtype, at: epoch + day)).isEmpty)
    }

    @Test(
        arguments: [
            ("VOLUNTARY", EventReason.unsubscribe), ("BILLING_RETRY", .billingError),
            ("PRICE_INCREASE", .priceIncrease),
            ("PRODUCT_NOT_FOR_SALE", .unknown), (nil, .unknown),
        ] as [(String?, EventReason)])
    func `an expiry that comes first has Apple's reason, and only a refused price another event`(
        why: String?, reason: EventReason
    ) {
        var (life, story, _) = Story.begin()
        let drafts = story.hear(life.expire(why, at: life.expires + second))
        let refusal = why == "PRICE_INCREASE" ? ["CANCELLATION(PRICE_INCREASE)"] : []
        #expect(drafts.names == refusal + ["EXPIRATION(\(reason.rawValue))"])
    }

    @Test func `an unknown purchase that is heard of by its renewal is a renewal`() {
        var (life, _, _) = Story.begin()
        let renewal = life.renew(at: life.expires - hour)
        var story = Story(life.key)
        #expect(story.hear(renewal).names == ["RENEWAL"])
        #expect(story.hear(life.tellings[0]).names == ["INITIAL_PURCHASE"])
    }

    @Test func `an end that a notification without renewal info confirms needs no patience`() {
        var (life, story, _) = Story.begin()
        let end = life.notify("EXPIRED", at: life.expires + second, hasRenewal: false)
        #expect(story.hear(end).names == ["EXPIRATION(UNKNOWN)"])
    }

    @Test func `an expiry that was signed a little early is no cancellation`() {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.expire(at: life.expires - second)).isEmpty)
        #expect(story.wait(until: life.expires).names == ["EXPIRATION(UNSUBSCRIBE)"])
    }

    @Test func `a chain begins once, also where two periods look like its first`() {
        var (life, story, _) = Story.begin()
        var twin = life.start()
        twin.transaction?.purchaseDate = epoch
        #expect(twin.transaction?.transactionID != life.original)
        #expect(story.hear(twin).names.contains("RENEWAL"))
        #expect(story.told.count { $0.draft.type == .initialPurchase } == 1)
    }

    @Test func `a refund while a charge is retried is told, whatever day Apple names for the renewal`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.billingFailure(graceUntil: life.expires + 6 * day, at: life.expires - hour))
        life.renewal.renewalDate = life.expires + 6 * day
        #expect(
            story.hear(life.refund(at: life.expires - second)).names
                == ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"])
    }

    @Test func `a renewal that was charged after a switch-off shows that it is on again`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        _ = life.autoRenewOn(at: epoch + 2 * day)
        var renewal = life.renew(at: life.expires - hour)
        renewal.renewal = nil
        #expect(story.hear(renewal).names == ["RENEWAL"])
        #expect(story.purchase?.willRenew == true)
    }

    @Test func `consent is told once, also where the renewal tells of it first or passes it by`() {
        var (life, story, _) = Story.begin()
        #expect(story.hear(life.askConsent(at: epoch + day)).names == ["PRICE_INCREASE_CONSENT_REQUIRED"])
        var waiting = life
        let consent = life.giveConsent(at: epoch + 2 * day)
        var renewal = life.renew(at: life.expires - hour)
        renewal.renewal?.priceIncreaseStatus = 1
        var other = story
        #expect(story.hear(renewal).names == ["RENEWAL", "PRICE_INCREASE_CONSENT_APPROVED"])
        #expect(story.hear(consent, now: life.expires).isEmpty)
        var unanswered = waiting.renew(at: waiting.expires - hour)
        unanswered.renewal?.priceIncreaseStatus = 0
        #expect(other.hear(unanswered).names == ["RENEWAL"])
    }

    @Test func `an upgrade after a renewal was charged ahead takes its place, in any order`() throws {
        var life = Life()
        _ = life.start()
        let end = life.expires
        _ = life.renew(at: end - 20 * hour)
        let renewal = life.latest.transactionID
        _ = life.upgrade(to: "pro_yearly", price: 59990, at: end - 2 * hour, lasts: 365 * day)
        var story = Story(life.key)
        let names = life.tellings.flatMap { story.hear($0).names }
        #expect(names == ["INITIAL_PURCHASE", "RENEWAL", "PRODUCT_CHANGE", "RENEWAL"])
        for order in [life.tellings, life.tellings.reversed()] {
            var other = Story(life.key)
            for telling in order { _ = other.hear(telling, now: end) }
            let purchase = try #require(other.purchase)
            #expect(purchase.latest.productID == "pro_yearly")
            #expect(purchase.period(renewal)?.paidUntil == end - 2 * hour)
            #expect(purchase.accessUntil == end - 2 * hour + 365 * day)
            #expect(other.wait(until: end + 40 * day).isEmpty)
        }
    }

    @Test func `a renewal charged ahead that nothing replaced stays`() throws {
        var life = Life()
        _ = life.start()
        let end = life.expires
        _ = life.renew(at: end - 20 * hour)
        _ = life.downgrade(to: "basic_monthly", price: 4990, at: end - 2 * hour)
        let purchase = try #require(life.purchase())
        #expect(purchase.latest.productID == "pro_monthly")
        #expect(!purchase.latest.transaction.isUpgraded)
        #expect(purchase.accessUntil == end + 30 * day)
    }
}
