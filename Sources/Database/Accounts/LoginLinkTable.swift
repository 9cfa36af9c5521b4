import Base
import Crypto
import Postgres

/// Log-in links of operators: each opens one session, once, within a quarter of an hour.
package enum LoginLinkTable {
    /// Ms for which a link works.
    package static let life: Int64 = 15 * 60_000

    private static let insert = """
        INSERT INTO entitled.console_link (hash, user_name, created_ms, until_ms)
        SELECT $1, name, $3, $4 FROM entitled.console_user WHERE name = $2 AND ended_ms IS NULL
        RETURNING user_name
        """

    /// Makes a link's token, of which only the hash is kept. Links that were made before for the same user end.
    ///
    /// - Parameter now: ms since 1970.
    /// - Returns: nil where there is no such user.
    package static func create(
        for user: String, now: Int64, on connection: PostgresConnection
    ) throws -> (token: Redacted<String>, until: Int64)? {
        let token = Base64.encodeURL(SecureRandom.bytes(32))
        _ = try connection.query("DELETE FROM entitled.console_link WHERE user_name = $1", [.text(user)])
        let rows = try connection.query(
            insert,
            [.bytea(Digest.sha256(Array(token.utf8))), .text(user), .int8(now), .int8(now + life)])
        return rows.isEmpty ? nil : (Redacted(token), now + life)
    }

    /// Uses up what links a user has, without a session.
    ///
    /// - Parameter now: ms since 1970.
    package static func end(of user: String, now: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(
            "UPDATE entitled.console_link SET used_ms = $2 WHERE user_name = $1 AND used_ms IS NULL",
            [.text(user), .int8(now)])
    }

    private static let condition = """
        l.hash = $1 AND l.used_ms IS NULL AND l.until_ms > $2 AND u.name = l.user_name AND u.ended_ms IS NULL
            AND l.created_ms >= u.created_ms
        """

    /// Whose link this is; it stays unused. Nil: it was used, is over, or was never made.
    ///
    /// - Parameter now: ms since 1970.
    package static func user(of token: String, now: Int64, on connection: PostgresConnection) throws -> String? {
        try connection.query(
            "SELECT l.user_name FROM entitled.console_link l, entitled.console_user u WHERE \(condition)",
            [.bytea(Digest.sha256(Array(token.utf8))), .int8(now)]
        ).first?.text("user_name")
    }

    /// Uses the link up and says whose it was; of several requests one alone gets the name.
    ///
    /// - Parameter now: ms since 1970.
    package static func use(_ token: String, now: Int64, on connection: PostgresConnection) throws -> String? {
        try connection.query(
            """
            UPDATE entitled.console_link l SET used_ms = $2 FROM entitled.console_user u WHERE \(condition)
            RETURNING l.user_name
            """, [.bytea(Digest.sha256(Array(token.utf8))), .int8(now)]
        ).first?.text("user_name")
    }
}
