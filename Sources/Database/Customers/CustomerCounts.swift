import Postgres

/// How much is stored about a customer beside purchases.
package struct CustomerCounts: Sendable, Equatable {
    package let attributes: Int64
    package let notes: Int64

    private static let count = """
        SELECT (SELECT count(*) FROM (
                SELECT FROM entitled.customer_attribute WHERE app_user_id = ANY($1::text[]) AND value IS NOT NULL LIMIT $2) a
            ) AS attributes,
            (SELECT count(*) FROM (
                SELECT FROM entitled.customer_note WHERE app_user_id = ANY($1::text[]) LIMIT $2) n
            ) AS notes
        """

    /// - Parameter limit: rows of each kind that are counted.
    package static func count(
        ofIDs ids: [String], upTo limit: Int64, on connection: PostgresConnection
    ) throws -> CustomerCounts {
        let row = try connection.query(count, [.texts(ids), .int8(limit)]).one()
        return CustomerCounts(attributes: try row.int("attributes"), notes: try row.int("notes"))
    }
}
