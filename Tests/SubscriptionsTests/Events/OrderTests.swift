import Subscriptions
import Testing

/// The fold is a function of a set: neither order nor repetition can matter.
struct OrderTests {
    static func longLife(_ name: String = "1000") -> Life {
        var life = Life(name)
        _ = life.start(lasts: 7 * day, offer: .trial)
        _ = life.autoRenewOff(at: epoch + day)
        _ = life.autoRenewOn(at: epoch + 2 * day)
        _ = life.renew(at: epoch + 7 * day - hour)
        _ = life.askConsent(at: epoch + 10 * day)
        _ = life.giveConsent(at: epoch + 11 * day)
        let end = life.expires
        _ = life.billingFailure(graceUntil: end + 16 * day, at: end + second)
        _ = life.renew(at: end + 3 * day, recovery: true, begins: end + 3 * day)
        _ = life.refund(1, at: end + 5 * day)
        _ = life.refundReversed(1, at: end + 6 * day)
        _ = life.refund(1, at: end + 7 * day)
        _ = life.extend(by: 5 * day, at: end + 8 * day)
        _ = life.downgrade(to: "basic_monthly", price: 4990, at: end + 10 * day)
        return life
    }

    static func endedLife() -> Life {
        var life = Life("3000")
        _ = life.start()
        _ = life.renew(at: life.expires - hour)
        _ = life.upgrade(to: "pro_yearly", price: 59990, at: epoch + 40 * day, lasts: 365 * day)
        _ = life.autoRenewOff(at: epoch + 41 * day)
        _ = life.refund(at: epoch + 44 * day)
        return life
    }

    private func shuffled(_ life: Life, _ chance: inout Chance) -> [Telling] {
        let repeated = (0...life.tellings.count / 3).compactMap { _ in life.tellings.randomElement(using: &chance) }
        return (life.tellings + repeated).shuffled(using: &chance)
    }

    @Test func `of two versions signed in one millisecond the greater bytes count, in either order`() throws {
        var life = Life()
        _ = life.start()
        var low = try #require(life.tellings[0].transaction)
        var high = low
        (low.tie, low.price) = ([1, 2], 1)
        (high.tie, high.price) = ([1, 3], 2)
        for order in [[low, high], [high, low]] {
            var facts = PurchaseFacts()
            order.forEach { facts.insert($0) }
            #expect(Purchase(folding: facts, key: life.key)?.latest.transaction.price == 2)
        }
    }

    @Test func `a fact is new once`() throws {
        var life = Life()
        let telling = life.start()
        let transaction = try #require(telling.transaction)
        var facts = PurchaseFacts()
        let transactions = [facts.insert(transaction), facts.insert(transaction)]
        let notifications = [facts.insert(telling.notification), facts.insert(telling.notification)]
        #expect(transactions == [true, false])
        #expect(notifications == [true, false])
    }

    @Test func `a straight telling of the long life has these events`() {
        let life = Self.longLife()
        var story = Story(life.key)
        let names = life.tellings.flatMap { story.hear($0).names }
        #expect(
            names == [
                "INITIAL_PURCHASE", "CANCELLATION(UNSUBSCRIBE)", "UNCANCELLATION", "RENEWAL",
                "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED", "BILLING_ISSUE",
                "CANCELLATION(BILLING_ERROR)", "RENEWAL", "SUBSCRIPTION_EXTENDED", "PRODUCT_CHANGE",
            ])
    }

    @Test func `the long life told newest first is told the same money`() {
        let life = Self.longLife()
        var story = Story(life.key)
        let names = life.tellings.reversed().flatMap { story.hear($0, now: epoch + 55 * day).names }
        #expect(names.sorted() == ["INITIAL_PURCHASE", "PRODUCT_CHANGE", "RENEWAL", "RENEWAL"])
    }

    @Test func `a life that ended is revoked whatever came last`() {
        let life = Self.endedLife()
        for seed in 0..<50 as Range<UInt64> {
            var chance = Chance(seed: seed)
            var story = Story(life.key)
            for telling in shuffled(life, &chance) { _ = story.hear(telling, now: epoch + 50 * day) }
            #expect(story.purchase?.status(at: epoch + 50 * day) == .revoked)
        }
    }

    @Test func `ids are one for a cause and differ with anything that matters`() {
        var ids: [String: EventDraft] = [:]
        for seed in 0..<150 as Range<UInt64> {
            let life = Scenario(seed: seed).life
            var story = Story(life.key)
            for telling in life.tellings { _ = story.hear(telling) }
            for (id, draft) in story.told {
                #expect(ids[id] == nil, "\(draft.cause) and \(ids[id]?.cause ?? "")")
                ids[id] = draft
            }
        }
        #expect(ids.count > 500)
    }
}
