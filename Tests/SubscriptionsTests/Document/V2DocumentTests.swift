import Base
import Subscriptions
import Testing

/// What REST v2 says of subscriptions and purchases.
struct V2DocumentTests {
    private static let place = V2Place(project: "proj1", customer: "bob")
    private static let customer = CustomerProfile(
        originalAppUserID: "$RCAnonymousID:1", appUserIDs: ["$RCAnonymousID:1", "bob"], firstSeen: epoch,
        lastSeen: epoch)

    private static func document(
        rates: DollarRates = DollarRates(), terms: SellerTerms = SellerTerms(), rule: SandboxRule = .all
    ) -> V2Document {
        V2Document(
            SubscriberDocument(catalogue: EventBodyTests.catalogue, sandboxRule: rule), rates: rates, terms: terms)
    }

    private static func subscriptions(
        _ lives: [Life], at now: Int64, in environment: StoreEnvironment? = nil, _ document: V2Document = document()
    ) throws -> [JSON] {
        document.subscriptions(
            of: customer, try lives.map { try #require($0.purchase()) }, in: environment, at: place, now: now
        ).map(\.json)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// What happens; returns the instant of reading.
        let story: @Sendable (inout Life) -> Int64
        let status: String
        let renewal: String
        let givesAccess: Bool
        var isPending = false
    }

    static let cases = [
        Case(
            testDescription: "runs",
            story: {
                _ = $0.start(); return epoch + day
            }, status: "active",
            renewal: "will_renew", givesAccess: true),
        Case(
            testDescription: "a trial",
            story: {
                _ = $0.start(offer: .trial); return epoch + day
            },
            status: "trialing", renewal: "will_renew", givesAccess: true),
        Case(
            testDescription: "switched off",
            story: { life in
                _ = life.start()
                _ = life.autoRenewOff(at: epoch + day)
                return epoch + 2 * day
            }, status: "active", renewal: "will_not_renew", givesAccess: true),
        Case(
            testDescription: "ended",
            story: { life in
                _ = life.start()
                _ = life.autoRenewOff(at: epoch + day)
                _ = life.expire(at: life.expires)
                return life.expires + day
            }, status: "expired", renewal: "will_not_renew", givesAccess: false),
        Case(
            testDescription: "in grace",
            story: { life in
                _ = life.start()
                _ = life.billingFailure(graceUntil: life.expires + 16 * day, at: life.expires)
                return life.expires + day
            }, status: "in_grace_period", renewal: "will_renew", givesAccess: true, isPending: true),
        Case(
            testDescription: "in billing retry",
            story: { life in
                _ = life.start()
                _ = life.billingFailure(at: life.expires)
                return life.expires + day
            }, status: "in_billing_retry", renewal: "will_renew", givesAccess: false, isPending: true),
        Case(
            testDescription: "after sixty days of retries",
            story: { life in
                _ = life.start()
                _ = life.billingFailure(at: life.expires)
                return life.expires + 61 * day
            }, status: "expired", renewal: "will_not_renew", givesAccess: false),
        Case(
            testDescription: "refunded",
            story: { life in
                _ = life.start()
                _ = life.refund(at: epoch + day)
                return epoch + 2 * day
            }, status: "expired", renewal: "will_not_renew", givesAccess: false),
        Case(
            testDescription: "will change",
            story: { life in
                _ = life.start()
                _ = life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day)
                return epoch + 2 * day
            }, status: "active", renewal: "will_change_product", givesAccess: true),
        Case(
            testDescription: "is asked for a consent",
            story: { life in
                _ = life.start()
                _ = life.askConsent(at: epoch + day)
                return epoch + 2 * day
            }, status: "active", renewal: "requires_price_increase_consent", givesAccess: true),
    ]

    @Test(arguments: cases)
    func `how a subscription stands`(one: Case) throws {
        var life = Life()
        let now = one.story(&life)
        let shown = try #require(try Self.subscriptions([life], at: now).first)
        #expect(shown["status"] == .string(one.status))
        #expect(shown["auto_renewal_status"] == .string(one.renewal))
        #expect(shown["gives_access"] == .bool(one.givesAccess))
        #expect(shown["pending_payment"] == .bool(one.isPending))
        let change = shown["pending_changes"]?["product"]?["id"]
        #expect(change == (one.renewal == "will_change_product" ? .string("basic_monthly") : nil))
    }

