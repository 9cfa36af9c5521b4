import Postgres

/// A live key as it is told of where nothing may be compared with it.
package struct APIKeyHint: Sendable, Equatable {
    package let id: String
    package let kind: String
    /// Nil: of every app.
    package let app: String?
    package let name: String?
    /// How the key begins.
    package let hint: String
    /// Instants in ms since 1970.
    package let created: Int64
    package let lastUsed: Int64?

    /// Live keys in the order in which they were made, for a role that may not read their hashes.
    static func live(on connection: PostgresConnection) throws -> [APIKeyHint] {
        try connection.query(
            """
            SELECT id, kind, app, name, hint, created_ms, last_used_ms FROM entitled.api_key
            WHERE revoked_ms IS NULL ORDER BY created_ms, id
            """
        ).map { row in
            APIKeyHint(
                id: try row.text("id"), kind: try row.text("kind"), app: try row.optionalText("app"),
                name: try row.optionalText("name"), hint: try row.text("hint"), created: try row.int("created_ms"),
                lastUsed: try row.optionalInt("last_used_ms"))
        }
    }
}
