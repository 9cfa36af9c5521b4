/// Commits that do not return: a synchronous standby does not confirm them, or the disk of the log stalls.
///
/// Their backends go on waiting after their connections were cut, and to cancel one would make its rows visible
/// unconfirmed. So they are left to themselves, and their number is bounded instead: a session whose connection was cut
/// connects again only while few of them hang.
enum HangingCommits {
    /// So many of one program and role may hang.
    private static let limit: Int64 = 3

    /// Only the login role sees what its sessions wait for, so a role that was taken is put off (`SET ROLE`).
    private static let putOffRole = PostgresStatement("SET LOCAL ROLE NONE")
    /// Postgres 17 writes some of the names in another case. The statement timeout does not end a commit, so what waits so
    /// long will not return soon.
    private static let select = """
        SELECT count(*) FROM pg_stat_activity
        WHERE usename = session_user AND application_name = current_setting('application_name')
            AND lower(wait_event) IN ('syncrep', 'walsync', 'walwrite')
            AND xact_start < clock_timestamp() - interval '5 s'
        """

    /// - Throws: `PostgresError` of kind `connection` while as many hang as may.
    static func check(on connection: PostgresConnection) throws {
        let count = try connection.transaction(opening: [putOffRole]) { _ in
            try connection.query(select).one().int("count")
        }
        guard count >= limit else { return }
        throw PostgresError(
            .connection,
            "\(count) commits hang: a synchronous standby does not confirm them, or the disk of Postgres' log stalls")
    }
}
