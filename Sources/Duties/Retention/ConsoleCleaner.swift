import Base
import Postgres

/// Deletes what the console leaves behind: attempts to log in after a day, sessions and links after a month, and what operators
/// did after its own time.
struct ConsoleCleaner {
    private static let stepSize: Int64 = 1000
    private static let day: Int64 = 86_400_000
    private static let month = 30 * day

    /// The schema may be older than the console, or than the audit.
    private static let exists = """
        SELECT to_regclass('entitled.console_try') IS NOT NULL AS is_there,
            to_regclass('entitled.audit') IS NOT NULL AS has_audit
        """

    private static func delete(_ table: String, _ column: String) -> String {
        """
        DELETE FROM entitled.\(table) WHERE ctid = ANY (ARRAY(
            SELECT t.ctid FROM entitled.\(table) t WHERE t.\(column) < $1 ORDER BY t.\(column) LIMIT $2)) RETURNING 1
        """
    }

    /// Four short statements.
    ///
    /// - Parameters:
    ///   - audit: how long what operators did is kept.
    ///   - now: ms since 1970.
    /// - Returns: how many rows went, by table.
    static func step(audit keptAudit: Duration, now: Int64, on connection: PostgresConnection) throws -> [String: Int] {
        let schema = try connection.query(exists).one()
        guard try schema.bool("is_there") else { return [:] }
        func gone(_ table: String, _ column: String, before limit: Int64) throws -> Int {
            try connection.query(delete(table, column), [.int8(limit), .int8(stepSize)]).count
        }
        let audit =
            try schema.bool("has_audit")
            ? try gone("audit", "at_ms", before: now - keptAudit.milliseconds) : 0
        return [
            "audit": audit,
            "console_try": try gone("console_try", "at_ms", before: now - day),
            "console_session": try gone("console_session", "started_ms", before: now - month),
            "console_link": try gone("console_link", "created_ms", before: now - month),
        ]
    }
}
