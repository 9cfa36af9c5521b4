import Base
import Subscriptions
import Testing

/// What events say of Apple's commission and of taxes.
struct SellerTermsTests {
    private static let (small, standard) = (Share(millionths: 150_000), Share(millionths: 300_000))

    /// Commission, tax and what is taken home, as JSON has them.
    private static func shares(_ draft: EventDraft, _ terms: SellerTerms) -> [String?] {
        let body = EventBody(catalogue: EntitlementCatalogue(), terms: terms).json(
            draft, id: "x", identity: EventBodyTests.identity, appID: "demo")
        return ["commission_percentage", "tax_percentage", "takehome_percentage"].map { body["event"]?[$0]?.text }
    }

    private static func first(_ life: Life = Life()) throws -> EventDraft {
        var life = life
        var story = Story(life.key)
        return try #require(story.hear(life.start()).first)
    }

    @Test func `without a word Apple's standard counts, and no tax`() throws {
        let draft = try Self.first()
        #expect(Self.shares(draft, SellerTerms()) == ["0.3", "0", "0.7"])
        let other = SellerTerms(commissions: ["other": [SellerTerms.Commission(rate: Self.small)]])
        #expect(Self.shares(draft, other) == ["0.3", "0", "0.7"])
    }

    @Test func `Apple takes its part of what taxes leave, and both are shares of the price`() throws {
        let terms = SellerTerms(
            commissions: ["demo": [SellerTerms.Commission(rate: Self.small)]],
            taxes: ["US": Share(millionths: 100_000), "DE": Share(millionths: 159_700)])
        #expect(Self.shares(try Self.first(), terms) == ["0.135", "0.1", "0.865"])
        var life = Life()
        _ = life.start()
        life.transactions[0].storefront = nil
        var story = Story(life.key)
        let unplaced = try #require(story.hear(life.notify("SUBSCRIBED", at: epoch + second)).first)
        #expect(Self.shares(unplaced, terms) == ["0.15", "0", "0.85"])
    }

    @Test func `what counts is what was agreed when the period began`() throws {
        let terms = SellerTerms(commissions: [
            "demo": [
                SellerTerms.Commission(from: epoch + day, rate: Self.small),
                SellerTerms.Commission(from: epoch - day, rate: Share(millionths: 200_000)),
            ]
        ])
        var (life, story, drafts) = Story.begin()
        drafts += story.hear(life.renew(at: life.expires))
        drafts += story.hear(life.refund(0, at: epoch + 2 * day))
        #expect(drafts.map { Self.shares($0, terms)[0] } == ["0.2", "0.15", "0.2"])
        #expect(Self.shares(try Self.first(), SellerTerms(commissions: ["demo": []]))[0] == "0.3")
    }

    /// Apple's commission of each period of a life, in the order of their beginning.
    private static func rates(_ live: (inout Life) -> Void) -> [String?] {
        var life = Life()
        live(&life)
        var story = Story(life.key)
        return life.tellings.flatMap { story.hear($0) }.filter { [.initialPurchase, .renewal].contains($0.type) }
            .map { shares($0, SellerTerms())[0] }
    }

    @Test func `after a year of paid service Apple takes less`() {
        let monthly = Self.rates { life in
            life.period = 365 * day / 12
            _ = life.start()
            for _ in 0..<13 { _ = life.renew(at: life.expires) }
        }
        #expect(monthly == [String](repeating: "0.3", count: 12) + ["0.15", "0.15"])
        let yearly = Self.rates { life in
            life.period = 365 * day
            _ = life.start()
            _ = life.renew(at: life.expires)
        }
        #expect(yearly == ["0.3", "0.15"])
    }

    @Test func `free and refunded time is no paid service, and a long lapse begins it anew`() {
        let afterTrial = Self.rates { life in
            _ = life.start(lasts: 60 * day, offer: .trial)
            _ = life.renew(at: life.expires, lasts: 310 * day)
            _ = life.renew(at: life.expires, lasts: 60 * day)
            _ = life.renew(at: life.expires)
        }
        #expect(afterTrial == ["0.3", "0.3", "0.3", "0.15"])
        let afterLapses = Self.rates { life in
            _ = life.start(lasts: 365 * day)
            _ = life.expire(at: life.expires)
            _ = life.resubscribe(at: life.expires + 59 * day)
            _ = life.expire(at: life.expires)
            _ = life.resubscribe(at: life.expires + 61 * day)
        }
        #expect(afterLapses == ["0.3", "0.15", "0.3"])
        let refunded = Self.rates { life in
            _ = life.start(lasts: 365 * day)
            _ = life.refund(at: epoch + 340 * day)
            _ = life.resubscribe(at: epoch + 366 * day)
        }
        #expect(refunded == ["0.3", "0.3"])
    }

    @Test func `of a subscriber who is heard of late the time since the first purchase counts`() throws {
        var life = Life()
        _ = life.start()
        for _ in 0..<14 { _ = life.renew(at: life.expires) }
        var story = Story(life.key)
        let last = try #require(life.tellings.last)
        #expect(story.hear(last).map { Self.shares($0, SellerTerms())[0] } == ["0.15"])
    }

    @Test func `dates at the ends of time do no harm`() {
        for (from, until) in [(Int64.min, Int64.max), (.max, .min), (.min, .min), (.max, .max)] {
            var life = Life()
            _ = life.start()
            life.transactions[0].purchaseDate = from
            life.transactions[0].originalPurchaseDate = until
            life.transactions[0].expiresDate = until
            _ = life.notify("SUBSCRIBED", at: epoch + second)
            _ = life.renew(at: epoch + day, begins: until, lasts: 0)
            #expect(life.purchase()?.periods.count == 2)
        }
    }

    @Test func `shares are exact decimals`() {
        let texts = [0, 1, 300_000, 159_700, 999_999, 1_000_000, -5, 2_000_000].map {
            Share(millionths: $0).number.text
        }
        #expect(texts == ["0", "0.000001", "0.3", "0.1597", "0.999999", "1", "0", "1"])
    }
}
