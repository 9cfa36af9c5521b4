import Base
import Subscriptions
import Testing

/// What a purchase is at an instant.
struct StatusTests {
    @Test func `an end that Apple moved to later counts, whatever the notification says`() throws {
        var life = Life()
        _ = life.start()
        life.status = 2
        _ = life.notify("DID_RENEW", at: epoch + day)
        let purchase = try #require(life.purchase())
        #expect(purchase.status(at: epoch + 2 * day) == .active)
        #expect(purchase.status(at: life.expires) == .expired)
    }

    @Test func `grace without a date gives access until expiry, or for the grace that is configured`() throws {
        var life = Life()
        _ = life.start()
        life.status = 4
        life.renewal.isInBillingRetryPeriod = true
        _ = life.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", at: life.expires - hour)
        let strict = try #require(life.purchase())
        #expect(strict.accessUntil == life.expires)
        #expect(strict.status(at: life.expires) == .billingRetry)
        #expect(strict.billingFailure?.isGraceAssumed == false)
        let lenient = try #require(life.purchase(defaultGrace: 3 * day))
        #expect(lenient.accessUntil == life.expires + 3 * day)
        #expect(lenient.status(at: life.expires) == .grace)
        #expect(lenient.billingFailure?.isGraceAssumed == true)
        life.renewal.gracePeriodExpiresDate = life.expires + 6 * day
        _ = life.notify("DID_FAIL_TO_RENEW", "GRACE_PERIOD", at: life.expires)
        #expect(life.purchase(defaultGrace: 3 * day)?.billingFailure?.isGraceAssumed == false)
    }

    @Test func `an expiry signed after the grace does not move its end back`() throws {
        var life = Life()
        _ = life.start()
        let grace = life.expires + 6 * day
        _ = life.billingFailure(graceUntil: grace, at: life.expires)
        _ = life.expire("VOLUNTARY", at: grace + day)
        let purchase = try #require(life.purchase())
        #expect(purchase.accessUntil == grace)
        #expect(purchase.ending?.name == String(grace))
        #expect(purchase.billingFailure?.since == life.expires)
    }

    @Test func `an expiry signed within the grace ends it, under the name it had`() throws {
        var life = Life()
        _ = life.start()
        let grace = life.expires + 6 * day
        _ = life.billingFailure(graceUntil: grace, at: life.expires)
        _ = life.expire("VOLUNTARY", at: life.expires + 2 * day)
        let purchase = try #require(life.purchase())
        #expect(purchase.accessUntil == life.expires + 2 * day)
        #expect(purchase.ending?.name == String(grace))
    }