    @Test func `in a commitment the next period renews, whatever is chosen for the time after it`() throws {
        var life = Life()
        _ = life.start()
        life.commit(period: 3)
        _ = life.notify("DID_RENEW", at: epoch + hour)
        _ = life.commitmentOff(at: epoch + day)
        let third = try #require(try Self.subscriptions([life], at: epoch + 2 * day).first)
        #expect(third["auto_renewal_status"] == .string("will_renew"))
        life.commit(period: 12)
        _ = life.notify("DID_RENEW", at: epoch + 3 * day)
        let last = try #require(try Self.subscriptions([life], at: epoch + 4 * day).first)
        #expect(last["auto_renewal_status"] == .string("will_not_renew"))
    }

    @Test func `the end is that of access, also where a later period was refunded`() throws {
        var life = Life()
        _ = life.start()
        let paid = life.expires
        _ = life.renew(at: paid - hour)
        _ = life.refund(at: paid - hour / 2, revoked: paid - hour / 2)
        let shown = try #require(try Self.subscriptions([life], at: paid - hour / 4).first)
        #expect(shown["gives_access"] == .bool(true))
        #expect(shown["ends_at"] == .int(paid))
        #expect(shown["auto_renewal_status"] == .string("will_not_renew"))
    }

    @Test func `what goes on as another purchase has ended, also with a charge that failed`() throws {
        var old = Life()
        _ = old.start()
        let moved = old.expires + day
        _ = old.billingFailure(graceUntil: old.expires + 16 * day, at: old.expires)
        old.product = "pro_yearly"
        var new = old.migrated(to: "2000", at: moved)
        _ = new.notify("MIGRATION", at: moved)
        for lives in [[old, new], [new, old]] {
            let shown = try Self.subscriptions(lives, at: moved + 20 * day)
            #expect(shown.map { $0["status"] } == [.string("active"), .string("expired")])
            #expect(shown.map { $0["pending_payment"] } == [.bool(false), .bool(false)])
            #expect(shown.last?["auto_renewal_status"] == .string("will_not_renew"))
            #expect(shown.last?["gives_access"] == .bool(false))
        }
        var early = Life()
        _ = early.start()
        early.product = "pro_yearly"
        var next = early.migrated(to: "2000", at: epoch + 5 * day)
        _ = next.notify("MIGRATION", at: epoch + 5 * day)
        let shown = try Self.subscriptions([early, next], at: epoch + 6 * day)
        #expect(shown.last?["ends_at"] == .int(epoch + 5 * day))
    }

    @Test func `what the family took away is no purchase`() throws {
        var lifetime = Life("2", isFamily: true)
        _ = lifetime.buyOnce("pro_lifetime", kind: "Non-Consumable", price: 0, at: epoch)
        func shown() throws -> [JSON] {
            Self.document().purchases(
                of: Self.customer, [try #require(lifetime.purchase())], in: nil, at: Self.place
            ).map(\.json)
        }
        #expect(try shown().map { $0["ownership"] } == [.string("family_shared")])
        _ = lifetime.familyRevoke(at: epoch + day)
        #expect(try shown() == [])
    }

    @Test func `a subscription member by member`() throws {
        var life = Life()
        _ = life.start()
        _ = life.renew(at: life.expires - hour)
        let shown = try #require(try Self.subscriptions([life], at: life.expires - day).first)
        let id = try #require(shown["id"]?.stringValue)
        #expect(id.hasPrefix("sub") && id.utf8.count == 19)
        #expect(
            shown.text == """
                {"auto_renewal_status":"will_renew","country":"US","current_period_ends_at":\(life.expires),\
                "current_period_starts_at":\(life.latest.purchaseDate),"customer_id":"bob",\
                "ends_at":\(life.expires),"entitlements":{"items":[{"created_at":0,"display_name":"pro","id":"pro",\
                "lookup_key":"pro","object":"entitlement","project_id":"proj1"}],"next_page":null,"object":"list",\
                "url":"/v2/projects/proj1/subscriptions/\(id)/entitlements"},"environment":"sandbox",\
                "gives_access":true,"id":"\(id)",\
                "management_url":"https://apps.apple.com/account/subscriptions","object":"subscription",\
                "original_customer_id":"$RCAnonymousID:1","ownership":"purchased","pending_changes":null,\
                "pending_payment":false,"presented_offering_id":null,"product_id":"pro_monthly",\
                "starts_at":\(epoch),"status":"active","store":"app_store",\
                "store_subscription_identifier":"\(life.latest.transactionID)",\
                "total_revenue_in_usd":{"commission":5.994,"currency":"USD","gross":19.98,"proceeds":13.986,"tax":0}}
                """)
    }

