import API
import Base
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Who may still have an introductory offer.
struct IntroductoryOfferTests {
    private let api: KeyedAPI
    private let connection: PostgresConnection

    init() throws {
        api = try KeyedAPI()
        connection = try api.database.connect(role: "entitled_worker")
    }

    /// A purchase with one fact, as a worker keeps it.
    private func buy(
        _ product: String, group: String, offer: Int? = nil, by owner: String,
        in environment: StoreEnvironment = .production, ownership: String = "PURCHASED", _ id: String
    ) throws {
        let payload = JSON.object([
            "transactionId": .string(id), "originalTransactionId": .string(id), "productId": .string(product),
            "subscriptionGroupIdentifier": .string(group), "purchaseDate": .int(1_789_000_000_000),
            "originalPurchaseDate": .int(1_789_000_000_000), "expiresDate": .int(1_791_000_000_000),
            "type": .string("Auto-Renewable Subscription"), "inAppOwnershipType": .string(ownership),
            "signedDate": .int(1_790_000_000_000), "offerType": offer.map { .int(Int64($0)) },
        ])
        let key = PurchaseKey(app: "demo", environment: environment, originalTransactionID: id)
        let row = FactRow(
            kind: .transaction, signedDate: 1_790_000_000_000, header: Array("e30".utf8), signature: [1],
            payload: payload.bytes)
        try FactTable.insert([FactTable.New(key: key, seq: 1, fact: row)], on: connection)
        try connection.query(
            """
            INSERT INTO entitled.purchase
                (lane, app, environment, original_transaction_id, owner, product_id, will_renew, version, updated_ms)
            VALUES ($1, 'demo', $2, $3, $4, $5, true, 1, 1)
            """,
            [.int2(key.lane.number), .int2(environment.code), .text(id), .text(owner), .text(product)])
        try CustomerTable.make([owner], now: 1, on: connection)
        var facts = PurchaseFacts()
        row.insert(into: &facts)
        let purchase = try #require(Purchase(folding: facts, key: key, foldSettings: FoldSettings()))
        try ProductTable().note([purchase], now: 1, on: connection)
    }

    private func ask(_ products: [String], of id: String, headers: [String: String] = [:]) -> JSON {
        let body: JSON = .object(["product_identifiers": .strings(products), "fetch_token": .string("AQID")])
        return api.call("POST", "/v1/subscribers/\(id)/intro_eligibility", body, headers: headers).json
    }

    @Test func `it is once a group, for every product of the group, and unknown where the group is`() throws {
        try buy("monthly", group: "21", offer: 1, by: "somebody", "1")
        try buy("yearly", group: "21", by: "another", "2")
        try buy("news", group: "22", by: "another", "3")
        #expect(
            ask(["monthly", "yearly", "news", "unheard_of"], of: "somebody")
                == .object([
                    "monthly": .bool(false), "news": .bool(true), "unheard_of": .null, "yearly": .bool(false),
                ]))
        #expect(ask(["monthly", "news"], of: "another") == .object(["monthly": .bool(true), "news": .bool(true)]))
        #expect(ask(["monthly"], of: "nobody") == .object(["monthly": .bool(true)]))
    }

    @Test func `what is used in the sandbox or shared by a family is left in production`() throws {
        try buy("monthly", group: "21", offer: 1, by: "tester", in: .sandbox, "1")
        try buy("monthly", group: "21", offer: 1, by: "child", ownership: "FAMILY_SHARED", "2")
        #expect(ask(["monthly"], of: "tester", headers: ["X-Is-Sandbox": "false"])["monthly"] == .bool(true))
        #expect(ask(["monthly"], of: "tester", headers: ["X-Is-Sandbox": "true"])["monthly"] == .bool(false))
        #expect(ask(["monthly"], of: "tester")["monthly"] == .bool(false))
        #expect(ask(["monthly"], of: "child")["monthly"] == .bool(true))
    }

    @Test(arguments: ["{}", "[]", "{\"product_identifiers\":\"a\"}", "{\"product_identifiers\":[1]}"])
    func `a question without a list is refused`(body: String) {
        let answer = api.call("POST", "/v1/subscribers/somebody/intro_eligibility", .raw(Array(body.utf8)))
        #expect(answer.status == 400 && answer.json["code"] == .int(7226))
    }

    @Test func `a group that is learned later is kept with the product`() throws {
        try api.database.execute(
            """
            INSERT INTO entitled.product (product_id, app, environment, kind, first_seen_ms)
            VALUES ('monthly', 'demo', 0, 'Auto-Renewable Subscription', 1)
            """)
        #expect(try ProductTable.groups(of: ["monthly"], app: nil, on: connection).isEmpty)
        try buy("monthly", group: "21", by: "somebody", "1")
        #expect(try ProductTable.groups(of: ["monthly"], app: "demo", on: connection) == ["monthly": "21"])
        #expect(try ProductTable.groups(of: ["monthly"], app: "other", on: connection).isEmpty)
        #expect(try ProductTable.list(on: connection).map(\.product.group) == ["21"])
    }
}
