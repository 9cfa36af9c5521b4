import Base
import Database
import Postgres

/// Removes customers that have nothing but an id, as reading makes them, and that were not seen for a long time. A
/// later request with the id makes the customer anew.
///
/// Everything that gives a customer something locks its rows first, or makes them where they are gone. So the rows are
/// locked, and what the customer has is looked for once more behind the lock: nothing that was committed meanwhile is
/// missed. A customer that another transaction has locked stays.
struct EmptyCustomerCleaner {
    private var walk = BlockScan("customer", isOfLanes: false)

    /// Whether a customer was not seen since `$3`, and has nothing but this one id.
    ///
    /// - Parameter notes: the condition on notes.
    private static func isEmpty(_ customer: String, _ id: String, _ notes: String) -> String {
        """
        \(customer).first_seen_ms < $3 AND coalesce(\(customer).last_seen_ms, 0) < $3
            AND coalesce(\(id).last_seen_ms, 0) < $3 AND NOT \(id).of_account
            AND \(customer).restore_behavior IS NULL AND \(customer).offering_override IS NULL
            AND \(customer).app_environment IS NULL
            AND NOT EXISTS (SELECT FROM entitled.app_user_id o
                WHERE o.original_app_user_id = \(customer).original_app_user_id AND o.id <> \(id).id)
            AND NOT EXISTS (SELECT FROM entitled.customer_attribute WHERE app_user_id = \(id).id)
            /* cluster: for: */AND NOT EXISTS (SELECT FROM entitled.purchase WHERE owner = \(id).id)/* end */
            AND NOT EXISTS (SELECT FROM entitled.action WHERE app_user_id = \(id).id)
            AND NOT EXISTS (SELECT FROM entitled.action WHERE other = \(id).id)
            AND NOT EXISTS (SELECT FROM entitled.account_join WHERE one = \(id).id)
            AND NOT EXISTS (SELECT FROM entitled.account_join WHERE other = \(id).id)
            \(notes)
        """
    }

    /// Empty where the schema is older than notes.
    private static func notes(on connection: PostgresConnection) throws -> String {
        let isThere = try connection.query(
            "SELECT to_regclass('entitled.customer_note') IS NOT NULL AS is_there"
        ).one().bool("is_there")
        return isThere ? "AND NOT EXISTS (SELECT FROM entitled.customer_note WHERE app_user_id = a.id)" : ""
    }

    private static func lock(_ notes: String) -> String {
        """
        SELECT c.original_app_user_id FROM entitled.customer c
        JOIN entitled.app_user_id a ON a.id = c.original_app_user_id AND a.original_app_user_id = a.id
        WHERE c.ctid >= $1::text::tid AND c.ctid < $2::text::tid AND \(isEmpty("c", "a", notes))
        FOR UPDATE OF c, a SKIP LOCKED
        """
    }

    private static let selectOwners = """
        SELECT DISTINCT owner, lane FROM entitled.purchase
        WHERE owner = ANY($1::text[]) /* cluster: AND lane = ANY($2::int2[]) */
        """

    /// Apart on a cluster, where purchases lie elsewhere than customers.
    private static func owners(among ids: [String], on connection: PostgresConnection) throws -> Set<String> {
        guard connection.isCluster, !ids.isEmpty else { return [] }
        try PurchaseLanes.awaitGiven(to: ids, on: connection)
        let rows = try PurchaseLanes.query(
            selectOwners, [.texts(ids)], ofOwners: ids, on: connection, place: PurchaseLanes.OwnerPlace.init)
        return Set(try rows?.map { try $0.text("owner") } ?? [])
    }

    /// A statement of its own: it sees what was committed before the rows were locked.
    private static func delete(_ notes: String) -> String {
        """
        WITH gone AS (
            DELETE FROM entitled.app_user_id a USING entitled.customer c
            WHERE a.id = ANY($1::text[]) AND c.original_app_user_id = a.id AND c.original_app_user_id = ANY($2::text[])
                AND \(isEmpty("c", "a", notes))
            RETURNING a.id
        )
        DELETE FROM entitled.customer c USING gone WHERE c.original_app_user_id = gone.id RETURNING 1
        """
    }

    /// One short transaction.
    ///
    /// - Parameter limit: ms; customers not seen since then may go.
    /// - Returns: how many went; nil when there is nothing to do for now.
    mutating func step(before limit: Int64, on connection: PostgresConnection) throws -> Int? {
        guard let blocks = try walk.blocks(on: connection) else { return nil }
        return try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            let notes = try EmptyCustomerCleaner.notes(on: connection)
            var ids = try connection.query(
                EmptyCustomerCleaner.lock(notes), [.text(blocks.start), .text(blocks.end), .int8(limit)]
            ).map { try $0.text("original_app_user_id") }
            ids.removeAll(where: try EmptyCustomerCleaner.owners(among: ids, on: connection).contains)
            guard !ids.isEmpty else { return 0 }
            try PurchaseLanes.remove(ids, on: connection)
            return try connection.query(
                EmptyCustomerCleaner.delete(notes), [.texts(ids), .texts(ids), .int8(limit)]
            ).count
        }
    }

    mutating func hurry() { walk.hurry() }

    private static func count(_ notes: String) -> String {
        """
        SELECT count(*), coalesce(sum(pg_column_size(c.*)), 0)::int8 AS customer_bytes,
            min(c.first_seen_ms) AS oldest_customer_ms,
            coalesce(sum(pg_column_size(a.*)), 0)::int8 AS id_bytes, min(a.first_seen_ms) AS oldest_id_ms
        FROM entitled.customer c
        JOIN entitled.app_user_id a ON a.id = c.original_app_user_id AND a.original_app_user_id = a.id
        WHERE c.ctid >= $1::text::tid AND c.ctid < $2::text::tid AND \(isEmpty("c", "a", notes))
        """
    }

    /// Customers and their ids: each of these customers has one.
    static func forecast(
        before limit: Int64, on connection: PostgresConnection
    ) throws -> [RetentionForecast.Entry] {
        var (customers, ids) = (RetentionForecast.Tally(), RetentionForecast.Tally())
        let statement = count(try notes(on: connection))
        try BlockScan.pass(of: "customer", isOfLanes: false, on: connection) { blocks in
            let row = try connection.query(statement, [.text(blocks.start), .text(blocks.end), .int8(limit)]).one()
            let rows = try row.int("count")
            customers.add(
                rows: rows, bytes: try row.int("customer_bytes"), oldest: try row.optionalInt("oldest_customer_ms"))
            ids.add(rows: rows, bytes: try row.int("id_bytes"), oldest: try row.optionalInt("oldest_id_ms"))
        }
        return [customers.entry("customer", before: limit), ids.entry("app_user_id", before: limit)]
    }
}
