import Base
import Subscriptions
import Testing

/// A year that is paid by the month (Apple: Managing the life cycle of monthly subscriptions with a 12-month commitment).
struct CommitmentTests {
    private static func committed(period: Int64 = 3) -> (Life, Story) {
        var life = Life()
        life.addPeriod(from: epoch, to: epoch + 30 * day)
        life.commit(period: period)
        var story = Story(life.key)
        _ = story.hear(life.notify("SUBSCRIBED", "INITIAL_BUY", at: epoch))
        return (life, story)
    }

    @Test func `a cancelled year is told once, and its months renew until the last one`() throws {
        var (life, story) = Self.committed(period: 10)
        #expect(story.hear(life.commitmentOff(at: epoch + day)).names == ["CANCELLATION(UNSUBSCRIBE)"])
        var purchase = try #require(story.purchase)
        #expect(purchase.willRenew && purchase.cancelledSince == epoch + day && purchase.autoRenewOffSince == nil)
        for period in Int64(11)...12 {
            life.addPeriod(from: life.expires, to: life.expires + 30 * day, reason: "RENEWAL")
            life.renewal.commitment = RenewalFact.Commitment(autoRenewStatus: 0)
            life.commit(period: period)
            #expect(story.hear(life.notify("DID_RENEW", at: life.latest.purchaseDate)).names == ["RENEWAL"])
        }
        purchase = try #require(story.purchase)
        #expect(!purchase.willRenew && purchase.renewalObstacle == .switchedOff)
        #expect(purchase.cancelledSince == epoch + day)
        #expect(story.wait(until: life.expires).names == ["EXPIRATION(UNSUBSCRIBE)"])
    }

    @Test func `what was cancelled and then was not is told as such`() {
        var (life, story) = Self.committed()
        _ = story.hear(life.commitmentOff(at: epoch + day))
        #expect(story.hear(life.commitmentOff(at: epoch + 2 * day)).names == [])
        #expect(story.hear(life.commitmentOn(at: epoch + 3 * day)).names == ["UNCANCELLATION"])
        #expect(story.purchase?.cancelledSince == nil)
    }

    /// Before the last month a late renewal is no end of the year.
    @Test func `a month of a cancelled year is given time to renew`() {
        var (life, story) = Self.committed()
        _ = story.hear(life.commitmentOff(at: epoch + day))
        #expect(story.wait(until: life.expires + hour).names == [])
        #expect(story.wait(until: life.expires + day).names == ["EXPIRATION(UNKNOWN)"])
    }

    @Test
    func `the choice holds for a month that an app posted before its renewal info came, and not for the next year`()
        throws
    {
        var (life, story) = Self.committed()
        _ = story.hear(life.commitmentOff(at: epoch + day))
        life.addPeriod(from: life.expires, to: life.expires + 30 * day, reason: "RENEWAL")
        life.commit(period: 4)
        var posted = life.latest
        posted.signedDate = life.latest.purchaseDate
        _ = story.post(posted, now: posted.signedDate)
        #expect(story.purchase?.cancelledSince == epoch + day)
        var again = posted
        again.transactionID = "next"
        again.purchaseDate = life.expires + 400 * day
        again.expiresDate = again.purchaseDate + 30 * day
        again.signedDate = again.purchaseDate
        again.commitment?.billingPeriod = 1
        _ = story.post(again, now: again.signedDate)
        #expect(story.purchase?.cancelledSince == nil)
    }

    @Test func `Apple tries to charge for 90 days`() throws {
        var (life, story) = Self.committed()
        _ = story.hear(life.billingFailure(at: life.expires))
        let purchase = try #require(story.purchase)
        #expect(purchase.retryEndsAt == life.expires + 90 * day)
        #expect(purchase.status(at: life.expires + 80 * day) == .billingRetry)
        #expect(purchase.status(at: life.expires + 90 * day) == .expired)
    }

    @Test func `its terms are shown, and what happened to them`() throws {
        var (life, _) = Self.committed()
        let until = epoch + 300 * day
        let customer = CustomerProfile(
            originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch)
        func line(_ life: Life) throws -> String? {
            CustomerExplanation(
                customer, [try #require(life.purchase())], catalogue: EventBodyTests.catalogue, now: epoch + 2 * day
            ).purchases.first?.lines.first { $0.label == "commitment" }?.text
        }
        #expect(
            try line(life) == "period 3 of 12, 119.88 USD in all, until \(DisplayText.time(until)), then renewed")
        _ = life.commitmentOff(at: epoch + day)
        #expect(
            try line(life)
                == "period 3 of 12, 119.88 USD in all, until \(DisplayText.time(until)), then over: switched off"
                + " \(DisplayText.time(epoch + day))")
        let row = PurchaseSummary(catalogue: EventBodyTests.catalogue)
            .row(try #require(life.purchase()), ofCustomer: ["bob"], now: epoch + 2 * day)
        #expect(row["will_renew"] == .bool(true))
        #expect(row["commitment"]?["billing_period"] == .int(3) && row["commitment"]?["price"] == .string("119.88"))
        #expect(row["commitment"]?["will_renew"] == .bool(false))
        let arrivals = life.tellings.map { telling in
            var facts = PurchaseFacts()
            telling.add(to: &facts)
            return PurchaseArrival(arrived: telling.signed, facts: facts, cause: .notification(telling.notification))
        }
        let steps = PurchaseReplay(of: life.key, confirmation: ExpiryConfirmation(patience: day)).steps(
            arrivals, until: epoch + 2 * day)
        #expect(steps.last?.changes == [.commitmentOff(until: until)])
        #expect(steps.last?.drafts.names == ["CANCELLATION(UNSUBSCRIBE)"])
    }
}
