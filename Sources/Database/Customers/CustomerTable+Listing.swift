import Base
import Postgres

extension CustomerTable {
    /// A customer of a list; times in ms since 1970.
    package struct Listed: Sendable, Equatable {
        package let originalAppUserID: String
        package let firstSeen: Int64
        /// When an app asked last, to the hour; nil: none did.
        package let lastSeen: Int64?
    }

    private static let listed = """
        SELECT original_app_user_id, first_seen_ms, last_seen_ms FROM entitled.customer
        WHERE original_app_user_id > $1 ORDER BY original_app_user_id LIMIT $2
        """

    /// Customers in the order of their original ids, by UTF-8 bytes.
    ///
    /// - Parameter id: the last one of the page before, whether it is there or not; nil: from the beginning.
    package static func page(after id: String?, limit: Int, on connection: PostgresConnection) throws -> [Listed] {
        try connection.query(listed, [.text(id ?? ""), .int8(Int64(limit))]).map { row in
            Listed(
                originalAppUserID: try row.text("original_app_user_id"), firstSeen: try row.int("first_seen_ms"),
                lastSeen: try row.optionalInt("last_seen_ms"))
        }
    }

    private static let named = """
        SELECT id, first_seen_ms FROM entitled.app_user_id WHERE original_app_user_id = $1
        ORDER BY first_seen_ms, id <> original_app_user_id, id
        """

    /// The ids of a customer in the order in which they were given, each with when that was, in ms since 1970.
    package static func named(
        _ originalAppUserID: String, on connection: PostgresConnection
    ) throws -> [(id: String, since: Int64)] {
        try connection.query(named, [.text(originalAppUserID)]).map { row in
            (try row.text("id"), try row.int("first_seen_ms"))
        }
    }
}