    @Test func `a retry is confirmed for sixty days`() throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(at: life.expires)
        let purchase = try #require(life.purchase())
        #expect(purchase.status(at: life.expires + 60 * day - 1) == .billingRetry)
        #expect(purchase.status(at: life.expires + 60 * day) == .expired)
        #expect(purchase.retryEndsAt == life.expires + 60 * day)
    }

    @Test func `nothing is retried without a failure, after a recovery, a refund, or an end of retries`() throws {
        var life = Life()
        _ = life.start()
        #expect(life.purchase()?.retryEndsAt == nil)
        _ = life.billingFailure(at: life.expires)
        #expect(life.purchase()?.retryEndsAt == life.expires + 60 * day)
        var refunded = life
        _ = refunded.refund(at: life.expires + hour)
        #expect(refunded.purchase()?.retryEndsAt == nil)
        var given = life
        _ = given.expire("BILLING_RETRY", at: life.expires + hour)
        #expect(given.purchase()?.retryEndsAt == nil)
        _ = life.renew(at: life.expires + hour, recovery: true)
        #expect(life.purchase()?.retryEndsAt == nil)
    }

    @Test func `a grace of an earlier failure is not the grace of a later one`() throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(graceUntil: life.expires + 100 * day, at: life.expires)
        _ = life.renew(at: life.expires + day, recovery: true)
        _ = life.billingFailure(at: life.expires + hour)
        let purchase = try #require(life.purchase())
        #expect(purchase.graceUntil == nil)
        #expect(purchase.billingFailure?.since == life.expires + hour)
    }

    @Test func `a new period without renewal info clears a failure and a switched-off renewal`() throws {
        var life = Life()
        _ = life.start()
        _ = life.autoRenewOff(at: epoch + day)
        _ = life.billingFailure(at: life.expires)
        _ = life.resubscribe(at: life.expires + 5 * day)
        var facts = PurchaseFacts()
        for telling in life.tellings {
            telling.transaction.map { _ = facts.insert($0) }
            if telling.notification.type != "SUBSCRIBED", let renewal = telling.renewal { facts.insert(renewal) }
        }
        let purchase = try #require(Purchase(folding: facts, key: life.key))
        #expect(purchase.billingFailure == nil)
        #expect(purchase.autoRenew == .on)
        #expect(purchase.willRenew)
    }

    @Test func `a renewal that was charged ahead of a cancellation stays cancelled since then`() throws {
        var life = Life()
        _ = life.start()
        _ = life.autoRenewOff(at: life.expires - 2 * hour)
        let off = life.expires - 2 * hour
        _ = life.renew(at: life.expires - hour)
        var facts = PurchaseFacts()
        for telling in life.tellings {
            telling.transaction.map { _ = facts.insert($0) }
            if telling.notification.type != "DID_RENEW", let renewal = telling.renewal { facts.insert(renewal) }
        }
        #expect(Purchase(folding: facts, key: life.key)?.autoRenewOffSince == off)
    }

    @Test func `off counts from the first time it was signed`() throws {
        var life = Life()
        _ = life.start()
        _ = life.autoRenewOff(at: epoch + day)
        _ = life.autoRenewOn(at: epoch + 2 * day)
        _ = life.autoRenewOff(at: epoch + 3 * day)
        _ = life.autoRenewOff(at: epoch + 4 * day)
        #expect(life.purchase()?.autoRenewOffSince == epoch + 3 * day)
        #expect(life.purchase()?.renewalObstacle == .switchedOff)
    }

    @Test func `an upgrade ends the old period, also after the new one was refunded and unmarked`() throws {
        var life = Life()
        _ = life.start()
        _ = life.upgrade(to: "pro_yearly", price: 59990, at: epoch + 10 * day, lasts: 365 * day)
        _ = life.refund(at: epoch + 12 * day)
        let purchase = try #require(life.purchase())
        #expect(!purchase.periods[0].transaction.isUpgraded)
        #expect(purchase.periods[0].paidUntil == epoch + 10 * day)
        #expect(purchase.status(at: epoch + 13 * day) == .revoked)
    }

    @Test func `an upgraded period that was charged ahead is not the latest`() throws {
        var life = Life()
        _ = life.start()
        _ = life.renew(at: life.expires - hour)
        let upgraded = life.latest.purchaseDate - hour / 2
        _ = life.upgrade(to: "pro_yearly", price: 59990, at: upgraded, lasts: 365 * day)
        _ = life.notify("REFUND_DECLINED", at: upgraded + second, about: 1)
        let purchase = try #require(life.purchase())
        #expect(purchase.latest.productID == "pro_yearly")
        #expect(purchase.periods.last?.supersededAt == upgraded)
        #expect(purchase.accessUntil == upgraded + 365 * day)
    }

    @Test func `a refund of a period that was charged ahead leaves the one that runs`() throws {
        var life = Life()
        _ = life.start()
        let first = life.expires
        _ = life.renew(at: first - hour)
        _ = life.refund(at: first - hour / 2)
        let purchase = try #require(life.purchase())
        #expect(purchase.status(at: first - 1) == .active)
        #expect(purchase.status(at: first) == .revoked)
        #expect(purchase.accessUntil == first)
        #expect(purchase.ending?.reason == .customerSupport)
    }

    @Test func `values that nobody knows do no harm`() throws {
        var life = Life()
        _ = life.start()
        life.renewal.priceIncreaseStatus = 42
        life.transactions[0].ownership = "LEASED"
        life.transactions[0].offerType = 99
        life.status = 77
        var story = Story(life.key)
        _ = story.hear(life.tellings[0])
        #expect(story.hear(life.notify("DID_RENEW", "ON_A_TUESDAY", at: epoch + day)).isEmpty)
        #expect(story.purchase?.status(at: epoch + day) == .active)
        #expect(story.purchase?.latest.type == .normal)
    }

    @Test(arguments: [Int64.min, .min + 1, -1, 0, .max - 1, .max])
    func `no instant from outside can trap`(instant: Int64) throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(graceUntil: instant, at: epoch + day)
        life.transactions[0].expiresDate = instant
        life.transactions[0].price = instant
        life.transactions[0].revocationDate = instant
        _ = life.notify("REFUND", at: epoch + 2 * day)
        life.transactions[0].purchaseDate = instant
        life.transactions[0].revocationDate = nil
        let last = life.notify("REFUND_REVERSED", at: epoch + 3 * day)
        var facts = life.facts
        var odd = try #require(last.transaction)
        odd.signedDate = instant
        facts.insert(odd)
        let purchase = try #require(
            Purchase(folding: facts, key: life.key, foldSettings: FoldSettings(defaultGrace: .milliseconds(Int64.max))))
        for now in [Int64.min, 0, .max] {
            _ = purchase.status(at: now)
            _ = purchase.nextWake(after: now, confirmation: ExpiryConfirmation(patience: .max))
            let drafts = EventDeriver(confirmation: ExpiryConfirmation(patience: .max)).events(
                before: nil, after: purchase, cause: .time, now: now)
            let body = EventBody(catalogue: EntitlementCatalogue(), rates: DollarRates(millionths: ["EUR": .max]))
            for draft in drafts {
                let identity = EventIdentity(appUserID: "a", originalAppUserID: "a", aliases: ["a"])
                #expect(!body.json(draft, id: "", identity: identity, appID: "x").bytes.isEmpty)
            }
        }
    }

    @Test func `nothing was bought without a transaction`() {
        var facts = PurchaseFacts()
        facts.insert(RenewalFact(originalTransactionID: "1", autoRenewStatus: 0, signedDate: 5, tie: []))
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")
        #expect(Purchase(folding: facts, key: key) == nil)
    }

    @Test func `a pending product is none while auto-renewal is off, or where it speaks of another period`() throws {
        var life = Life()
        _ = life.start()
        _ = life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day)
        #expect(life.purchase()?.pendingProductID == "basic_monthly")
        _ = life.autoRenewOff(at: epoch + 2 * day)
        #expect(life.purchase()?.pendingProductID == nil)
        _ = life.autoRenewOn(at: epoch + 3 * day)
        life.renewal.productID = "pro_weekly"
        _ = life.notify("PRICE_CHANGE", at: epoch + 4 * day)
        #expect(life.purchase()?.pendingProductID == nil)
    }

    @Test func `a refund in grace ends it`() throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(graceUntil: life.expires + 16 * day, at: life.expires)
        _ = life.refund(at: life.expires + day)
        let purchase = try #require(life.purchase())
        #expect(purchase.status(at: life.expires + hour) == .grace)
        #expect(purchase.status(at: life.expires + day) == .revoked)
        #expect(purchase.accessUntil == life.latest.revocationDate)
    }
}
