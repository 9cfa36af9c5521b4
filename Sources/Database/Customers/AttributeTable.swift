import Base
import Postgres
import Subscriptions

/// Attributes in the database, each under the id under which it was said.
package enum AttributeTable {
    private static let select = """
        SELECT app_user_id, key, value, updated_ms FROM entitled.customer_attribute
        WHERE app_user_id = ANY($1::text[])
        """

    /// Of these ids together, and of one of them alone.
    package static func load(
        _ ids: [String], own id: String, on connection: PostgresConnection
    ) throws -> (all: CustomerAttributes, own: CustomerAttributes) {
        var (all, own) = (CustomerAttributes(), CustomerAttributes())
        for row in try connection.query(select, [.texts(ids)]) {
            let key = try row.text("key")
            let value = AttributeValue(value: try row.optionalText("value"), updated: try row.int("updated_ms"))
            all.add(key, value)
            if try row.text("app_user_id") == id { own.add(key, value) }
        }
        return (all, own)
    }

    /// A customer with an attribute of a value that was searched.
    package struct Match: Sendable, Equatable {
        package let originalAppUserID: String
        package let key: String
    }

    private static let hasIndex = """
        SELECT EXISTS (
            SELECT FROM pg_index WHERE indexrelid = to_regclass('entitled.customer_attribute_value') AND indisvalid
        ) AS has_index
        """

    private static let find = """
        SELECT DISTINCT i.original_app_user_id, f.key FROM (
            SELECT app_user_id, key, updated_ms FROM entitled.customer_attribute
            WHERE hashtextextended(lower(value COLLATE "C"), 0) = hashtextextended(lower($1::text COLLATE "C"), 0)
                AND lower(value COLLATE "C") = lower($1::text COLLATE "C")
                AND value IS NOT NULL AND ($2::text[] IS NULL OR key = ANY($2)) LIMIT 1000
        ) f
        JOIN entitled.app_user_id i ON i.id = f.app_user_id
        WHERE NOT EXISTS (
            SELECT FROM entitled.app_user_id o JOIN entitled.customer_attribute a ON a.app_user_id = o.id AND a.key = f.key
            WHERE o.original_app_user_id = i.original_app_user_id AND a.updated_ms > f.updated_ms)
        ORDER BY 1, 2 LIMIT $3
        """

    /// Customers who have this whole value now, letters of ASCII in either case; so many of the first 1000. Empty where the schema has
    /// no index of values yet.
    ///
    /// - Parameter keys: of the attribute; nil: any.
    package static func search(
        _ value: String, keys: Set<String>? = nil, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [Match] {
        guard try connection.query(hasIndex).one().bool("has_index") else { return [] }
        return try connection.query(
            find, [.text(value), keys.map { .texts($0.sorted()) } ?? .null, .int8(Int64(limit))]
        ).map { row in
            Match(originalAppUserID: try row.text("original_app_user_id"), key: try row.text("key"))
        }
    }

    private static let upsert = """
        INSERT INTO entitled.customer_attribute (app_user_id, key, value, updated_ms)
        SELECT $1, t.* FROM unnest($2::text[], $3::text[], $4::int8[]) AS t
        ON CONFLICT (app_user_id, key) DO UPDATE SET value = excluded.value, updated_ms = excluded.updated_ms
        """
    private static let forget = """
        DELETE FROM entitled.customer_attribute WHERE app_user_id = $1 AND key = ANY($2::text[])
        """

    /// Writes what was decided. The customer is locked.
    package static func write(
        _ decision: AttributePolicy.Decision, of id: String, on connection: PostgresConnection
    ) throws {
        let writes = decision.writes.sorted { $0.key < $1.key }
        if !writes.isEmpty {
            _ = try connection.query(
                upsert,
                [
                    .text(id), .texts(writes.map(\.key)), .texts(writes.map(\.value.value)),
                    .int8s(writes.map(\.value.updated)),
                ])
        }
        if !decision.forgotten.isEmpty {
            _ = try connection.query(forget, [.text(id), .texts(decision.forgotten)])
        }
    }

    /// An expression: what is known of one id as JSON, or NULL. An id without attributes costs one look into an index.
    static func column(of id: String) -> String {
        """
        (SELECT json_agg(json_build_array(s.key, s.value, s.updated_ms))::text
            FROM entitled.customer_attribute s WHERE s.app_user_id = \(id))
        """
    }

    /// The same of all ids of a customer.
    static func column(ofCustomer root: String) -> String {
        """
        (SELECT json_agg(json_build_array(s.key, s.value, s.updated_ms))::text
            FROM entitled.app_user_id one JOIN entitled.customer_attribute s ON s.app_user_id = one.id
            WHERE one.original_app_user_id = \(root))
        """
    }

    /// Takes in what an expression gave.
    static func add(_ text: String?, to attributes: inout CustomerAttributes) throws {
        guard let text else { return }
        for item in (try JSON(parsing: Array(text.utf8))).arrayValue ?? [] {
            guard let parts = item.arrayValue, parts.count == 3, let key = parts[0].stringValue,
                let updated = parts[2].intValue
            else { throw PostgresError(.decoding, "malformed attribute") }
            attributes.add(key, AttributeValue(value: parts[1].stringValue, updated: updated))
        }
    }
}
