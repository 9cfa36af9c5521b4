import API
import Base
import Database
import HTTP
import Postgres
import Subscriptions
import TestSupport
import Testing

/// The REST listener with all its routes, and a worker that writes what Apple would have said.
struct V2Fixture {
    static let now: Int64 = 4_000_000_000_000
    static let day: Int64 = 86_400_000
    static let project = "/v2/projects/proj1ab2c3d4"

    let api: KeyedAPI

    init() throws {
        api = try KeyedAPI(clock: ManualClock(V2Fixture.now))
    }

    /// What a worker writes when Apple signed a transaction of this customer.
    func buy(
        _ owner: String, _ original: String, product: String = "monthly", app: String = "demo",
        isSubscription: Bool = true
    ) throws {
        let connection = try api.database.connect(role: "entitled_worker")
        let key = PurchaseKey(app: app, environment: .production, originalTransactionID: original)
        let bought = V2Fixture.now - V2Fixture.day
        let payload = JSON.object([
            "transactionId": .string(original), "originalTransactionId": .string(original),
            "productId": .string(product), "purchaseDate": .int(bought), "originalPurchaseDate": .int(bought),
            "expiresDate": isSubscription ? .int(bought + 30 * V2Fixture.day) : nil,
            "type": .string(isSubscription ? "Auto-Renewable Subscription" : "Non-Consumable"),
            "signedDate": .int(bought), "price": .int(9990), "currency": .string("USD"), "storefront": .string("DEU"),
        ])
        let fact = FactRow(
            kind: .transaction, signedDate: bought, header: nil, signature: nil, payload: payload.bytes)
        try connection.transaction {
            try CustomerTable.make([owner], now: bought, on: connection)
            try FactTable.insert([FactTable.New(key: key, seq: 1, fact: fact)], on: connection)
            let facts = try #require(try FactTable.load([key], on: connection).first)
            let purchase = try #require(Purchase(folding: facts, key: key))
            try PurchaseTable.write(
                [PurchaseRecord(purchase, owner: owner, wake: nil)], now: bought, on: connection)
        }
    }

    func get(_ path: String, key: String? = KeyedAPI.secretKey) -> HTTPCall {
        api.call("GET", V2Fixture.project + path, key: key)
    }

    func post(_ path: String, _ body: JSON, key: String? = KeyedAPI.secretKey) -> HTTPCall {
        api.call("POST", V2Fixture.project + path, body, key: key)
    }
}
