import Base
import Subscriptions
import Testing

/// What a person reads of a customer's state, a situation each.
struct ExplanationTests {
    private static let catalogue = EntitlementCatalogue([
        "pro": ["pro_monthly", "pro_yearly", "pro_lifetime"], "basic": ["basic_monthly"],
    ])
    private static let end = epoch + 30 * day

    struct Situation: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let now: Int64
        let word: String
        /// Of the entitlement `pro`.
        let sentence: String
        /// Of the purchase's status, and of its renewal.
        let status: String
        let renews: String?
        let live: @Sendable (inout Life) -> Void

        init(
            _ name: String, at now: Int64, _ word: String, _ sentence: String, status: String, renews: String?,
            live: @escaping @Sendable (inout Life) -> Void = { _ in }
        ) {
            testDescription = name
            (self.now, self.word, self.sentence, self.status, self.renews) = (now, word, sentence, status, renews)
            self.live = live
        }
    }

    private static func explain(
        _ lives: [Life], at now: Int64, rule: SandboxRule = .all, ids: [String] = ["bob"]
    ) -> CustomerExplanation {
        let profile = CustomerProfile(originalAppUserID: "bob", appUserIDs: ids, firstSeen: epoch, lastSeen: epoch)
        return CustomerExplanation(
            profile, lives.compactMap { $0.purchase() }, catalogue: catalogue, sandboxRule: rule, now: now)
    }

    static let situations: [Situation] = {
        func time(_ instant: Int64) -> String { DisplayText.time(instant) }
        let grace = end + 6 * day
        let refunded = epoch + 2 * day - 2 * second
        return [
            Situation(
                "paid", at: epoch + day, "paid",
                "active until \(time(end)): pro_monthly, paid; renews then [sandbox]",
                status: "active until \(time(end))", renews: time(end)),
            Situation(
                "switched off", at: epoch + 2 * day, "paid",
                "active until \(time(end)): pro_monthly, paid; does not renew: switched off \(time(epoch + day)) [sandbox]",
                status: "active until \(time(end))", renews: "no: switched off \(time(epoch + day))"
            ) { _ = $0.autoRenewOff(at: epoch + day) },
            Situation(
                "over after a switch-off", at: end, "switched_off",
                "not active since \(time(end)): pro_monthly, the customer had switched renewal off (since \(time(epoch + day)))",
                status: "expired \(time(end)): the customer had switched renewal off",
                renews: "no: switched off \(time(epoch + day))"
            ) { _ = $0.autoRenewOff(at: epoch + day) },
            Situation(
                "in grace", at: end + day, "grace",
                "active until \(time(grace)): pro_monthly, in grace: unpaid, access goes on; could not be charged since \(time(end - hour)) [sandbox]",
                status: "in grace until \(time(grace)): unpaid, access goes on",
                renews: "no: could not be charged since \(time(end - hour)); Apple keeps trying"
            ) { _ = $0.billingFailure(graceUntil: end + 6 * day, at: end - hour) },
            Situation(
                "billing failed", at: grace + day, "billing_failed",
                "not active since \(time(grace)): pro_monthly, the renewal could not be charged (since \(time(end - hour)))",
                status: "no access since \(time(grace)): unpaid, Apple keeps trying to charge",
                renews: "no: could not be charged since \(time(end - hour)); Apple keeps trying"
            ) { _ = $0.billingFailure(graceUntil: end + 6 * day, at: end - hour) },
            Situation(
                "refunded", at: epoch + 3 * day, "refunded",
                "not active since \(time(refunded)): pro_monthly, it was refunded",
                status: "refunded as of \(time(refunded))", renews: "no: taken back"
            ) { _ = $0.refund(at: epoch + 2 * day) },
            Situation(
                "refunded after its end", at: end + 3 * day, "not_renewed",
                "not active since \(time(end)): pro_monthly, no renewal came",
                status: "expired \(time(end)), refunded as of \(time(end + 2 * day - 2 * second))",
                renews: "no: taken back"
            ) { _ = $0.refund(at: end + 2 * day) },
            Situation(
                "not charged for longer than Apple tries", at: end + 60 * day, "billing_failed",
                "not active since \(time(end)): pro_monthly, the renewal could not be charged (since \(time(end)))",
                status: "expired \(time(end)): the renewal could not be charged",
                renews: "no: could not be charged since \(time(end)); Apple stopped trying"
            ) { _ = $0.billingFailure(at: end) },
            Situation(
                "a price too high", at: end + 2 * hour, "price_increase",
                "not active since \(time(end)): pro_monthly, the customer did not agree to a higher price",
                status: "expired \(time(end)): the customer did not agree to a higher price",
                renews: "no: the higher price was not agreed to"
            ) { _ = $0.expire("PRICE_INCREASE", at: end + hour) },
            Situation(
                "a renewal that is due", at: end + hour, "not_renewed",
                "not active since \(time(end)): pro_monthly, no renewal came",
                status: "expired \(time(end)): no renewal came",
                renews: "should have; nothing has been heard of it yet"),
            Situation(
                "a downgrade to come", at: epoch + 2 * day, "paid",
                "active until \(time(end)): pro_monthly, paid; renews then as basic_monthly [sandbox]",
                status: "active until \(time(end))", renews: time(end)
            ) { _ = $0.downgrade(to: "basic_monthly", price: 4990, at: epoch + day) },
        ]
    }()

    @Test func `what lapsed before another product was bought did not change to it`() throws {
        var life = Life()
        _ = life.start()
        _ = life.expire(at: life.expires + second)
        _ = life.resubscribe(product: "basic_monthly", at: life.expires + 200 * day)
        let explanation = Self.explain([life], at: life.latest.purchaseDate + day)
        let pro = try #require(explanation.entitlements.first { $0.name == "pro" })
        #expect(pro.because == .ended(.notRenewed))
        #expect(pro.sentence.hasSuffix("no renewal came (bought again later as basic_monthly)"))
    }

    @Test(arguments: situations)
    func `a situation is explained`(situation: Situation) throws {
        var life = Life()
        _ = life.start()
        situation.live(&life)
        let explanation = Self.explain([life], at: situation.now)
        let pro = try #require(explanation.entitlements.first { $0.name == "pro" })
        #expect(pro.word == situation.word)
        #expect(pro.sentence == situation.sentence)
        let lines = try #require(explanation.purchases.first).lines
        #expect(lines.first { $0.label == "status" }?.text == situation.status)
        #expect(lines.first { $0.label == "renews" }?.text == situation.renews)
    }

    @Test(
        arguments: [
            (Life.Offer?.some(.trial), "trial", "introductory, free trial"),
            (.intro, "introductory", "introductory, pay as you go"),
            (.promotional, "paid", "spring: promotional, pay up front"),
            (.code, "trial", "CODE_2026: offer code, free trial"),
            (nil, "paid", nil),
        ] as [(Life.Offer?, String, String?)])
    func `an offer is named`(offer: Life.Offer?, word: String, text: String?) throws {
        var life = Life()
        _ = life.start(offer: offer)
        let explanation = Self.explain([life], at: epoch + day)
        #expect(explanation.entitlements.last?.word == word)
        #expect(explanation.purchases.first?.lines.first { $0.label == "offer" }?.text == text)
    }

    @Test func `a family share is no payment`() {
        var life = Life(isFamily: true)
        _ = life.start()
        let shared = Self.explain([life], at: epoch + day)
        #expect(shared.entitlements.last?.word == "family_share")
        #expect(shared.purchases.first?.lines.contains { $0.text == "shared by a family member" } == true)
        _ = life.familyRevoke(at: epoch + 2 * day)
        #expect(Self.explain([life], at: epoch + 3 * day).entitlements.last?.word == "family_share_taken")
    }

    @Test func `an entitlement of a product that was left says where the customer went`() throws {
        var life = Life(product: "basic_monthly", price: 4990)
        _ = (life.start(), life.upgrade(to: "pro_yearly", price: 59990, at: epoch + day, lasts: 365 * day))
        let explanation = Self.explain([life], at: epoch + 2 * day)
        let basic = try #require(explanation.entitlements.first)
        #expect(basic.name == "basic")
        #expect(basic.word == "product_changed")
        #expect(
            basic.sentence
                == "not active since \(DisplayText.time(epoch + day)): basic_monthly, the customer changed to another product (since then pro_yearly)"
        )
        #expect(explanation.entitlements.last?.isActive == true)
    }

    @Test func `a sandbox purchase that does not count says so`() {
        var life = Life()
        _ = life.start()
        let pro = Self.explain([life], at: epoch + day, rule: .none).entitlements.last
        #expect(pro?.word == "sandbox_does_not_count")
        #expect(pro?.isActive == false)
        #expect(Self.explain([life], at: epoch + day).entitlements.first?.word == "never_bought")
    }

    @Test func `what was bought once is a line of its own`() throws {
        var coins = Life("9000")
        _ = coins.buyOnce("coins_100", at: epoch)
        var lifetime = Life("9001")
        _ = lifetime.buyOnce("pro_lifetime", kind: "Non-Consumable", price: 99_990, at: epoch + day)
        let owned = Self.explain([lifetime, coins], at: epoch + 2 * day)
        #expect(owned.purchases.isEmpty)
        #expect(owned.oneTimePurchases.map(\.productID) == ["coins_100", "pro_lifetime"])
        #expect(owned.oneTimePurchases.map(\.price) == ["1.99 USD", "99.99 USD"])
        #expect(owned.entitlements.last?.sentence == "active forever: pro_lifetime, bought once [sandbox]")
        _ = lifetime.refund(at: epoch + 3 * day)
        let refunded = Self.explain([lifetime], at: epoch + 4 * day)
        #expect(refunded.oneTimePurchases.first?.state.hasPrefix("refunded as of") == true)
        #expect(refunded.entitlements.last?.word == "refunded")
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max - 1, .max])
    func `no instant from outside can trap`(instant: Int64) throws {
        var life = Life()
        _ = (life.start(), life.billingFailure(graceUntil: instant, at: epoch + day))
        life.transactions[0].expiresDate = instant
        life.transactions[0].price = instant
        life.transactions[0].revocationDate = instant
        _ = life.notify("REFUND", at: epoch + 2 * day)
        life.transactions[0].purchaseDate = instant
        life.transactions[0].revocationDate = nil
        var telling = life.notify("REFUND_REVERSED", at: epoch + 3 * day)
        telling.notification.signedDate = instant
        telling.transaction?.signedDate = instant
        telling.renewal?.signedDate = instant
        var arrivals = ReplayTests.arrivals(life.tellings)
        arrivals.append(
            contentsOf: ReplayTests.arrivals([telling]).map { odd in
                PurchaseArrival(arrived: epoch + 3 * day, facts: odd.facts, cause: odd.cause)
            })
        for now in [Int64.min, 0, .max] {
            let steps = PurchaseReplay(
                of: life.key, confirmation: ExpiryConfirmation(patience: .max),
                foldSettings: FoldSettings(defaultGrace: .milliseconds(Int64.max))
            ).steps(
                arrivals, until: now)
            let timeline = Timeline(Timeline.entries(of: life.key, steps, traces: [:]))
            #expect(timeline.entries.count >= arrivals.count)
            #expect(!timeline.json.bytes.isEmpty)
            #expect(timeline.entries.filter(\.isLate).count <= arrivals.count)
            let profile = CustomerProfile(originalAppUserID: "a", appUserIDs: [], firstSeen: now, lastSeen: now)
            let explanation = CustomerExplanation(
                profile, steps.compactMap(\.after), catalogue: Self.catalogue, now: now)
            #expect(!explanation.entitlementsJSON.bytes.isEmpty)
        }
    }

    /// Two ways to judge one thing must never part.
    @Test func `an entitlement is active exactly if the document says so`() throws {
        for seed in UInt64(0)..<120 {
            let life = Scenario(seed: seed).life
            let purchases = life.purchase().map { [$0] } ?? []
            let profile = CustomerProfile(
                originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch)
            for now in stride(from: epoch, to: epoch + 150 * day, by: Int(5 * day + hour)) {
                let document = SubscriberDocument(catalogue: Self.catalogue).json(
                    customer: profile, purchases: purchases, now: now)
                for entitlement in Self.explain([life], at: now).entitlements {
                    let held = document["subscriber"]?["entitlements"]?[entitlement.name]
                    #expect(held?["product_identifier"]?.stringValue == entitlement.productID)
                    let end = held?["expires_date"] ?? JSON.null
                    #expect(end == JSON.date(entitlement.until))
                    let isActive = held != nil && (entitlement.until.map { now < $0 } ?? true)
                    #expect(entitlement.isActive == isActive)
                    #expect(entitlement.json["active"]?.boolValue == isActive)
                }
            }
        }
    }
}
