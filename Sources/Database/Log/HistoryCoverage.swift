import Base
import Postgres

/// How far Apple's notification history was looked through, in ms since 1970.
package struct HistoryCoverage: Sendable, Equatable {
    /// Everything that was signed by then is known; nil before the first look came to its end.
    package let covered: Int64?
    /// The same, but not by Apple's list of failures alone: what was acknowledged and lost is found, too.
    package let whole: Int64?
    /// When the history was last scanned, whatever came of it.
    package let tried: Int64?

    package init(covered: Int64?, whole: Int64? = nil, tried: Int64?) {
        self.covered = covered
        self.whole = whole
        self.tried = tried
    }

    package static func read(on connection: PostgresConnection) throws -> [AppScope: HistoryCoverage] {
        var known: [AppScope: HistoryCoverage] = [:]
        for row in try connection.query(
            "SELECT app, environment, covered_ms, whole_ms, tried_ms FROM entitled.history_look")
        {
            known[try AppScope(row)] = HistoryCoverage(
                covered: try row.optionalInt("covered_ms"), whole: try row.optionalInt("whole_ms"),
                tried: try row.optionalInt("tried_ms"))
        }
        return known
    }
    private static let restart = """
        UPDATE entitled.history_look SET covered_ms = CASE WHEN covered_ms >= $1 THEN $1 - 1 ELSE covered_ms END,
            whole_ms = CASE WHEN whole_ms >= $1 THEN $1 - 1 ELSE whole_ms END,
            tried_ms = NULL, error = NULL, cursor = '{}', found = 0, missed = 0, refused = 0, first_missed_ms = NULL,
            last_missed_ms = NULL
        """

    /// Ends all scans that are under way, so that a new one begins at once. Behind the fence of the leader.
    ///
    /// - Parameter instant: ms; nothing is covered from then on, whatever a former server's clock said.
    package static func restart(at instant: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(restart, [.int8(instant)])
    }
}
