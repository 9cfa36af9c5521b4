import Base
import Testing

@testable import Subscriptions

/// Refunds and reversals that are heard late, twice, or in another order: what is told of them adds up.
struct RefundOrderTests {
    /// Bought, refunded two days later, bought again.
    private static func resubscribed() -> (life: Life, start: Telling, refund: Telling, again: Telling) {
        var life = Life()
        let start = life.start()
        let refund = life.refund(at: epoch + 2 * day)
        let again = life.resubscribe(at: epoch + 4 * day)
        return (life, start, refund, again)
    }

    @Test func `a refund whose newer signature was heard first is told once`() {
        for isPosted in [true, false] {
            var (life, start, refund, again) = Self.resubscribed()
            let newer = isPosted ? life.post(0, at: epoch + 5 * day) : life.refundDeclined(0, at: epoch + 5 * day)
            let reversal = life.refundReversed(0, at: epoch + 6 * day)
            var story = Story(life.key)
            _ = story.hear(start)
            _ = story.hear(again)
            #expect(story.hear(newer).names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
            #expect(story.hear(refund, now: newer.signed).isEmpty)
            #expect(story.balance == 9990)
            #expect(story.hear(reversal).names == ["REFUND_REVERSED"])
            #expect(story.balance == 2 * 9990)
        }
    }

