import Base
import Subscriptions
import Testing

/// What receivers read.
struct EventBodyTests {
    static let catalogue = EntitlementCatalogue([
        "pro": ["pro_monthly", "pro_yearly", "pro_lifetime"], "basic": ["basic_monthly"],
    ])
    static let identity = EventIdentity(
        appUserID: "bob", originalAppUserID: "$RCAnonymousID:1", aliases: ["$RCAnonymousID:1", "bob"])

    static func body(_ draft: EventDraft, rates: DollarRates = DollarRates()) -> JSON {
        EventBody(catalogue: catalogue, rates: rates).json(
            draft, id: draft.id, identity: identity, appID: "demo")
    }

    private func first(_ life: Life) throws -> EventDraft {
        var life = life
        var story = Story(life.key)
        return try #require(story.hear(life.start()).first)
    }

    @Test func `an initial purchase byte for byte`() throws {
        let draft = try first(Life())
        let expected = """
            {"event":{"event_timestamp_ms":1790000005000,"product_id":"pro_monthly","period_type":"NORMAL",\
            "purchased_at_ms":1790000000000,"expiration_at_ms":1792592000000,"environment":"SANDBOX",\
            "entitlement_id":null,"entitlement_ids":["pro"],"presented_offering_id":null,"transaction_id":"1000",\
            "original_transaction_id":"1000","is_family_share":false,"country_code":"US","app_user_id":"bob",\
            "aliases":["$RCAnonymousID:1","bob"],"original_app_user_id":"$RCAnonymousID:1","currency":"USD",\
            "price":9.99,"price_in_purchased_currency":9.99,"subscriber_attributes":{},"store":"APP_STORE",\
            "takehome_percentage":0.7,"offer_code":null,"tax_percentage":0,"commission_percentage":0.3,\
            "metadata":null,"renewal_number":1,"discount_percentage":null,"discount_amount":null,\
            "discount_identifier":null,"type":"INITIAL_PURCHASE","id":"\(draft.id)",\
            "app_id":"demo"},"api_version":"1.0"}
            """
        #expect(Self.body(draft).text == expected)
    }

    @Test func `a test event is of a customer whose id is a UUID, as RevenueCat's`() throws {
        let id = EventID.uuid(of: digest("test"))
        let event = try #require(TestEvent.json(id: id, appID: "demo", now: epoch)["event"])
        for name in ["app_user_id", "original_app_user_id"] {
            let text = try #require(event[name]?.stringValue)
            #expect(UUIDText.bytes(text) != nil && text.utf8.count == 36, "\(name): \(text)")
        }
        #expect(event["aliases"] == .array([event["app_user_id"] ?? .null]))
        #expect(event["transaction_id"] == .null)
    }

    @Test(arguments: [
        ("USD", 9990, "9.99", "9.99"), ("JPY", 499_000, "null", "499"), ("EUR", 1, "0.001", "0.001"),
        ("EUR", 10_000_000, "11000", "10000"), ("EUR", 0, "0", "0"), ("JPY", 0, "0", "0"),
    ])
    func `prices are exact, and in dollars only where that is known`(
        currency: String, price: Int64, dollars: String, local: String
    ) throws {
        var life = Life(price: price)
        life.currency = currency
        let body = Self.body(try first(life), rates: DollarRates(millionths: ["EUR": 1_100_000]))
        #expect(body["event"]?["price"]?.text == dollars)
        #expect(body["event"]?["price_in_purchased_currency"]?.text == local)
    }

    @Test func `what was never signed is null, and a family member pays nothing`() throws {
        var draft = try first(Life(isFamily: true))
        #expect(Self.body(draft)["event"]?["price"]?.text == "0")
        #expect(Self.body(draft)["event"]?["is_family_share"]?.boolValue == true)
        var life = Life()
        _ = life.start()
        life.transactions[0].price = nil
        var story = Story(life.key)
        draft = try #require(story.hear(life.notify("SUBSCRIBED", at: epoch + second)).first)
        #expect(Self.body(draft)["event"]?["price"] == .null)
        #expect(Self.body(draft)["event"]?["price_in_purchased_currency"] == .null)
    }

