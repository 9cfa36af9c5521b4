import Postgres

/// Deletes what the console leaves behind: attempts to log in after a day, sessions and links after a month.
struct ConsoleCleaner {
    private static let stepSize: Int64 = 1000
    private static let day: Int64 = 86_400_000
    private static let month = 30 * day

    /// The schema may be older than the console.
    private static let exists = "SELECT to_regclass('entitled.console_try') IS NOT NULL AS is_there"

    private static func delete(_ table: String, _ column: String) -> String {
        """
        DELETE FROM entitled.\(table) WHERE ctid = ANY (ARRAY(
            SELECT t.ctid FROM entitled.\(table) t WHERE t.\(column) < $1 ORDER BY t.\(column) LIMIT $2)) RETURNING 1
        """
    }

    /// Three short statements.
    ///
    /// - Parameter now: ms since 1970.
    /// - Returns: how many rows went, by table.
    static func step(now: Int64, on connection: PostgresConnection) throws -> [String: Int] {
        guard try connection.query(exists).one().bool("is_there") else { return [:] }
        func gone(_ table: String, _ column: String, before limit: Int64) throws -> Int {
            try connection.query(delete(table, column), [.int8(limit), .int8(stepSize)]).count
        }
        return [
            "console_try": try gone("console_try", "at_ms", before: now - day),
            "console_session": try gone("console_session", "started_ms", before: now - month),
            "console_link": try gone("console_link", "created_ms", before: now - month),
        ]
    }
}
