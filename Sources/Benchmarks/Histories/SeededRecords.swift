import Base
import Database
import Postgres
import Subscriptions

/// Records of purchases whose facts are known, each for a customer of its own.
enum SeededRecords {
    private static let insertCustomers = """
        WITH made AS (
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            SELECT * FROM unnest($1::text[], $2::int8[]) ON CONFLICT DO NOTHING
        )
        INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
        SELECT id, id, since FROM unnest($1::text[], $2::int8[]) AS t(id, since) ON CONFLICT DO NOTHING
        """

    /// Copies are recognised by these; what they are of is no matter here.
    private static let insertKeys = """
        INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
        SELECT gen_random_uuid(), * FROM unnest($1::text[], $2::int2[], $3::int2[], $4::int8[])
        """

    private static let day: Int64 = 86_400_000

    /// - Parameter facts: all that are known of the purchases that they are about.
    static func add(_ facts: [FactTable.New], on connection: PostgresConnection) throws {
        let now = SystemClock().now()
        var known: [PurchaseKey: PurchaseFacts] = [:]
        for new in facts { new.fact.insert(into: &known[new.key, default: PurchaseFacts()]) }
        var records: [PurchaseRecord] = []
        var identifiers: [(identifier: String, key: PurchaseKey)] = []
        var since: [Int64] = []
        for (key, facts) in known {
            guard let purchase = Purchase(folding: facts, key: key, foldSettings: FoldSettings()),
                let claims = PurchaseClaims(of: facts), let owner = purchase.namedCustomer
            else { throw BenchmarkFailure("\(key.originalTransactionID) has no owner") }
            records.append(
                PurchaseRecord(
                    purchase, owner: owner, wake: purchase.accessUntil.map { $0 + day }, claims: claims))
            identifiers += purchase.identifiers.map { ($0, key) }
            since.append(purchase.latest.transaction.originalPurchaseDate)
        }
        try connection.query(insertCustomers, [.texts(records.map(\.owner)), .int8s(since)])
        try PurchaseTable.write(records, now: now, on: connection)
        try PurchaseTable.identify(identifiers, on: connection)
        let notifications = facts.filter { $0.fact.kind == .notification }
        try connection.query(
            insertKeys,
            [
                .texts(notifications.map(\.key.app)), .int2s(notifications.map(\.key.environment.code)),
                .int2s(notifications.map(\.key.lane.number)), .int8s(notifications.map(\.seq)),
            ])
    }

    /// What the records name.
    static func finish(on connection: PostgresConnection) throws {
        try connection.query(
            """
            INSERT INTO entitled.account (number)
            SELECT DISTINCT account FROM entitled.purchase WHERE account IS NOT NULL ON CONFLICT DO NOTHING
            """)
    }
}
