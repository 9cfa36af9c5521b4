import Base
import Postgres

/// How far Apple's notification history was looked through, in ms since 1970.
package struct HistoryCoverage: Sendable, Equatable {
    /// Everything that was signed by then is known; nil before the first look came to its end.
    package let covered: Int64?
    /// When the history was last scanned, whatever came of it.
    package let tried: Int64?

    package init(covered: Int64?, tried: Int64?) {
        self.covered = covered
        self.tried = tried
    }

    package static func read(on connection: PostgresConnection) throws -> [AppScope: HistoryCoverage] {
        var known: [AppScope: HistoryCoverage] = [:]
        for row in try connection.query(
            "SELECT app, environment, covered_ms, tried_ms FROM entitled.history_look")
        {
            known[try AppScope(row)] = HistoryCoverage(
                covered: try row.optionalInt("covered_ms"), tried: try row.optionalInt("tried_ms"))
        }
        return known
    }
}
