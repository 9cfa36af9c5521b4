import Base
import Subscriptions
import Testing

/// Trials that are paid on, and the numbers of periods, whatever is heard first.
struct ConversionTests {
    private static func orders<Element>(_ elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { place in
            var rest = elements
            let first = rest.remove(at: place)
            return orders(rest).map { [first] + $0 }
        }
    }

    /// Without ends: to whom only a trial of the past is known, it has ended.
    private static func hear(_ order: [Telling], _ story: inout Story, now: Int64) -> [EventDraft] {
        order.flatMap { story.hear($0, now: now) }.filter { $0.type != .expiration }
    }

    private static func conversions(_ drafts: [EventDraft]) -> [EventDraft] { drafts.filter(\.isTrialConversion) }

    /// A trial that was paid on twice.
    private static var paidOn: Life {
        var life = Life()
        _ = life.start(lasts: 7 * day, offer: .trial)
        _ = life.renew(at: life.expires)
        _ = life.renew(at: life.expires)
        return life
    }

    @Test func `a conversion is told once, in every order`() throws {
        let life = Self.paidOn
        for order in Self.orders(life.tellings) {
            var story = Story(life.key)
            let drafts = Self.hear(order, &story, now: life.expires - day)
            #expect(Self.conversions(drafts).count == 1)
            #expect(drafts.count == 3 && drafts.filter { $0.type == .initialPurchase }.count == 1)
        }
    }

    @Test func `two trials in a row are one conversion, in every order`() throws {
        var life = Life()
        _ = life.start(lasts: 7 * day, offer: .trial)
        life.transactions[0].isUpgraded = true
        life.product = "pro_yearly"
        life.addPeriod(from: epoch + day, to: epoch + 15 * day, offer: .trial)
        _ = life.notify("DID_CHANGE_RENEWAL_PREF", "UPGRADE", at: epoch + day)
        _ = life.renew(at: life.expires)
        _ = life.renew(at: life.expires)
        for order in Self.orders(life.tellings) {
            var story = Story(life.key)
            let drafts = Self.hear(order, &story, now: life.expires - day)
            #expect(Self.conversions(drafts).count == 1)
        }
        var story = Story(life.key)
        let straight = life.tellings.flatMap { story.hear($0) }
        #expect(Self.conversions(straight).map(\.period.id) == ["1000-3"])
    }

    @Test func `a trial that was told last says that it was paid on`() throws {
        let life = Self.paidOn
        var story = Story(life.key)
        let renewal = try #require(story.hear(life.tellings[1]).first)
        #expect(renewal.type == .renewal && !renewal.isTrialConversion)
        let start = try #require(story.hear(life.tellings[0], now: life.tellings[1].signed + hour).first)
        #expect(start.type == .initialPurchase && start.isTrialConversion)
        let identity = EventIdentity(appUserID: "a", originalAppUserID: "a", aliases: ["a"])
        let body = EventBody(catalogue: EntitlementCatalogue()).json(start, id: "x", identity: identity, appID: "demo")
        #expect(body["event"]?["is_trial_conversion"] == .bool(true))
        #expect(body["event"]?["period_type"] == .string("TRIAL") && body["event"]?["price"]?.text == "0")
        // Heard in order it is as it always was.
        var straight = Story(life.key)
        let first = try #require(straight.hear(life.tellings[0]).first)
        let plain = EventBody(catalogue: EntitlementCatalogue()).json(first, id: "x", identity: identity, appID: "demo")
        #expect(plain["event"]?["is_trial_conversion"] == nil)
        #expect(try #require(straight.hear(life.tellings[1]).first).isTrialConversion)
    }

    @Test func `a family member's share of a trial is converted by nobody`() {
        var life = Life(isFamily: true)
        var story = Story(life.key)
        _ = story.hear(life.start(lasts: 7 * day, offer: .trial))
        #expect(Self.conversions(story.hear(life.renew(at: life.expires))).isEmpty)
    }

    @Test func `what is not the first period has number 2 at least, and no number falls`() throws {
        let life = Self.paidOn
        for order in Self.orders(life.tellings) {
            var story = Story(life.key)
            var numbers: [String: Int] = [:]
            for telling in order {
                for draft in Self.hear([telling], &story, now: life.expires - day) {
                    #expect((draft.type == .initialPurchase) == (draft.period.number == 1))
                }
                for period in try #require(story.purchase).periods {
                    #expect(period.number >= numbers[period.id] ?? 1)
                    numbers[period.id] = period.number
                }
            }
            #expect(numbers == ["1000": 1, "1000-2": 2, "1000-3": 3])
        }
    }
}
