import Base
import Subscriptions
import Testing

/// What each arrival did, told again.
struct ReplayTests {
    /// Arrivals at the instants of signing, or later by `late`.
    static func arrivals(_ tellings: [Telling], late: Int64 = 0) -> [PurchaseArrival] {
        tellings.map { telling in
            var facts = PurchaseFacts()
            telling.add(to: &facts)
            return PurchaseArrival(
                arrived: telling.signed + late, facts: facts, cause: .notification(telling.notification))
        }
    }

    static func steps(_ life: Life, until now: Int64? = nil) -> [ReplayedStep] {
        PurchaseReplay(of: life.key, confirmation: ExpiryConfirmation(patience: day)).steps(
            arrivals(life.tellings), until: now ?? life.tellings.last?.signed ?? epoch)
    }

    /// The sentences of the last step of a life.
    private func last(_ live: (inout Life) -> Void) -> [String] {
        var life = Life()
        live(&life)
        return Self.steps(life).last?.changes.map(\.sentence) ?? []
    }

    private func time(_ milliseconds: Int64) -> String { DisplayText.time(milliseconds) }

    @Test func `the first purchase is told with its price and its end`() {
        #expect(
            last { _ = $0.start() } == [
                "bought pro_monthly, 9.99 USD", "names 11111111-2222-4333-8444-555555555555 as its owner",
                "access until \(time(epoch + 30 * day))",
            ])
        #expect(last { _ = $0.start(offer: .trial) }.first == "bought pro_monthly (free trial), 0 USD")
    }

    @Test func `each kind of step has its sentences`() {
        let end = epoch + 30 * day
        let situations: [((inout Life) -> Void, [String])] = [
            ({ _ = $0.autoRenewOff(at: epoch + day) }, ["auto-renew off"]),
            ({ _ = ($0.autoRenewOff(at: epoch + day), $0.autoRenewOn(at: epoch + 2 * day)) }, ["auto-renew on"]),
            (
                { _ = $0.renew(at: end - hour) },
                ["renewed: pro_monthly, 9.99 USD", "access until \(time(end)) → \(time(end + 30 * day))"]
            ),
            (
                { _ = $0.upgrade(to: "pro_yearly", price: 59990, at: epoch + day, lasts: 365 * day) },
                [
                    "pro_monthly → pro_yearly, 59.99 USD",
                    "access until \(time(end)) → \(time(epoch + 366 * day))",
                ]
            ),
            (
                { _ = $0.downgrade(to: "basic_monthly", price: 4990, at: epoch + day) },
                ["basic_monthly from the next renewal on"]
            ),
            (
                {
                    _ = $0.downgrade(to: "basic_monthly", price: 4990, at: epoch + day)
                    _ = $0.keepPlan(at: epoch + 2 * day)
                }, ["stays with pro_monthly at the next renewal"]
            ),
            (
                { _ = $0.billingFailure(graceUntil: end + 6 * day, at: end - hour) },
                ["could not be charged; Apple keeps trying", "in grace until \(time(end + 6 * day))"]
            ),
            (
                {
                    _ = $0.billingFailure(graceUntil: end + 6 * day, at: end - hour)
                    _ = $0.renew(at: end + day, recovery: true)
                },
                [
                    "renewed: pro_monthly, 9.99 USD", "charged after all",
                    "access until \(time(end + 6 * day)) → \(time(end + 30 * day))",
                ]
            ),
            (
                {
                    _ = ($0.autoRenewOff(at: epoch + day), $0.expire(at: end + second))
                    _ = $0.resubscribe(product: "pro_yearly", at: end + day, offer: .winBack)
                },
                [
                    "bought again: pro_yearly (comeback: win-back, pay as you go), 9.99 USD", "auto-renew on",
                    "access until \(time(end)) → \(time(end + 31 * day))",
                ]
            ),
            (
                {
                    _ = $0.downgrade(to: "basic_monthly", price: 4990, at: epoch + day)
                    _ = $0.renew(at: end)
                },
                [
                    "pro_monthly → basic_monthly, 4.99 USD",
                    "access until \(time(end)) → \(time(end + 30 * day))",
                ]
            ),
            ({ _ = $0.askConsent(at: epoch + day) }, ["asked to agree to a higher price"]),
            (
                { _ = ($0.askConsent(at: epoch + day), $0.giveConsent(at: epoch + 2 * day)) },
                ["agreed to the higher price"]
            ),
            (
                { _ = $0.extend(by: 5 * day, at: epoch + day) },
                [
                    "period extended: \(time(end)) → \(time(end + 5 * day))",
                    "access until \(time(end)) → \(time(end + 5 * day))",
                ]
            ),
            (
                { _ = $0.extend(by: -5 * day, at: epoch + day) },
                [
                    "period shortened: \(time(end)) → \(time(end - 5 * day))",
                    "access until \(time(end)) → \(time(end - 5 * day))",
                ]
            ),
            (
                { _ = ($0.familyRevoke(at: epoch + day), $0.refundReversed(at: epoch + 2 * day)) },
                [
                    "shared with the family again",
                    "access until \(time(epoch + day - 2 * second)) → \(time(end))",
                ]
            ),
            (
                { _ = ($0.refund(at: epoch + day), $0.refundReversed(at: epoch + 2 * day)) },
                [
                    "refund of period 1000 taken back",
                    "access until \(time(epoch + day - 2 * second)) → \(time(end))",
                ]
            ),
        ]
        for (live, expected) in situations {
            #expect(
                last {
                    _ = $0.start()
                    live(&$0)
                } == expected)
        }
    }

    @Test func `a refund of an earlier period names the period and what went back`() {
        let sentences = last {
            _ = ($0.start(), $0.renew(at: epoch + 30 * day), $0.refund(0, at: epoch + 31 * day))
        }
        #expect(sentences == ["period 1000 refunded 9.99 USD, as of \(time(epoch + 31 * day - 2 * second))"])
    }

    @Test func `what is older than what is known changes nothing, and says why`() {
        var life = Life()
        _ = (life.start(), life.autoRenewOff(at: epoch + day), life.autoRenewOn(at: epoch + 2 * day))
        let off = Self.arrivals(life.tellings)
        let order = [off[0], off[2], off[1]]
        let steps = PurchaseReplay(of: life.key, confirmation: ExpiryConfirmation(patience: day)).steps(
            order, until: epoch + 3 * day)
        #expect(steps.last?.changes == [.nothing(.newerWasKnown)])
        let again = PurchaseReplay(of: life.key, confirmation: ExpiryConfirmation(patience: day)).steps(
            off + [off[2]], until: epoch + 3 * day)
        #expect(again.last?.changes == [.nothing(.nothingNew)])
        #expect(again.last?.drafts.isEmpty == true)
    }

    @Test func `a period that came late is told as an earlier one`() {
        var life = Life()
        _ = (life.start(), life.renew(at: epoch + 30 * day))
        let order = Self.arrivals(life.tellings).reversed()
        let steps = PurchaseReplay(of: life.key, confirmation: ExpiryConfirmation(patience: day)).steps(
            Array(order), until: epoch + 31 * day)
        #expect(steps.last?.changes.map(\.sentence) == ["an earlier period became known: 1000, pro_monthly, 9.99 USD"])
    }

    @Test func `an end that time alone made stands between the steps, once`() {
        var life = Life()
        _ = (life.start(), life.autoRenewOff(at: epoch + day))
        let end = life.expires
        _ = life.expire(at: end + hour)
        let steps = Self.steps(life)
        #expect(steps.map(\.instant) == [epoch + 5 * second, epoch + day, end, end + hour])
        #expect(steps[2].ends.names == ["EXPIRATION(UNSUBSCRIBE)"])
        #expect(steps[2].signed == nil)
        #expect(steps[3].ends.isEmpty)
        #expect(steps[3].changes == [.endConfirmed])
    }

    @Test func `what is asked and decided about a refund is told though no state changes`() {
        var life = Life()
        _ = life.start()
        _ = life.consumptionRequest(at: epoch + day)
        _ = life.refundDeclined(at: epoch + 2 * day)
        let changes = Self.steps(life).map(\.changes)
        #expect(changes.count == 3)
        guard case .consumptionAsked(_, let until) = changes[1].first else {
            Issue.record("not told: \(changes[1])")
            return
        }
        #expect(until == epoch + day + 12 * hour)
        #expect(changes[1].first?.sentence.contains("asked for a refund") == true)
        #expect(changes[2] == [.refundDeclined])
    }

    @Test func `an end of grace that Apple did not give is told as assumed`() throws {
        var life = Life()
        _ = life.start()
        _ = life.billingFailure(graceUntil: life.expires + day, at: life.expires)
        var tellings = life.tellings
        tellings[1].renewal?.gracePeriodExpiresDate = nil
        let replay = PurchaseReplay(
            of: life.key, confirmation: ExpiryConfirmation(patience: day),
            foldSettings: FoldSettings(defaultGrace: .milliseconds(3 * day)))
        let steps = replay.steps(Self.arrivals(tellings), until: life.expires)
        let end = life.expires + 3 * day
        #expect(steps[1].changes.contains(.grace(until: end, isAssumed: true)))
        let purchase = try #require(steps[1].after)
        let summary = PurchaseSummary(catalogue: EntitlementCatalogue()).row(
            purchase, ofCustomer: [], now: life.expires)
        #expect(summary["grace_is_assumed"] == .bool(true))
        #expect(summary["grace_expires_at"] == .date(end))
    }

    @Test func `until now an end is confirmed only after the patience`() {
        var life = Life()
        _ = life.start()
        #expect(Self.steps(life, until: life.expires + day - 1).count == 1)
        let steps = Self.steps(life, until: life.expires + day)
        #expect(steps.map(\.instant).last == life.expires + day)
        #expect(steps.last?.ends.names == ["EXPIRATION(UNKNOWN)"])
    }

    /// The replay and the worker's way of telling must never part.
    @Test func `the drafts are those that were told, with the same ids, in the same order`() {
        let lives = (0..<80).map { Scenario(seed: UInt64($0)).life } + [OrderTests.longLife(), OrderTests.endedLife()]
        for life in lives {
            var story = Story(life.key)
            var last = epoch
            for telling in life.tellings {
                for instant in wakes(story, from: last, to: telling.signed) { _ = story.wait(until: instant) }
                _ = story.hear(telling)
                last = telling.signed
            }
            let replayed = Self.steps(life).flatMap { $0.drafts + $0.ends }
            #expect(replayed.map { $0.id } == story.told.map(\.id), "\(life.original)")
        }
    }

    /// When a worker's timer would fire.
    private func wakes(_ story: Story, from: Int64, to: Int64) -> [Int64] {
        guard let wake = story.purchase?.nextWake(after: from, confirmation: ExpiryConfirmation(patience: day)),
            wake <= to
        else {
            return []
        }
        return [wake]
    }
}