    @Test func `a refund that an app posted is reversed aloud, and its notification that comes after is quiet`() {
        var life = Life(price: 4490)
        let start = life.start()
        let refund = life.refund(at: epoch + day)
        let post = life.post(0, at: epoch + 2 * day)
        let again = life.resubscribe(at: epoch + 3 * day)
        let reversal = life.refundReversed(0, at: epoch + 4 * day)
        var story = Story(life.key)
        let names = [start, post, again, reversal].flatMap { story.hear($0).names }
        #expect(
            names == ["INITIAL_PURCHASE", "CANCELLATION(CUSTOMER_SUPPORT)", "RENEWAL", "REFUND_REVERSED"])
        #expect(story.hear(refund, now: reversal.signed).isEmpty)
        #expect(story.balance == 8980)
    }

    @Test func `a refund that is heard after its reversal is quiet`() {
        var life = Life()
        let start = life.start()
        let refund = life.refund(at: epoch + day)
        let reversal = life.refundReversed(at: epoch + 2 * day)
        var story = Story(life.key)
        _ = story.hear(start)
        #expect(story.hear(reversal).isEmpty)
        #expect(story.hear(refund, now: reversal.signed).isEmpty)
        #expect(story.balance == 9990)
    }

    /// Under one revocation date.
    private static func refundedTwice() -> Life {
        var life = Life()
        _ = life.start()
        _ = life.refund(at: epoch + day, revoked: epoch + day)
        _ = life.refundReversed(at: epoch + 2 * day)
        _ = life.refund(at: epoch + 3 * day, revoked: epoch + day)
        return life
    }

    @Test func `refund, reversal and refund under one date are three events, and each refund ends access`() {
        let life = Self.refundedTwice()
        var story = Story(life.key)
        let names = life.tellings.flatMap { story.hear($0).names }
        #expect(
            names == [
                "INITIAL_PURCHASE", "CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)",
                "REFUND_REVERSED", "CANCELLATION(CUSTOMER_SUPPORT)", "EXPIRATION(CUSTOMER_SUPPORT)",
            ])
        #expect(story.balance == 0)
        #expect(story.wait(until: life.expires + 2 * day).isEmpty)
    }

    @Test func `refund, reversal and refund under one date add up in each of their orders`() {
        let life = Self.refundedTwice()
        for order in permutations(life.tellings) {
            var story = Story(life.key)
            for telling in order + order { _ = story.hear(telling, now: epoch + 5 * day) }
            #expect(story.balance == 0, "\(order.map(\.notification.uuid))")
        }
    }

    @Test func `a refund that was told, and turns out to be of an earlier period, is taken back before the renewal`() {
        var life = Life()
        let start = life.start()
        let renewal = life.renew(at: life.expires)
        _ = life.refund(0, at: life.expires - 5 * day)
        let post = life.post(0, at: life.expires - 4 * day)
        let reversal = life.refundReversed(0, at: life.expires - day)
        var story = Story(life.key)
        _ = story.hear(start)
        #expect(story.hear(post).names.contains("CANCELLATION(CUSTOMER_SUPPORT)"))
        #expect(story.hear(renewal, now: post.signed).names == ["REFUND_REVERSED", "RENEWAL"])
        #expect(story.balance == 2 * 9990)
        #expect(story.hear(reversal).isEmpty)
        #expect(story.balance == 2 * 9990)
    }

    @Test func `a refund of a part is told as such, and what is corrected of it is told`() {
        var life = Life()
        var story = Story(life.key)
        _ = story.hear(life.buyOnce("coins_100", price: 6000, quantity: 3, at: epoch))
        let part = story.hear(life.refund(at: epoch + day, share: 33_333))
        #expect(part.names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
        #expect(part.first.map { EventBodyTests.body($0)["event"]?["price"]?.text } == "-2")
        #expect(part.first?.expiration == nil)
        let more = story.hear(life.refund(at: epoch + 2 * day, revoked: epoch + day, share: 66_667))
        #expect(more.first.map { EventBodyTests.body($0)["event"]?["price"]?.text } == "-2")
        let less = story.hear(life.refund(at: epoch + 3 * day, revoked: epoch + day, share: 50_000))
        #expect(less.names == ["CANCELLATION(CUSTOMER_SUPPORT)"])
        #expect(less.first.map { EventBodyTests.body($0)["event"]?["price"]?.text } == "1")
        #expect(story.balance == 3000)
        #expect(story.hear(life.refundReversed(at: epoch + 4 * day)).names == ["REFUND_REVERSED"])
        #expect(story.balance == 6000)
    }

    @Test func `webhook, document and report agree on what stayed of a refund in part`() throws {
        var life = Life()
        var story = Story(life.key)
        _ = story.hear(life.buyOnce("coins_100", price: 6000, quantity: 3, at: epoch))
        _ = story.hear(life.refund(at: epoch + day, share: 33_333))
        let purchase = try #require(story.purchase)
        let customer = CustomerProfile(
            originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch + day)
        let document = SubscriberDocument(catalogue: EventBodyTests.catalogue)
            .json(customer: customer, purchases: [purchase], now: epoch + 2 * day)
        let items = document["subscriber"]?["non_subscriptions"]?["coins_100"]?.arrayValue
        #expect(items?.first?["price"]?["amount"]?.text == "4")
        #expect(story.balance == 4000)
        #expect(Spending([purchase]).totals.first?.net == 4000)
        let shown = try #require(OneTimePurchase.all(of: purchase).first)
        #expect(shown.price == "6.00 USD for 3" && shown.state.hasPrefix("owned, refunded in part as of "))
        let facts = PurchaseDifference(
            before: nil, after: purchase, isOlder: false, notification: nil)
        #expect(facts.changes.map(\.sentence).contains { $0.contains("refunded 2 USD, as of") })
        _ = story.hear(life.refund(at: epoch + 2 * day, share: 100_000))
        let rest = try #require(story.purchase)
        #expect(PurchaseSnapshot(rest).items.isEmpty)
        #expect(story.balance == 0)
    }

    @Test func `what is free is 0, whatever was signed of a price`() throws {
        for (isFamily, offer) in [(true, nil), (false, Life.Offer.trial)] as [(Bool, Life.Offer?)] {
            for price in [nil, 0, 9990] as [Int64?] {
                for currency in [nil, "JPY"] {
                    var life = Life(isFamily: isFamily)
                    _ = life.start(offer: offer)
                    (life.transactions[0].price, life.transactions[0].currency) = (price, currency)
                    var story = Story(life.key)
                    let draft = try #require(story.hear(life.notify("SUBSCRIBED", at: epoch + second)).first)
                    let body = EventBodyTests.body(draft)["event"]
                    #expect(body?["price"]?.text == "0")
                    #expect(body?["price_in_purchased_currency"]?.text == "0")
                    #expect(story.purchase.map { Spending([$0]).totals.isEmpty } == true)
                }
            }
        }
    }

    @Test func `what was bought after a refund took the place of nothing`() throws {
        let (life, _, _, _) = Self.resubscribed()
        let periods = try #require(life.purchase()?.periods)
        #expect(periods.map(\.supersededAt) == [nil, nil])
        #expect(periods.first?.accessUntil == periods.first?.revocation?.date)
    }

    private func permutations<Element>(_ list: [Element]) -> [[Element]] {
        guard !list.isEmpty else { return [[]] }
        return list.indices.flatMap { place in
            var rest = list
            let first = rest.remove(at: place)
            return permutations(rest).map { [first] + $0 }
        }
    }
}
