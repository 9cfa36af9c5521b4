import Base
import Database
import Postgres
import Subscriptions

/// Customers with one subscription each, written into the database as a worker would leave them.
enum SeededCustomers {
    private static let chunk = 20_000

    /// The same for every customer but for what it is filed under.
    private static func payload(_ now: Int64) -> [UInt8] {
        Array(
            """
            {"transactionId":"2000000000000001","originalTransactionId":"2000000000000001","productId":"pro_monthly",\
            "webOrderLineItemId":"2000000113","purchaseDate":\(now),"originalPurchaseDate":\(now),\
            "expiresDate":\(now + 30 * 86_400_000),"type":"Auto-Renewable Subscription","signedDate":\(now),\
            "price":9990,"currency":"USD","storefront":"USA","transactionReason":"PURCHASE","inAppOwnershipType":"PURCHASED"}
            """.utf8)
    }

    private static let insertCustomers = """
        WITH made AS (INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) SELECT unnest($1::text[]), $2)
        INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
        SELECT id, id, $2 FROM unnest($1::text[]) AS t(id)
        """

    static func add(_ count: Int, now: Int64, to installation: Installation) throws {
        let connection = installation.database
        let fact = FactRow(
            kind: .transaction, signedDate: now, header: nil, signature: [UInt8](repeating: 7, count: 64),
            payload: payload(now))
        for start in stride(from: 0, to: count, by: chunk) {
            let numbers = start..<min(count, start + chunk)
            let keys = numbers.map(key)
            try connection.transaction {
                _ = try connection.query(insertCustomers, [.texts(numbers.map { "user-\($0)" }), .int8(now)])
                try FactTable.insert(keys.map { FactTable.New(key: $0, seq: 1, fact: fact) }, on: connection)
                try PurchaseTable.write(
                    zip(numbers, keys).map { number, key in
                        PurchaseRecord(
                            key: key, owner: "user-\(number)", productID: "pro_monthly",
                            accessEnds: now + 30 * 86_400_000, graceEnds: nil, revoked: nil, willRenew: true, wake: nil)
                    }, now: now, on: connection)
            }
        }
        try connection.query("VACUUM ANALYZE")
    }

    private static func key(_ number: Int) -> PurchaseKey {
        PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "\(2_000_000_000_000_000 + number)")
    }

    private static let insertSnapshots = """
        INSERT INTO entitled.purchase_snapshot (lane, original_transaction_id, app, environment, version, updated_ms, body)
        SELECT lane, original_transaction_id, app, environment, version, updated_ms,
            (SELECT body FROM entitled.purchase_snapshot LIMIT 1)
        FROM entitled.purchase ON CONFLICT DO NOTHING
        """

    /// As if everybody had been read: all snapshots are the same, and one is there.
    static func addSnapshots(to installation: Installation) throws {
        try installation.database.query(insertSnapshots)
        // So that the hour's first request of a customer is not measured.
        for table in ["customer", "app_user_id"] {
            try installation.database.query(
                "UPDATE entitled.\(table) SET last_seen_ms = (extract(epoch FROM clock_timestamp()) * 1000)::int8")
        }
        try installation.database.query("VACUUM ANALYZE")
    }
}
