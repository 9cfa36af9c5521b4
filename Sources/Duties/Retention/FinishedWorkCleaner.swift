import Base
import Crypto
import Database
import Postgres
import Subscriptions

/// Deletes jobs and rebuilds that are over. Jobs that failed stay: requested again, they go on where they stopped. A change of
/// an operator's is asked for anew instead.
struct FinishedWorkCleaner {
    private var passes: [Table: DailyPass] = [:]

    enum Table: String, CaseIterable {
        case jobs = "job"
        case rebuilds = "rebuild"
    }

    private static let stepSize: Int64 = 1000

    private static let changes = ChangeKind.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")

    /// The newest job of a request decides whether the request goes on or begins anew. So a job stays while an older one of
    /// the same request has failed: without the newer one, the failed one would go on.
    private static let oldJobs = """
        FROM entitled.job j WHERE (j.state IN ('done', 'cancelled') OR j.state = 'failed' AND j.kind IN (\(changes)))
            AND j.finished_ms < $1 AND NOT EXISTS (
            SELECT FROM entitled.job o WHERE md5(o.request) = md5(j.request) AND o.id < j.id AND o.state = 'failed'
                AND o.kind NOT IN (\(changes)))
        """

    /// A rebuild that was stopped is continued within a day only.
    private static let oldRebuilds = "FROM entitled.rebuild r WHERE coalesce(r.finished_ms, r.started_ms) < $1"

    private static let orderLookup = "'\(ChangeKind.orderLookup.rawValue)'"

    private static func delete(_ table: Table) -> String {
        switch table {
        case .jobs:
            """
            DELETE FROM entitled.job
            WHERE id = ANY (ARRAY(SELECT j.id \(oldJobs) AND j.kind <> \(orderLookup) ORDER BY j.id LIMIT $2)) RETURNING 1
            """
        case .rebuilds:
            """
            DELETE FROM entitled.rebuild WHERE id = ANY (ARRAY(SELECT r.id \(oldRebuilds) ORDER BY r.id LIMIT $2)) RETURNING 1
            """
        }
    }

    /// A short statement.
    ///
    /// - Parameter limit: ms; work that ended before goes.
    /// - Returns: how many rows went; nil when there is nothing to do for now.
    mutating func step(_ table: Table, before limit: Int64, on connection: PostgresConnection) throws -> Int? {
        guard passes[table, default: DailyPass()].isDue else { return nil }
        let gone = try connection.query(
            FinishedWorkCleaner.delete(table), [.int8(limit), .int8(FinishedWorkCleaner.stepSize)]
        ).count
        let orders = table == .jobs ? try FinishedWorkCleaner.deleteOrders(before: limit, on: connection) : 0
        if max(gone, orders) < FinishedWorkCleaner.stepSize { passes[table, default: DailyPass()].finish() }
        return gone + orders
    }

    /// The schema may be older than the audit.
    private static let hasAudit = "SELECT to_regclass('entitled.audit') IS NOT NULL AS is_there"

    /// Of whom an order is, its job alone says, by which a deletion finds its number: the audit does not keep the number longer.
    /// `$3` is random, so that no number can be guessed from its pseudonym.
    private static let deleteOrders = """
        WITH gone AS (
            DELETE FROM entitled.job
            WHERE id = ANY (ARRAY(SELECT j.id \(oldJobs) AND j.kind = \(orderLookup) ORDER BY j.id LIMIT $2))
            RETURNING id, target, '\(Owner.anonymousPrefix)' || md5($3 || id::text) AS pseudonym
        ),
        forgotten AS (
            UPDATE entitled.audit a SET target = g.pseudonym, reason = replace(a.reason, g.target, g.pseudonym),
                message = replace(a.message, g.target, g.pseudonym)
            FROM gone g WHERE a.target = g.target AND a.job = g.id
        )
        SELECT 1 FROM gone
        """

    private static func deleteOrders(before limit: Int64, on connection: PostgresConnection) throws -> Int {
        guard try connection.query(hasAudit).one().bool("is_there") else { return 0 }
        let secret = Hex.encode(SecureRandom.bytes(16))
        return try connection.query(deleteOrders, [.int8(limit), .int8(stepSize), .text(secret)]).count
    }

    mutating func hurry() { passes = [:] }

    static func forecast(
        before limit: Int64, on connection: PostgresConnection
    ) throws -> [RetentionForecast.Entry] {
        var jobs = RetentionForecast.Tally()
        try jobs.add(
            connection.query(
                """
                SELECT count(*), coalesce(sum(pg_column_size(j.*)), 0)::int8 AS bytes, min(j.finished_ms) AS oldest_ms
                \(oldJobs)
                """, [.int8(limit)]))
        var rebuilds = RetentionForecast.Tally()
        try rebuilds.add(
            connection.query(
                """
                SELECT count(*), coalesce(sum(pg_column_size(r.*)), 0)::int8 AS bytes,
                    min(coalesce(r.finished_ms, r.started_ms)) AS oldest_ms
                \(oldRebuilds)
                """, [.int8(limit)]))
        return [jobs.entry("job", before: limit), rebuilds.entry("rebuild", before: limit)]
    }
}
