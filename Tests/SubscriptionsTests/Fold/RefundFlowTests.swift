import Subscriptions
import Testing

/// Money that goes back, in one story each: what is told of it, and when it ends access.
struct RefundFlowTests {
    @Test func `a refund of the latest period takes access at the moment it was revoked`() {
        var (life, story, _) = Story.begin()
        let drafts = story.hear(life.refund(at: epoch + day))
        #expect(drafts.names == ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"])
        let price = Charge(currency: "USD", milliunits: 9990)
        #expect(drafts.map(\.payment) == [.returned(price), .none])
        #expect(drafts.allSatisfy { $0.expiration == life.latest.revocationDate })
        #expect(story.purchase?.status(at: epoch + day) == .revoked)
        let back = story.hear(life.refundReversed(at: epoch + 2 * day))
        #expect(back.names == ["REFUND_REVERSED"])
        #expect(back.first?.expiration == life.expires)
        #expect(back.first?.payment == .received(price))
        #expect(story.purchase?.status(at: epoch + 2 * day) == .active)
        #expect(
            story.hear(life.refund(at: epoch + 3 * day)).names
                == ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"])
    }

    @Test func `a refund of an earlier period and its reversal are quiet`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.renew(at: life.expires - hour))
        #expect(story.hear(life.refund(0, at: life.latest.purchaseDate + day)).isEmpty)
        #expect(story.purchase?.status(at: life.expires - 1) == .active)
        #expect(story.hear(life.refundReversed(0, at: life.latest.purchaseDate + 2 * day)).isEmpty)
    }

    @Test func `a refund is quiet where the renewal info tells of a later subscription that was never heard of`() {
        var (life, story, _) = Story.begin()
        _ = life.resubscribe(at: life.expires + day)
        let refund = life.refund(0, at: life.latest.purchaseDate + day)
        #expect(story.hear(refund).names.filter { $0 == "CANCELLATION(CUSTOMER_SUPPORT)" }.isEmpty)
        #expect(story.purchase?.isLatestSuperseded == true)
        let reversal = life.refundReversed(0, at: life.latest.purchaseDate + 2 * day)
        #expect(!story.hear(reversal).names.contains("REFUND_REVERSED"))
    }

    @Test func `a refund that was told is reversed aloud even when a new period came between`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.refund(at: epoch + day))
        _ = story.hear(life.resubscribe(at: epoch + 2 * day))
        #expect(story.hear(life.refundReversed(0, at: epoch + 3 * day)).names == ["REFUND_REVERSED"])
    }

    @Test func `a refund that comes late is told if its period was the latest when it was signed`() {
        var (life, story, _) = Story.begin()
        let refund = life.refund(at: epoch + day)
        let again = life.resubscribe(at: epoch + 2 * day)
        let reversal = life.refundReversed(0, at: epoch + 3 * day)
        #expect(story.hear(again).names.contains("RENEWAL"))
        #expect(story.hear(refund).names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
        #expect(story.hear(reversal).names == ["REFUND_REVERSED"])
    }

    @Test func `a refund after the end takes money and no access`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.autoRenewOff(at: epoch + day))
        _ = story.wait(until: life.expires)
        #expect(story.hear(life.refund(at: life.expires + 5 * day)).names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
        #expect(story.purchase?.accessUntil == life.expires)
    }

    @Test func `a refund after grace had run out ends nothing again`() {
        var (life, story, _) = Story.begin()
        let grace = life.expires + 6 * day
        _ = story.hear(life.billingFailure(graceUntil: grace, at: life.expires - hour))
        #expect(story.wait(until: grace).names == ["EXPIRATION(BILLING_ERROR)"])
        #expect(story.hear(life.refund(at: grace + day)).names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
        #expect(story.purchase?.accessUntil == grace)
        #expect(story.hear(life.refundReversed(at: grace + 2 * day)).names == ["REFUND_REVERSED"])
    }

    @Test func `a refund in grace ends access when it was made, and its reversal gives the grace back`() {
        var (life, story, _) = Story.begin()
        let grace = life.expires + 6 * day
        _ = story.hear(life.billingFailure(graceUntil: grace, at: life.expires - hour))
        let refund = story.hear(life.refund(at: life.expires + day))
        #expect(refund.names == ["CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)"])
        #expect(story.purchase?.accessUntil == life.latest.revocationDate)
        #expect(story.purchase?.status(at: life.expires + day) == .revoked)
        #expect(story.hear(life.refundReversed(at: life.expires + 2 * day)).names == ["REFUND_REVERSED"])
        #expect(story.purchase?.accessUntil == grace)
        #expect(story.wait(until: grace).names == ["EXPIRATION(BILLING_ERROR)"])
    }

    @Test func `a revocation date that is corrected is no second refund and no second end`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.refund(at: epoch + day))
        let corrected = story.hear(life.refund(at: epoch + 2 * day, revoked: epoch + hour))
        #expect(corrected.isEmpty)
        #expect(story.purchase?.accessUntil == epoch + hour)
        #expect(story.hear(life.refundReversed(at: epoch + 3 * day)).names == ["REFUND_REVERSED"])
    }

    @Test func `an upgrade that is heard of first by the old period's refund ends nothing`() {
        var (life, story, _) = Story.begin()
        _ = story.hear(life.renew(at: life.expires - hour))
        let upgraded = life.latest
        let upgrade = life.upgrade(to: "pro_yearly", price: 59990, at: upgraded.purchaseDate + day)
        #expect(story.hear(life.refund(1, at: upgraded.purchaseDate + day + second)).isEmpty)
        #expect(story.purchase?.latest.id == upgraded.transactionID)
        #expect(story.hear(upgrade).names == ["PRODUCT_CHANGE", "RENEWAL"])
    }

    @Test func `a refund of an earlier period that is heard of before the renewal is quiet`() {
        var (life, story, _) = Story.begin()
        let renewal = life.renew(at: life.expires - hour)
        let refund = life.refund(0, at: life.latest.purchaseDate - 30 * second)
        #expect(story.hear(refund).isEmpty)
        #expect(story.hear(renewal, now: refund.signed + hour).names == ["RENEWAL"])
        #expect(story.hear(life.refundReversed(0, at: refund.signed + day)).isEmpty)
    }

    @Test func `a refund of an upgraded period whose successor has not come yet is quiet`() {
        var (life, story, _) = Story.begin()
        let upgrade = life.upgrade(to: "pro_yearly", price: 59990, at: epoch + day)
        #expect(story.hear(life.refund(0, at: epoch + day + second)).isEmpty)
        #expect(story.hear(upgrade).names == ["PRODUCT_CHANGE", "RENEWAL"])
    }

    @Test func `a refund that is signed after the end tells no second end, whenever it took effect`() {
        for grace in [nil, 6 * day] {
            var life = Life()
            var story = Story(life.key)
            _ = story.hear(life.start())
            if let grace {
                _ = story.hear(life.billingFailure(graceUntil: life.expires + grace, at: life.expires))
            } else {
                _ = story.hear(life.autoRenewOff(at: epoch + day))
            }
            let end = life.expires + (grace ?? 0)
            #expect(story.wait(until: end).map(\.type) == [.expiration])
            let refund = life.refund(at: end + day, revoked: end - hour)
            #expect(story.hear(refund).names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
            #expect(story.wait(until: end + 2 * day).isEmpty)
        }
    }
}