    @Test func `an upgrade is a subscription of its own, and the former one has ended`() throws {
        var life = Life()
        _ = life.start()
        _ = life.upgrade(to: "pro_yearly", price: 59990, at: epoch + day, lasts: 365 * day)
        let shown = try Self.subscriptions([life], at: epoch + 2 * day)
        #expect(shown.map { $0["product_id"] } == [.string("pro_yearly"), .string("pro_monthly")])
        #expect(shown.map { $0["status"] } == [.string("active"), .string("expired")])
        #expect(shown.map { $0["auto_renewal_status"] } == [.string("will_renew"), .string("will_not_renew")])
        #expect(Set(shown.compactMap { $0["id"]?.stringValue }).count == 2)
    }

    @Test func `a subscription of the sandbox gives access where the configuration says so`() throws {
        var life = Life()
        _ = life.start()
        let strict = try #require(
            try Self.subscriptions([life], at: epoch + day, Self.document(rule: .none)).first)
        #expect(strict["gives_access"] == .bool(false))
        #expect(strict["status"] == .string("active"))
        #expect(try Self.subscriptions([life], at: epoch + day, in: .production) == [])
        #expect(try Self.subscriptions([life], at: epoch + day, in: .sandbox).count == 1)
    }

    @Test func `what was granted has no product and no money`() throws {
        let grant = Grant(
            id: "a0448238ac7cf64e94e09df858c1bb4e", entitlement: "gold", product: "rc_promo_gold_weekly", start: epoch,
            end: epoch + 7 * day, at: epoch, action: 1)
        var facts = PurchaseFacts()
        facts.insert(TransactionFact(grant, tie: [1]))
        let purchase = try #require(Purchase(folding: facts, key: grant.key))
        let shown = try #require(
            Self.document().subscriptions(of: Self.customer, [purchase], in: nil, at: Self.place, now: epoch + day)
                .first?.json)
        #expect(shown["store"] == .string("promotional"))
        #expect(shown["product_id"] == .null)
        #expect(shown["auto_renewal_status"] == .string("will_not_renew"))
        #expect(shown["entitlements"]?["items"]?.arrayValue?.first?["id"] == .string("gold"))
        #expect(shown["total_revenue_in_usd"]?["gross"] == .raw(Array("0".utf8)))
        #expect(shown["management_url"] == .null)
    }

    @Test func `what was bought once is a purchase, owned or refunded`() throws {
        var (coins, lifetime) = (Life("1"), Life("2"))
        _ = coins.buyOnce("coins_100", at: epoch)
        _ = lifetime.buyOnce("pro_lifetime", kind: "Non-Consumable", price: 99990, at: epoch + day)
        _ = coins.refund(at: epoch + hour)
        let purchases = try [coins, lifetime].map { try #require($0.purchase()) }
        let shown = Self.document().purchases(of: Self.customer, purchases, in: nil, at: Self.place).map(\.json)
        #expect(shown.map { $0["product_id"] } == [.string("pro_lifetime"), .string("coins_100")])
        #expect(shown.map { $0["status"] } == [.string("owned"), .string("refunded")])
        #expect(shown[0]["entitlements"]?["items"]?.arrayValue?.first?["lookup_key"] == .string("pro"))
        #expect(shown[0]["revenue_in_usd"]?["gross"]?.text == "99.99")
        #expect(shown[1]["revenue_in_usd"]?["gross"]?.text == "0")
        #expect(shown[0]["store_purchase_identifier"] == .string("2"))
        #expect(try Self.subscriptions([coins, lifetime], at: epoch + 2 * day) == [])
    }

    @Test func `revenue is in dollars where every currency has a rate, and else in the latest currency alone`() throws {
        var life = Life()
        life.currency = "EUR"
        _ = life.start()
        _ = life.renew(at: life.expires)
        let end = life.expires
        life.currency = "USD"
        _ = life.renew(at: end)
        func revenue(_ rates: DollarRates) throws -> JSON? {
            try Self.subscriptions(
                [life], at: end + day,
                Self.document(rates: rates, terms: SellerTerms(taxes: ["US": Share(millionths: 200_000)]))
            ).first?["total_revenue_in_usd"]
        }
        let converted = try #require(try revenue(DollarRates(millionths: ["EUR": 1_100_000])))
        // 9.99 + 2 × 10.989; tax a fifth, and Apple's 30 % of the rest.
        #expect(converted["currency"] == .string("USD"))
        #expect(converted["gross"]?.text == "31.968")
        #expect(converted["tax"]?.text == "6.394")
        #expect(converted["commission"]?.text == "7.672")
        #expect(converted["proceeds"]?.text == "17.902")
        let alone = try #require(try revenue(DollarRates()))
        #expect(alone["currency"] == .string("USD"))
        #expect(alone["gross"]?.text == "9.99")
    }
}
