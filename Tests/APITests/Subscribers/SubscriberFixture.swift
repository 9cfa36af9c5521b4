import API
import Base
import Database
import HTTP
import Postgres
import Subscriptions
import TestSupport
import Testing

/// The REST listener, and a worker that writes what Apple would have said.
final class SubscriberFixture: Sendable {
    /// Later than any clock of today: customers are made at the database's time.
    static let start: Int64 = 4_000_000_000_000
    static let hour: Int64 = 3_600_000

    let clock = ManualClock(SubscriberFixture.start)
    let database: TestDatabase
    let api: KeyedAPI

    /// - Parameter prepare: runs before anything connects.
    init(prepare: (TestDatabase) throws -> Void = { _ in }) throws {
        database = try TestCluster.shared.makeMigratedDatabase()
        try prepare(database)
        api = try KeyedAPI(database, clock: clock) { $0.catalogue = EntitlementCatalogue(["pro": ["monthly"]]) }
    }

    static func key(_ original: String) -> PurchaseKey {
        PurchaseKey(app: "demo", environment: .production, originalTransactionID: original)
    }

    /// What a worker writes when Apple signed this: the fact and the record, in one transaction.
    ///
    /// - Parameters:
    ///   - hours: how long the subscription runs from the start.
    ///   - price: in whole euros.
    func tell(
        _ owner: String, _ original: String = "1", price: Int64 = 1, hours: Int64 = 24, signed: Int64 = 0,
        on connection: PostgresConnection? = nil
    ) throws {
        let connection = try connection ?? database.connect(role: "entitled_worker")
        let (key, start) = (SubscriberFixture.key(original), SubscriberFixture.start)
        let payload = """
            {"transactionId":"\(original)","originalTransactionId":"\(original)","productId":"monthly",\
            "purchaseDate":\(start),"expiresDate":\(start + hours * SubscriberFixture.hour),\
            "type":"Auto-Renewable Subscription","signedDate":\(start + signed),"price":\(price * 1000),\
            "currency":"EUR"}
            """
        let fact = FactRow(
            kind: .transaction, signedDate: start + signed, header: nil, signature: nil, payload: Array(payload.utf8))
        try connection.transaction {
            try CustomerTable.make([owner], now: start, on: connection)
            try FactTable.insert([FactTable.New(key: key, seq: 1, fact: fact)], on: connection)
            let facts = try #require(try FactTable.load([key], on: connection).first)
            let purchase = try #require(Purchase(folding: facts, key: key))
            try PurchaseTable.write(
                [PurchaseRecord(purchase, owner: owner, wake: nil)], now: start, on: connection)
        }
    }

    func get(_ id: String, key: String = KeyedAPI.publicKey, headers: [String: String] = [:]) -> HTTPCall {
        api.call("GET", "/v1/subscribers/\(id)", key: key, headers: headers)
    }

    /// What the subscription costs by this answer, in whole euros.
    static func price(_ answer: HTTPCall) -> Int64? {
        answer.json["subscriber"]?["subscriptions"]?["monthly"]?["price"]?["amount"]?.intValue
    }

    /// Waits until so many snapshots fit their purchases.
    func untilKept(_ count: Int64) throws {
        try eventually("\(count) snapshots fit") {
            try self.database.count(
                """
                SELECT count(*) FROM entitled.purchase_snapshot s JOIN entitled.purchase p
                    USING (lane, original_transaction_id, app, environment, version, updated_ms)
                """) == count
        }
    }
}
