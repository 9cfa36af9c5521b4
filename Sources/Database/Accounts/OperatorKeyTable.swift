import Base
import Crypto
import Postgres

/// A key of the operator API as the database knows it: all but the key.
package struct OperatorKey: Sendable, Equatable {
    package let id: String
    package let user: String
    /// At most that of the user when it was made.
    package let role: OperatorRole
    /// How the key begins.
    package let hint: String
    /// Instants in ms since 1970.
    package let created: Int64
    /// When it ends by itself; nil: never.
    package let until: Int64?
    package let lastUsed: Int64?
    package let ended: Int64?
}

/// Keys of the operator API in the database.
package enum OperatorKeyTable {
    package static let prefix = "op_"

    private static let insert = """
        INSERT INTO entitled.operator_key (id, user_name, role, hint, hash, created_ms, until_ms)
        SELECT $1, name, $3, $4, $5, $6, $7 FROM entitled.console_user WHERE name = $2 AND ended_ms IS NULL
        RETURNING id
        """

    /// Makes a key. It is not shown again: only its hash is kept.
    ///
    /// - Parameters:
    ///   - role: one that the user's includes.
    ///   - until: when it ends by itself; ms since 1970.
    ///   - now: ms since 1970.
    /// - Returns: nil where there is no such user.
    package static func create(
        for user: String, _ role: OperatorRole, until: Int64?, now: Int64, on connection: PostgresConnection
    ) throws -> (id: String, key: Redacted<String>)? {
        let key = RandomKey.make(prefix)
        let id = "opk_" + Hex.encode(SecureRandom.bytes(8))
        let rows = try connection.query(
            insert,
            [
                .text(id), .text(user), .text(role.rawValue), .text(RandomKey.hint(key, prefix)),
                .bytea(Digest.sha256(Array(key.utf8))), .int8(now), .int8(until),
            ])
        return rows.isEmpty ? nil : (id, Redacted(key))
    }

    /// The operator who calls with a key.
    package struct Caller: Sendable, Equatable {
        package let key: String
        package let user: String
        /// That of the key, which the user's includes now.
        package let role: OperatorRole
        package let zone: String?

        package init(key: String, user: String, role: OperatorRole, zone: String?) {
            self.key = key
            self.user = user
            self.role = role
            self.zone = zone
        }
    }

    private static let selectCaller = """
        SELECT k.id, k.user_name, k.role, u.role AS user_role, u.zone FROM entitled.operator_key k
        JOIN entitled.console_user u ON u.name = k.user_name
        WHERE k.hash = $1 AND k.ended_ms IS NULL AND (k.until_ms IS NULL OR k.until_ms > $2) AND u.ended_ms IS NULL
        """

    /// Finds the operator of a key; nil: the key is unknown or ended, or exceeds the operator's role now.
    ///
    /// - Parameter now: ms since 1970.
    package static func caller(
        withKey key: String, now: Int64, on connection: PostgresConnection
    ) throws -> Caller? {
        let digest = Digest.sha256(Array(key.utf8))
        guard let row = try connection.query(selectCaller, [.bytea(digest), .int8(now)]).first,
            let role = OperatorRole(rawValue: try row.text("role")),
            let userRole = OperatorRole(rawValue: try row.text("user_role")), userRole.includes(role)
        else { return nil }
        return Caller(
            key: try row.text("id"), user: try row.text("user_name"), role: role, zone: try row.optionalText("zone"))
    }

    private static let select = """
        SELECT id, user_name, role, hint, created_ms, until_ms, last_used_ms, ended_ms FROM entitled.operator_key
        WHERE $1::text IS NULL OR user_name = $1 ORDER BY created_ms, id
        """

    /// In the order in which they were made.
    ///
    /// - Parameter user: nil: of every user.
    package static func list(of user: String? = nil, on connection: PostgresConnection) throws -> [OperatorKey] {
        try connection.query(select, [.text(user)]).compactMap { row in
            guard let role = OperatorRole(rawValue: try row.text("role")) else { return nil }
            return OperatorKey(
                id: try row.text("id"), user: try row.text("user_name"), role: role, hint: try row.text("hint"),
                created: try row.int("created_ms"), until: try row.optionalInt("until_ms"),
                lastUsed: try row.optionalInt("last_used_ms"), ended: try row.optionalInt("ended_ms"))
        }
    }

    private static let end = """
        UPDATE entitled.operator_key SET ended_ms = coalesce(ended_ms, $2) WHERE id = $1
        RETURNING ended_ms = $2 AS is_new
        """

    /// Revokes a key.
    ///
    /// - Parameter now: ms since 1970.
    /// - Returns: whether it was live until now; nil: there is no such key.
    package static func revoke(_ id: String, now: Int64, on connection: PostgresConnection) throws -> Bool? {
        try connection.query(end, [.text(id), .int8(now)]).first?.bool("is_new")
    }

    private static let noteUse = """
        UPDATE entitled.operator_key SET last_used_ms = $2
        WHERE id = $1 AND (last_used_ms IS NULL OR last_used_ms < $2)
        """

    /// Notes the minute in which a key was used.
    ///
    /// - Parameter now: ms since 1970.
    package static func noteUse(of id: String, now: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(noteUse, [.text(id), .int8(now - now % 60_000)])
    }
}
