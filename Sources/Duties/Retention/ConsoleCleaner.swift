import Base
import Postgres

/// Deletes what the console leaves behind: attempts to log in after a day, sessions and links after a month, and what operators
/// did after its own time.
struct ConsoleCleaner {
    private var passes: [Table: DailyPass] = [:]

    private static let stepSize: Int64 = 1000

    enum Table: String, CaseIterable {
        case audit
        case attempts = "console_try"
        case sessions = "console_session"
        case links = "console_link"

        /// When a row was made; ms.
        var column: String {
            switch self {
            case .audit, .attempts: "at_ms"
            case .sessions: "started_ms"
            case .links: "created_ms"
            }
        }
    }

    /// The schema may be older than the console, or than the audit.
    private static let exists = "SELECT to_regclass('entitled.' || $1) IS NOT NULL AS is_there"

    private static func isThere(_ table: Table, on connection: PostgresConnection) throws -> Bool {
        try connection.query(exists, [.text(table.rawValue)]).one().bool("is_there")
    }

    private static func delete(_ table: Table) -> String {
        """
        DELETE FROM entitled.\(table.rawValue) WHERE ctid = ANY (ARRAY(
            SELECT t.ctid FROM entitled.\(table.rawValue) t WHERE t.\(table.column) < $1
            ORDER BY t.\(table.column) LIMIT $2)) RETURNING 1
        """
    }

    /// A short statement.
    ///
    /// - Parameter limit: ms; what is older goes.
    /// - Returns: how many rows went; nil when there is nothing to do for now.
    mutating func step(_ table: Table, before limit: Int64, on connection: PostgresConnection) throws -> Int? {
        guard passes[table, default: DailyPass()].isDue, try ConsoleCleaner.isThere(table, on: connection) else {
            return nil
        }
        let gone = try connection.query(
            ConsoleCleaner.delete(table), [.int8(limit), .int8(ConsoleCleaner.stepSize)]
        ).count
        if gone < ConsoleCleaner.stepSize { passes[table, default: DailyPass()].finish() }
        return gone
    }

    mutating func hurry() { passes = [:] }

    static func forecast(
        _ limits: [Table: Int64], on connection: PostgresConnection
    ) throws -> [RetentionForecast.Entry] {
        var entries: [RetentionForecast.Entry] = []
        for table in Table.allCases {
            guard let limit = limits[table], try isThere(table, on: connection) else { continue }
            var tally = RetentionForecast.Tally()
            try tally.add(
                connection.query(
                    """
                    SELECT count(*), coalesce(sum(pg_column_size(t.*)), 0)::int8 AS bytes, min(t.\(table.column)) AS oldest_ms
                    FROM entitled.\(table.rawValue) t WHERE t.\(table.column) < $1
                    """, [.int8(limit)]))
            entries.append(tally.entry(table.rawValue, before: limit))
        }
        return entries
    }
}
