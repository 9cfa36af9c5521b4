import Base
import Subscriptions
import Testing

/// The subscriber document and the rows beside it.
struct DocumentTests {
    private let catalogue = EventBodyTests.catalogue
    private let customer = CustomerProfile(
        originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: epoch, lastSeen: epoch + day)

    private func subscriber(_ lives: Life..., at now: Int64, rule: SandboxRule = .all) throws -> JSON {
        try subscriber(lives.map { try #require($0.purchase()) }, at: now, rule: rule)
    }

    private func subscriber(_ purchases: [Purchase], at now: Int64, rule: SandboxRule = .all) throws -> JSON {
        let document = SubscriberDocument(catalogue: catalogue, sandboxRule: rule)
            .json(customer: customer, purchases: purchases, now: now)
        return try #require(document["subscriber"])
    }

    private func inProduction(_ life: Life) throws -> Purchase {
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.original)
        return try #require(Purchase(folding: life.facts, key: key))
    }

    @Test func `a subscriber byte for byte, with sorted names at every level`() throws {
        var life = Life()
        _ = life.start()
        let document = SubscriberDocument(catalogue: catalogue)
            .json(customer: customer, purchases: [try #require(life.purchase())], now: epoch + day + 999)
        #expect(
            document.text == """
                {"request_date":"2026-09-22T14:13:20Z","request_date_ms":1790086400999,"subscriber":{"entitlements":\
                {"pro":{"expires_date":"2026-10-21T14:13:20Z","grace_period_expires_date":null,\
                "product_identifier":"pro_monthly","purchase_date":"2026-09-21T14:13:20Z"}},\
                "first_seen":"2026-09-21T14:13:20Z","last_seen":"2026-09-22T14:13:20Z",\
                "management_url":"https://apps.apple.com/account/subscriptions","non_subscriptions":{},\
                "original_app_user_id":"bob","original_application_version":null,"original_purchase_date":null,\
                "other_purchases":{},"subscriptions":{"pro_monthly":{"auto_resume_date":null,\
                "billing_issues_detected_at":null,"display_name":null,"expires_date":"2026-10-21T14:13:20Z",\
                "grace_period_expires_date":null,"is_sandbox":true,\
                "management_url":"https://apps.apple.com/account/subscriptions",\
                "original_purchase_date":"2026-09-21T14:13:20Z","ownership_type":"PURCHASED","period_type":"normal",\
                "price":{"amount":9.99,"currency":"USD"},\
                "purchase_date":"2026-09-21T14:13:20Z","refunded_at":null,"store":"app_store",\
                "store_transaction_id":"1000","unsubscribe_detected_at":null}}}}
                """)
    }

    @Test func `what ended long ago will not renew, said or not`() throws {
        var life = Life()
        _ = life.start()
        let shown = { (instant: Int64) in
            try subscriber(life, at: instant)["subscriptions"]?["pro_monthly"]?["unsubscribe_detected_at"]
        }
        #expect(try shown(life.expires - day) == .null)
        #expect(try shown(life.expires + 59 * day) == .null)
        #expect(try shown(life.expires + 61 * day) == .date(life.expires))
        let told = life.expires - 2 * day
        _ = life.autoRenewOff(at: told)
        #expect(try shown(life.expires + 61 * day) == .date(told))
    }

    @Test func `grace moves the end that readers judge by`() throws {
        var life = Life()
        _ = life.start()
        let grace = life.expires + 16 * day
        _ = life.billingFailure(graceUntil: grace, at: life.expires)
        let shown = try subscriber(life, at: life.expires + day)
        let expected = JSON.date(grace)
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == expected)
        #expect(shown["entitlements"]?["pro"]?["grace_period_expires_date"] == expected)
        #expect(shown["subscriptions"]?["pro_monthly"]?["grace_period_expires_date"] == expected)
        #expect(shown["subscriptions"]?["pro_monthly"]?["expires_date"] == expected)
        #expect(shown["subscriptions"]?["pro_monthly"]?["billing_issues_detected_at"] == .date(life.expires))
        _ = life.renew(at: life.expires + day, recovery: true)
        let recovered = try subscriber(life, at: life.expires - day)["subscriptions"]?["pro_monthly"]
        #expect(recovered?["grace_period_expires_date"] == .null)
        #expect(recovered?["billing_issues_detected_at"] == .null)
    }

    @Test func `a refund moves the end to its moment and only the latest period's shows`() throws {
        var life = Life()
        _ = life.start()
        _ = life.renew(at: life.expires - hour)
        _ = life.refund(0, at: life.latest.purchaseDate + hour)
        var shown = try subscriber(life, at: life.expires - day)
        #expect(shown["subscriptions"]?["pro_monthly"]?["refunded_at"] == .null)
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == .date(life.expires))
        _ = life.refund(at: life.latest.purchaseDate + day)
        shown = try subscriber(life, at: life.expires - day)
        let revoked = JSON.date(life.latest.revocationDate)
        #expect(shown["subscriptions"]?["pro_monthly"]?["refunded_at"] == revoked)
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == revoked)
        #expect(shown["management_url"] == .null)
    }

    @Test func `after a downgrade's renewal the old entitlement has ended and the new one runs`() throws {
        var life = Life()
        _ = life.start()
        let end = life.expires
        _ = life.downgrade(to: "basic_monthly", price: 4990, at: epoch + day)
        _ = life.renew(at: end)
        let shown = try subscriber(life, at: end + day)
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == .date(end))
        #expect(shown["entitlements"]?["basic"]?["expires_date"] == .date(life.expires))
        #expect(shown["subscriptions"]?.members?.map(\.name) == ["basic_monthly", "pro_monthly"])
    }

    @Test func `what was bought once is listed until it is taken back`() throws {
        var coins = Life("1")
        var lifetime = Life("2")
        _ = coins.buyOnce("coins_100", at: epoch)
        _ = lifetime.buyOnce("pro_lifetime", kind: "Non-Consumable", price: 99990, at: epoch)
        var shown = try subscriber(coins, lifetime, at: epoch + day)
        let item = try #require(shown["non_subscriptions"]?["coins_100"]?.arrayValue?.first)
        #expect(item["store_transaction_id"] == .string("1"))
        #expect(item["id"]?.stringValue?.count == 10)
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == .null)
        #expect(shown["entitlements"]?["pro"]?["product_identifier"] == .string("pro_lifetime"))
        #expect(shown["subscriptions"] == .object([]))
        _ = coins.refund(at: epoch + hour)
        _ = lifetime.refund(at: epoch + hour)
        shown = try subscriber(coins, lifetime, at: epoch + day)
        #expect(shown["non_subscriptions"] == .object([]))
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == .date(epoch + hour - 2 * second))
    }

    @Test func `per product a production purchase wins over a longer one of the sandbox`() throws {
        var real = Life("1")
        var played = Life("2")
        _ = real.start()
        _ = played.start(began: epoch + day)
        let shown = try subscriber(
            [try #require(played.purchase()), try inProduction(real)], at: epoch + 2 * day)
        #expect(shown["subscriptions"]?["pro_monthly"]?["is_sandbox"] == .bool(false))
        #expect(shown["entitlements"]?["pro"]?["expires_date"] == .date(real.expires))
    }

    @Test func `an active purchase of the sandbox wins over one of production that has ended`() throws {
        var real = Life("1")
        var played = Life("2")
        _ = real.start()
        _ = real.autoRenewOff(at: epoch + day)
        _ = real.expire(at: real.expires)
        let begin = real.expires + 30 * day
        _ = played.start(began: begin)
        let purchases = try [played.purchase(), inProduction(real)].map { try #require($0) }
        for purchases in [purchases, purchases.reversed()] {
            let shown = try subscriber(purchases, at: begin + day)
            #expect(shown["subscriptions"]?["pro_monthly"]?["is_sandbox"] == .bool(true))
            #expect(shown["entitlements"]?["pro"]?["expires_date"] == .date(played.expires))
            // When both are over, production speaks again.
            let over = try subscriber(purchases, at: played.expires + day)
            #expect(over["subscriptions"]?["pro_monthly"]?["is_sandbox"] == .bool(false))
            #expect(over["entitlements"]?["pro"]?["expires_date"] == .date(real.expires))
        }
        let document = SubscriberDocument(catalogue: catalogue)
        let tags = [begin + day, played.expires + day].map { now in
            document.page(customer: customer, snapshots: purchases.map(PurchaseSnapshot.init), now: now).tag
        }
        #expect(tags[0] != tags[1])
        let explained = CustomerExplanation(customer, purchases, catalogue: catalogue, now: begin + day)
        let pro = try #require(explained.entitlements.first { $0.name == "pro" })
        #expect(pro.isActive && pro.isSandbox)
        #expect(
            pro.sentence
                == "active until \(DisplayText.time(played.expires)): pro_monthly, paid; renews then; the production purchase"
                + " ended \(DisplayText.time(real.expires)) [sandbox]")
    }

    @Test func `what an upgrade gave back is no refund of the old product`() throws {
        var life = Life()
        _ = life.start()
        _ = life.upgrade(to: "pro_yearly", price: 59990, at: epoch + day, lasts: 365 * day)
        _ = life.refund(0, at: epoch + day + hour)
        let shown = try subscriber(life, at: epoch + 2 * day)
        #expect(shown["subscriptions"]?["pro_monthly"]?["refunded_at"] == .null)
        #expect(shown["subscriptions"]?["pro_monthly"]?["expires_date"] == .date(epoch + day))
        #expect(shown["entitlements"]?["pro"]?["product_identifier"] == .string("pro_yearly"))
    }

    @Test func `an expired subscription does not renew because renewal was switched on`() throws {
        var life = Life()
        _ = life.start()
        _ = life.autoRenewOff(at: epoch + day)
        _ = life.expire(at: life.expires)
        life.renewal.expirationIntent = nil
        _ = life.autoRenewOn(at: life.expires + hour)
        let purchase = try #require(life.purchase())
        #expect(!purchase.willRenew && purchase.renewalObstacle == .ended)
        let row = PurchaseSummary(catalogue: catalogue)
            .row(purchase, ofCustomer: ["bob"], now: life.expires + 2 * hour)
        #expect(row["status"] == .string("expired") && row["will_renew"] == .bool(false))
        #expect(row["will_not_renew_because"] == .string("ended"))
        // One of which nobody said that it ended, either.
        var silent = Life()
        _ = silent.start()
        let quiet = PurchaseSummary(catalogue: catalogue)
            .row(try #require(silent.purchase()), ofCustomer: ["bob"], now: silent.expires)
        #expect(quiet["status"] == .string("expired") && quiet["will_renew"] == .bool(false))
        _ = life.resubscribe(at: life.expires + day)
        #expect(try #require(life.purchase()).willRenew)
    }

    @Test(arguments: [
        (SandboxRule.all, true), (.none, false), (.customers(["bob"]), true), (.customers(["eve"]), false),
    ])
    func `the sandbox gives entitlements by rule, and is always shown`(rule: SandboxRule, isGranted: Bool) throws {
        var life = Life()
        _ = life.start()
        let shown = try subscriber(life, at: epoch + day, rule: rule)
        #expect((shown["entitlements"]?["pro"] != nil) == isGranted)
        #expect(shown["subscriptions"]?["pro_monthly"] != nil)
        let rows = PurchaseSummary(catalogue: catalogue, sandboxRule: rule)
            .json([try #require(life.purchase())], of: customer, now: epoch + day)
        #expect(rows.arrayValue?.first?["entitlements"] == .strings(isGranted ? ["pro"] : []))
        let real = try subscriber([try inProduction(life)], at: epoch + day, rule: rule)
        #expect(real["entitlements"]?["pro"] != nil)
    }

    @Test func `of several products the one that lasts longest gives the entitlement`() throws {
        var short = Life("1")
        var long = Life("2", product: "pro_yearly")
        _ = short.start()
        _ = long.start(lasts: 365 * day)
        for lives in [[short, long], [long, short]] {
            let shown = try subscriber(lives.map { try #require($0.purchase()) }, at: epoch + day)
            #expect(shown["entitlements"]?["pro"]?["product_identifier"] == .string("pro_yearly"))
        }
    }

    @Test func `rows of purchases are in order and say how each stands`() throws {
        var first = Life("2")
        var second = Life("1")
        _ = first.start()
        _ = first.billingFailure(graceUntil: first.expires + 6 * day, at: first.expires)
        _ = second.start(began: epoch + day)
        let purchases = try [second, first].map { try #require($0.purchase()) }
        let rows = PurchaseSummary(catalogue: catalogue).json(purchases, of: customer, now: first.expires + hour)
        let row = try #require(rows.arrayValue?.first)
        #expect(rows.arrayValue?.map { $0["original_transaction_id"]?.stringValue } == ["2", "1"])
        #expect(row["status"] == .string("grace"))
        #expect(row["expires_at"] == .date(first.expires))
        #expect(row["grace_expires_at"] == .date(first.expires + 6 * day))
        #expect(row["will_renew"] == .bool(false))
        #expect(row["entitlements"] == .strings(["pro"]))
        #expect(rows.arrayValue?.last?["will_renew"] == .bool(true))
    }

    @Test func `a document is the same whatever the order of purchases`() throws {
        let lives = (0..<12).map { Scenario(seed: UInt64($0)).life }
        let purchases = try lives.map { try #require($0.purchase()) }
        let straight = try subscriber(purchases, at: epoch + 60 * day)
        var chance = Chance(seed: 5)
        for _ in 0..<20 {
            let shown = try subscriber(purchases.shuffled(using: &chance), at: epoch + 60 * day)
            #expect(shown == straight)
        }
    }

    @Test func `a customer is anonymous until somebody is named`() {
        let anonymous = CustomerProfile(
            originalAppUserID: "$RCAnonymousID:1", appUserIDs: ["$RCAnonymousID:1"], firstSeen: 0, lastSeen: 0)
        let named = CustomerProfile(
            originalAppUserID: "$RCAnonymousID:1", appUserIDs: ["$RCAnonymousID:1", "bob"], firstSeen: 0, lastSeen: 0)
        #expect(anonymous.isAnonymous)
        #expect(!named.isAnonymous)
        #expect(named.json["app_user_ids"] == .strings(["$RCAnonymousID:1", "bob"]))
    }
}
