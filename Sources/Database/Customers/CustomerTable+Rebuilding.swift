import Base
import Postgres

/// Queries and repairs of a rebuild, and lookups before a customer is made.
extension CustomerTable {
    private static let selectKnown = "SELECT id FROM entitled.app_user_id WHERE id = ANY($1::text[])"

    /// The ids among these that name a customer.
    package static func known(_ ids: Set<String>, on connection: PostgresConnection) throws -> Set<String> {
        guard !ids.isEmpty else { return [] }
        return Set(try connection.query(selectKnown, [.texts(ids.sorted())]).map { try $0.text("id") })
    }

    /// Makes customers who were first seen at these instants, in ms; those that are there stay as they are.
    package static func restore(_ firstSeen: [String: Int64], on connection: PostgresConnection) throws {
        for (instant, ids) in Dictionary(grouping: firstSeen.keys, by: { firstSeen[$0] ?? 0 }) {
            try make(Set(ids), now: instant, on: connection)
        }
    }

    private static let makeCustomer = """
        INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING
        """
    private static let setRoot = """
        UPDATE entitled.app_user_id SET original_app_user_id = $1
        WHERE id = ANY($2::text[]) AND original_app_user_id <> $1
        """

    /// Makes these ids name the customer with this original id, who is made if there is none.
    package static func regroup(
        _ ids: [String], under root: String, firstSeen: Int64, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(makeCustomer, [.text(root), .int8(firstSeen)])
        _ = try connection.query(setRoot, [.text(root), .texts(ids)])
    }

    private static let deleteEmpty = """
        DELETE FROM entitled.customer c WHERE c.original_app_user_id = ANY($1::text[])
            AND NOT EXISTS (SELECT 1 FROM entitled.app_user_id a WHERE a.original_app_user_id = c.original_app_user_id)
        """

    /// Removes those of these customers whom no id names.
    package static func removeEmpty(_ roots: [String], on connection: PostgresConnection) throws {
        _ = try connection.query(deleteEmpty, [.texts(roots)])
    }
}
