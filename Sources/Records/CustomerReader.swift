import Base
import Postgres
import Queue
import Subscriptions

/// Reads customers with all that is known of their purchases, for operators.
package enum CustomerReader {
    package struct Found: Sendable {
        package let customer: Customer
        /// Folded from the facts at this moment, in the order of original purchase date, then of the id.
        package let purchases: [Purchase]
        /// When anything about the customer changed last, in milliseconds.
        package let lastSeen: Int64
    }

    /// Exact app user ids first, then ids that differ in case only, then what purchases are known by.
    private static let find = """
        SELECT id FROM (
            SELECT id, CASE WHEN id = $1 THEN 0 ELSE 1 END AS rank, first_seen_ms AS age
            FROM entitled.app_user_id WHERE lower(id) = lower($1)
            UNION ALL
            SELECT p.owner, 2, p.updated_ms FROM entitled.purchase_identifier i
            JOIN entitled.purchase p ON p.lane = i.lane AND p.original_transaction_id = i.original_transaction_id
                AND p.app = i.app AND p.environment = i.environment
            WHERE i.identifier = $1
        ) AS found ORDER BY rank, age, id LIMIT 1
        """

    private static let purchases = """
        SELECT p.app, p.environment, p.original_transaction_id, p.updated_ms FROM entitled.purchase p
        WHERE p.owner = ANY($1::text[])
        """

    /// The customer alone; nil if nobody is known by it.
    package static func customer(anyID: String, on connection: PostgresConnection) throws -> Customer? {
        guard let id = try connection.query(find, [.text(AppUserID.normal(anyID))]).first?.text(0) else { return nil }
        return try CustomerStore.load([id], on: connection)[id]
    }

    /// By app user id, alias, app account token, (original) transaction id or web order line item id; nil if nobody
    /// is known by it.
    ///
    /// - Parameter foldSettings: what the configuration adds to facts.
    package static func find(
        anyID: String, foldSettings: FoldSettings, on connection: PostgresConnection
    ) throws -> Found? {
        guard let customer = try customer(anyID: anyID, on: connection) else { return nil }
        var keys: [PurchaseKey] = []
        var lastSeen = customer.firstSeen
        for row in try connection.query(purchases, [.texts(customer.appUserIDs)]) {
            guard let environment = StoreEnvironment(code: Int16(clamping: try row.int(1))) else { continue }
            keys.append(
                PurchaseKey(app: try row.text(0), environment: environment, originalTransactionID: try row.text(2)))
            lastSeen = max(lastSeen, try row.int(3))
        }
        let facts = try FactStore.load(keys, on: connection)
        let folded = zip(keys, facts).compactMap { Purchase(folding: $1, key: $0, foldSettings: foldSettings) }
        return Found(customer: customer, purchases: folded, lastSeen: lastSeen)
    }

    private static let newest = """
        SELECT c.original_app_user_id, c.first_seen_ms, a.id FROM (
            SELECT original_app_user_id, first_seen_ms FROM entitled.customer
            ORDER BY first_seen_ms DESC, original_app_user_id LIMIT $1
        ) c
        LEFT JOIN entitled.app_user_id a ON a.original_app_user_id = c.original_app_user_id
        ORDER BY c.first_seen_ms DESC, c.original_app_user_id, a.first_seen_ms, a.id
        """

    /// The newest first.
    package static func list(atMost limit: Int, on connection: PostgresConnection) throws -> [Customer] {
        var customers: [Customer] = []
        for row in try connection.query(newest, [.int8(Int64(limit))]) {
            let (original, id) = (try row.text(0), try row.optionalText(2))
            let known = customers.last?.originalAppUserID == original ? customers.removeLast().appUserIDs : []
            customers.append(
                Customer(
                    originalAppUserID: original, appUserIDs: known + [id].compactMap { $0 },
                    firstSeen: try row.int(1)))
        }
        return customers
    }
}
