import Base
import Crypto
import Postgres

/// A browser that an operator is logged in with.
package struct ConsoleSession: Sendable, Equatable {
    /// As commands and pages name it; it opens nothing.
    package let id: String
    package let user: String
    /// Of the client at the start.
    package let address: String
    package let browser: String
    /// Whether a log-in link began it.
    package let isByLink: Bool
    /// Instants in ms since 1970; the last use to the minute.
    package let started: Int64
    package let seen: Int64
    package let ended: Int64?
}

/// How long sessions live.
package struct SessionLimits: Sendable, Equatable {
    /// Since the last use.
    package let idle: Duration
    /// Since the start.
    package let life: Duration

    package init(idle: Duration = .seconds(1800), life: Duration = .seconds(43_200)) {
        (self.idle, self.life) = (idle, life)
    }

    fileprivate var idleMilliseconds: Int64 { idle.components.seconds * 1000 }
    fileprivate var lifeMilliseconds: Int64 { life.components.seconds * 1000 }
}

/// Sessions of the console in the database, by the hash of their cookie.
package enum SessionTable {
    /// What a browser says of itself is cut off here.
    private static let browserLimit = 200
    private static let minute: Int64 = 60_000

    private static let columns =
        "s.id, s.user_name, s.address, s.browser, s.by_link, s.started_ms, s.seen_ms, s.ended_ms"

    private static func session(_ row: PostgresRow) throws -> ConsoleSession {
        ConsoleSession(
            id: try row.text("id"), user: try row.text("user_name"), address: try row.text("address"),
            browser: try row.text("browser"), isByLink: try row.bool("by_link"), started: try row.int("started_ms"),
            seen: try row.int("seen_ms"), ended: try row.optionalInt("ended_ms"))
    }

    /// Begins a session; the token is the cookie's value and is kept nowhere.
    ///
    /// - Parameter now: ms since 1970.
    package static func begin(
        for user: String, address: String, browser: String, isByLink: Bool, now: Int64,
        on connection: PostgresConnection
    ) throws -> (session: ConsoleSession, token: Redacted<String>) {
        let token = Base64.encodeURL(SecureRandom.bytes(32))
        let session = ConsoleSession(
            id: "ses_" + Hex.encode(SecureRandom.bytes(8)), user: user, address: address,
            browser: String(browser.prefix(browserLimit)), isByLink: isByLink, started: now, seen: now, ended: nil)
        _ = try connection.query(
            """
            INSERT INTO entitled.console_session
                (hash, id, user_name, address, browser, by_link, started_ms, seen_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
            """,
            [
                .bytea(Digest.sha256(Array(token.utf8))), .text(session.id), .text(user), .text(address),
                .text(session.browser), .bool(isByLink), .int8(now),
            ])
        return (session, Redacted(token))
    }

    private static let find = """
        SELECT \(columns), u.role, u.zone FROM entitled.console_session s
        JOIN entitled.console_user u ON u.name = s.user_name
        WHERE s.hash = $1 AND s.ended_ms IS NULL AND s.seen_ms > $2 AND s.started_ms > $3
            AND u.ended_ms IS NULL AND s.started_ms >= u.created_ms
        """

    /// The living session of a cookie, with the role that its user has now; its use is noted, to the minute.
    ///
    /// - Parameter now: ms since 1970.
    package static func use(
        _ token: String, _ limits: SessionLimits, now: Int64, on connection: PostgresConnection
    ) throws -> (session: ConsoleSession, role: OperatorRole, zone: String?)? {
        let hash = Digest.sha256(Array(token.utf8))
        let rows = try connection.query(
            find,
            [
                .bytea(hash), .int8(now - limits.idleMilliseconds - minute), .int8(now - limits.lifeMilliseconds),
            ])
        guard let row = rows.first, let role = OperatorRole(rawValue: try row.text("role")) else { return nil }
        let session = try session(row)
        if now - session.seen >= minute {
            _ = try connection.query(
                "UPDATE entitled.console_session SET seen_ms = $2 WHERE hash = $1 AND seen_ms < $2",
                [.bytea(hash), .int8(now)])
        }
        return (session, role, try row.optionalText("zone"))
    }

    /// Rows of a list.
    private static let listed = 200

    /// Of one user, newest first; those that were not ended, and those that ended within the last month, 200 at most: what was ended
    /// takes no place of what was not.
    package static func list(of user: String, on connection: PostgresConnection) throws -> [ConsoleSession] {
        try connection.query(
            """
            SELECT * FROM (
                SELECT \(columns) FROM entitled.console_session s WHERE s.user_name = $1
                ORDER BY s.ended_ms IS NOT NULL, s.started_ms DESC, s.id LIMIT $2
            ) s ORDER BY started_ms DESC, id
            """, [.text(user), .int8(Int64(listed))]
        ).map(session)
    }

    /// Whether a session has not come to one of its ends.
    package static func isLive(_ session: ConsoleSession, _ limits: SessionLimits, now: Int64) -> Bool {
        session.ended == nil && now - session.seen < limits.idleMilliseconds + minute
            && now - session.started < limits.lifeMilliseconds
    }

    private static let endOld = """
        UPDATE entitled.console_session SET ended_ms = $3 WHERE hash IN (
            SELECT hash FROM entitled.console_session WHERE user_name = $1 AND ended_ms IS NULL
            ORDER BY started_ms DESC, id OFFSET $2)
        """

    /// Ends the sessions of a user that began before the newest ones.
    ///
    /// - Parameter now: ms since 1970.
    package static func endOldest(
        of user: String, keeping count: Int, now: Int64, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(endOld, [.text(user), .int8(Int64(count)), .int8(now)])
    }

    /// Ends one session of a user, or all of them.
    ///
    /// - Parameters:
    ///   - id: nil: all of them.
    ///   - kept: of all, the one that goes on.
    ///   - now: ms since 1970.
    /// - Returns: how many had not ended.
    @discardableResult
    package static func end(
        _ id: String?, of user: String, keeping kept: String? = nil, now: Int64, on connection: PostgresConnection
    ) throws -> Int {
        try connection.query(
            """
            UPDATE entitled.console_session SET ended_ms = $3
            WHERE user_name = $1 AND ($2::text IS NULL OR id = $2) AND ended_ms IS NULL
                AND id IS DISTINCT FROM $4 RETURNING id
            """, [.text(user), .text(id), .int8(now), .text(kept)]
        ).count
    }
}