    @Test func `a refund is negative and what moves no money is zero`() throws {
        var life = Life()
        var story = Story(life.key)
        _ = story.hear(life.start())
        let refund = story.hear(life.refund(at: epoch + day)).map { Self.body($0)["event"] }
        #expect(refund.map { $0?["price"]?.text } == ["-9.99", "0"])
        #expect(refund.map { $0?["cancel_reason"]?.stringValue } == ["CUSTOMER_SUPPORT", nil])
        #expect(refund.map { $0?["expiration_reason"]?.stringValue } == [nil, "CUSTOMER_SUPPORT"])
    }

    @Test func `a product without an entitlement has null`() throws {
        let body = Self.body(try first(Life(product: "nothing")))
        #expect(body["event"]?["entitlement_ids"] == .null)
    }

    /// What is sent of a life whose transactions an app posted, too, each with the offering in which the customer saw it.
    private static func posted(_ life: Life) -> [EventDraft] {
        let deriver = EventDeriver(confirmation: ExpiryConfirmation(patience: day))
        var (facts, before, drafts) = (PurchaseFacts(), Purchase?.none, [EventDraft]())
        for telling in life.tellings {
            telling.add(to: &facts)
            if let id = telling.transaction?.transactionID {
                facts.insert(TransactionContext(transactionID: id, offering: "spring", at: telling.signed))
            }
            guard let after = Purchase(folding: facts, key: life.key) else { continue }
            drafts += deriver.events(
                before: before, after: after, cause: .notification(telling.notification), now: telling.signed)
            before = after
        }
        return drafts
    }

    /// Bodies of every type, from stories.
    static let bodies: [EventType: [JSON]] = {
        var drafts: [EventDraft] = []
        var lives = (0..<60).map { Scenario(seed: UInt64($0)).life } + [OrderTests.longLife(), OrderTests.endedLife()]
        var once = Life("9000")
        _ = once.buyOnce("coins_100", at: epoch)
        lives.append(once)
        for life in lives {
            var (story, bareStory) = (Story(life.key), Story(life.key))
            for telling in life.tellings {
                drafts += story.hear(telling)
                drafts += bareStory.hear(telling.bare)
            }
            drafts += posted(life)
        }
        // A trial that becomes known after its conversion, and a product with a duration.
        var late = Life("9001")
        _ = late.start(lasts: 7 * day, offer: .trial)
        _ = late.renew(at: late.expires)
        var lateStory = Story(late.key)
        for telling in late.tellings.reversed() { drafts += lateStory.hear(telling, now: late.expires - day) }
        let durations = ProductDuration(text: "P1M").map { ["coins_100": $0] } ?? [:]
        var timed = Story(once.key, foldSettings: FoldSettings(durations: durations))
        for telling in once.tellings { drafts += timed.hear(telling) }
        var bodies = Dictionary(grouping: drafts, by: \.type).mapValues { $0.map { body($0) } }
        bodies[.transfer] = [
            TransferEvent(
                app: "demo", environment: .sandbox, from: ["a"], to: ["b", "c"], action: 1, at: epoch
            ).json(id: EventID.uuid(of: digest("transfer")))
        ]
        let alias = AliasEvent(app: "demo", environment: .sandbox, identity: identity, joined: "bob", at: epoch)
        bodies[.subscriberAlias] = [alias.json(id: alias.id)]
        let request = ConsumptionRequestEvent(
            purchase: PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "1"), transactionID: "2",
            productID: "coins_100", reason: nil, asked: epoch, deadline: epoch + 43_200_000, at: epoch)
        bodies[.consumptionRequest] = [
            request.json(
                id: request.id,
                identity: EventIdentity(appUserID: "a", originalAppUserID: "b", aliases: ["a", "b"]))
        ]
        var known = identity
        known = EventIdentity(
            appUserID: known.appUserID, originalAppUserID: known.originalAppUserID, aliases: known.aliases,
            attributes: .object([
                "$email": .object(["updated_at_ms": .int(epoch), "value": .string("bob@example.com")])
            ]))
        if let draft = drafts.first(where: { $0.type == .renewal }) {
            bodies[.renewal]?.append(
                EventBody(catalogue: catalogue).json(draft, id: draft.id, identity: known, appID: "demo"))
        }
        bodies[.test] = [TestEvent.json(id: EventID.uuid(of: digest("test")), appID: "demo", now: epoch)]
        return bodies
    }()
}

extension Telling {
    /// Without what Apple may leave out.
    fileprivate var bare: Telling {
        var telling = self
        telling.transaction?.storefront = nil
        telling.transaction?.currency = nil
        telling.transaction?.price = nil
        telling.transaction?.appAccountToken = nil
        return telling
    }
}
