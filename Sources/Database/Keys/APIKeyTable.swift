import Base
import Crypto
import Postgres

/// A key of the REST api as the database knows it: all but the key.
package struct StoredAPIKey: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case `public`
        case secret

        /// How such keys begin, as RevenueCat's do.
        package var prefix: String { self == .public ? "appl_" : "sk_" }
    }

    package let id: String
    package let kind: Kind
    /// Nil: of every app.
    package let app: String?
    /// `read` or `write`; only of secret keys it matters.
    package let scope: String
    package let name: String?
    /// How the key begins.
    package let hint: String
    /// SHA-256 of the key.
    package let hash: [UInt8]
    /// Instants in ms since 1970.
    package let created: Int64
    package let lastUsed: Int64?
    package let revoked: Int64?
}

/// Keys of the REST api in the database.
package enum APIKeyTable {
    private static let insert = """
        INSERT INTO entitled.api_key (id, kind, app, scope, name, hint, hash, created_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """

    /// Makes a key. It is not shown again: only its hash is kept.
    ///
    /// - Parameter now: ms since 1970.
    package static func create(
        _ kind: StoredAPIKey.Kind, app: String?, scope: String, name: String?, now: Int64,
        on connection: PostgresConnection
    ) throws -> (id: String, key: Redacted<String>) {
        let key = RandomKey.make(kind.prefix)
        let id = "key_" + Hex.encode(SecureRandom.bytes(8))
        _ = try connection.query(
            insert,
            [
                .text(id), .text(kind.rawValue), .text(app), .text(scope), .text(name),
                .text(RandomKey.hint(key, kind.prefix)), .bytea(Digest.sha256(Array(key.utf8))),
                .int8(now),
            ])
        return (id, Redacted(key))
    }

    private static let select = """
        SELECT id, kind, app, scope, name, hint, hash, created_ms, last_used_ms, revoked_ms FROM entitled.api_key
        WHERE NOT $1 OR revoked_ms IS NULL ORDER BY created_ms, id
        """

    /// In the order in which they were made.
    ///
    /// - Parameter live: without those that were revoked.
    package static func list(live: Bool = false, on connection: PostgresConnection) throws -> [StoredAPIKey] {
        try connection.query(select, [.bool(live)]).compactMap { row in
            // A kind of a later version opens nothing here.
            guard let kind = StoredAPIKey.Kind(rawValue: try row.text("kind")) else { return nil }
            return StoredAPIKey(
                id: try row.text("id"), kind: kind, app: try row.optionalText("app"), scope: try row.text("scope"),
                name: try row.optionalText("name"), hint: try row.text("hint"), hash: try row.bytes("hash"),
                created: try row.int("created_ms"), lastUsed: try row.optionalInt("last_used_ms"),
                revoked: try row.optionalInt("revoked_ms"))
        }
    }

    private static let revoke = """
        UPDATE entitled.api_key SET revoked_ms = coalesce(revoked_ms, $2) WHERE id = $1
        RETURNING revoked_ms = $2 AS is_new
        """

    package enum Revocation: Sendable {
        case revoked, before, unknown
    }

    /// - Parameter now: ms since 1970.
    package static func revoke(_ id: String, now: Int64, on connection: PostgresConnection) throws -> Revocation {
        guard let row = try connection.query(revoke, [.text(id), .int8(now)]).first else { return .unknown }
        return try row.bool("is_new") ? .revoked : .before
    }

    /// Keys that were used later already stay as they are.
    private static let noteUse = """
        UPDATE entitled.api_key k SET last_used_ms = t.at_ms FROM unnest($1::text[], $2::int8[]) AS t(id, at_ms)
        WHERE k.id = t.id AND (k.last_used_ms IS NULL OR k.last_used_ms < t.at_ms)
        """

    /// Notes when keys were used last.
    ///
    /// - Parameter uses: ms since 1970, by id.
    package static func note(_ uses: [String: Int64], on connection: PostgresConnection) throws {
        guard !uses.isEmpty else { return }
        let sorted = uses.sorted { $0.key < $1.key }
        _ = try connection.query(noteUse, [.texts(sorted.map(\.key)), .int8s(sorted.map(\.value))])
    }
}
