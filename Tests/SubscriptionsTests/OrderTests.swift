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

    /// A life that chance decides.
    static func randomLife(_ seed: UInt64) -> Life {
        var chance = Chance(seed: seed)
        var life = Life("r\(seed)")
        var at = epoch
        _ = life.start(offer: Life.Offer.allCases.randomElement(using: &chance))
        for _ in 0..<Int.random(in: 1...14, using: &chance) {
            at += Int64.random(in: 1...12 * day, using: &chance)
            let place = Int.random(in: 0..<life.transactions.count, using: &chance)
            switch Int.random(in: 0..<13, using: &chance) {
            case 0: _ = life.autoRenewOff(at: at)
            case 1: _ = life.autoRenewOn(at: at)
            case 2, 3: _ = life.renew(at: at)
            case 4: _ = life.billingFailure(graceUntil: at + 16 * day, at: at)
            case 5: _ = life.billingFailure(at: at)
            case 6: _ = life.expire(["VOLUNTARY", "BILLING_RETRY", nil].randomElement(using: &chance) ?? nil, at: at)
            case 7: _ = life.refund(place, at: at)
            case 8: _ = life.refundReversed(place, at: at)
            case 9: _ = life.upgrade(to: "pro_yearly", price: 59990, at: at)
            case 10: _ = life.downgrade(to: "basic_monthly", price: 4990, at: at)
            case 11: _ = life.extend(by: 3 * day, at: at)
            default: _ = life.resubscribe(at: at)
            }
        }
        return life
    }

    private func shuffled(_ life: Life, _ chance: inout Chance) -> [Telling] {
        let repeated = (0...life.tellings.count / 3).compactMap { _ in life.tellings.randomElement(using: &chance) }
        return (life.tellings + repeated).shuffled(using: &chance)
    }

    @Test func `any order with repetitions of random lives ends in the same purchase`() {
        for seed in 0..<400 as Range<UInt64> {
            var chance = Chance(seed: seed &+ 77)
            let life = Self.randomLife(seed)
            let straight = life.purchase()
            var story = Story(life.key)
            for telling in shuffled(life, &chance) {
                _ = story.hear(telling, now: epoch + 200 * day)
            }
            #expect(story.facts == life.facts, "seed \(seed)")
            #expect(story.purchase == straight, "seed \(seed)")
        }
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

    @Test func `whatever the order, money is told once and an active subscriber is not left expired`() {
        let lives = [Self.longLife()] + (0..<150).map { Self.randomLife($0) }
        for (number, life) in lives.enumerated() {
            var chance = Chance(seed: UInt64(number))
            for _ in 0..<8 {
                check(life, shuffled(life, &chance), "life \(number)")
            }
        }
    }

    private func check(_ life: Life, _ tellings: [Telling], _ comment: Comment) {
        var story = Story(life.key)
        var now = epoch + 55 * day
        for telling in tellings {
            now += second
            _ = story.hear(telling, now: now)
        }
        let drafts = story.told.map(\.draft)
        let money = drafts.filter { $0.type == .renewal || $0.type == .initialPurchase }
        #expect(Set(money.map(\.period.id)).count == money.count, comment)
        #expect(Set(money.map(\.period.id)) == Set(life.transactions.map(\.transactionID)), comment)
        #expect(drafts.count { $0.type == .initialPurchase } <= 1, comment)
        guard story.purchase?.hasAccess(at: now) == true else { return }
        let back: [EventType] = [.renewal, .initialPurchase, .uncancellation, .refundReversed, .subscriptionExtended]
        let lastBack = drafts.last { back.contains($0.type) }?.timestamp ?? 0
        let grace = drafts.last { $0.type == .billingIssue }?.timestamp ?? 0
        let ended = drafts.last { $0.type == .expiration }?.timestamp ?? 0
        #expect(ended <= max(lastBack, grace), comment)
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
            let life = Self.randomLife(seed)
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
