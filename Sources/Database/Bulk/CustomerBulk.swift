import Base
import Postgres

/// The customers of a `BulkSelection`: those of a time in an order that nothing that is done with them alters, or some by their ids.
package struct CustomerBulk {
    /// Customers of one selection: what an operator can look over.
    package static let most = 10_000
    /// Rows of a page: their lanes are locked, which their owners wait for.
    package static let limit = 25

    private let selection: BulkSelection

    /// Nil where the selection is none of customers.
    package init?(_ selection: BulkSelection) {
        switch selection.rows {
        case .customers, .customerIDs: self.selection = selection
        case .deliveries, .deliveryIDs, .events, .notifications, .notificationIDs: return nil
        }
    }

    private static let number = """
        SELECT count(*) FROM (
            SELECT FROM entitled.customer WHERE first_seen_ms >= $1 AND first_seen_ms < $2 LIMIT $3
        ) few
        """

    private var bounds: [PostgresValue] { [.int8(max(0, selection.since ?? 0)), .int8(selection.until)] }

    /// How many customers, or ids, are meant; one more than `most` where there are more than that.
    package func count(on connection: PostgresConnection) throws -> Int {
        if case .customerIDs(let ids) = selection.rows { return ids.count }
        let limit = PostgresValue.int8(Int64(CustomerBulk.most + 1))
        return Int(clamping: try connection.query(CustomerBulk.number, bounds + [limit]).one().int("count"))
    }

    /// By a hash that only the job has the salt of, so that its position names no customer.
    private static let page = """
        SELECT original_app_user_id AS id, first_seen_ms, hashtextextended(original_app_user_id, $4) AS tie
        FROM entitled.customer
        WHERE first_seen_ms >= greatest($1::int8, $5) AND first_seen_ms < $2
            AND (first_seen_ms, hashtextextended(original_app_user_id, $4)) > ($5, $6)
        ORDER BY first_seen_ms, tie LIMIT $3
        """

    /// - Parameters:
    ///   - position: the end of the page before; empty: from the beginning.
    ///   - salt: the same for all pages.
    /// - Returns: an id of each customer. The same customer may be in it again by another id.
    package func page(
        after position: [String], salt: Int64, limit: Int = limit, on connection: PostgresConnection
    ) throws -> BulkPage<String> {
        if case .customerIDs(let ids) = selection.rows {
            let start = min(ids.count, max(0, position.first.flatMap { Int($0) } ?? 0))
            let end = min(ids.count, start + limit)
            return BulkPage(
                rows: Array(ids[start..<end]), end: [String(end)], isLast: end == ids.count,
                fraction: ids.isEmpty ? 1 : Double(end) / Double(ids.count))
        }
        let words = position.compactMap { Int64($0) }
        let cursor: [PostgresValue] =
            words.count == 2 ? [.int8(words[0]), .int8(words[1])] : [.int8(-1), .int8(.min)]
        let rows = try connection.query(
            CustomerBulk.page, bounds + [.int8(Int64(limit)), .int8(salt)] + cursor)
        let last = try rows.last.map { [String(try $0.int("first_seen_ms")), String(try $0.int("tie"))] }
        return BulkPage(
            rows: try rows.map { try $0.text("id") }, end: last ?? position, isLast: rows.count < limit, fraction: 0)
    }
}
