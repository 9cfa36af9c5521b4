import Database
import Postgres

/// Deletes endpoints that were removed, once none of their deliveries is left: retention and deletions of customers find
/// deliveries by the endpoints that there are.
///
/// There is no index of deliveries by endpoint. Deliveries were made before their endpoint was removed, so the oldest ones
/// of all show whether it has some; where there are too many of that age, it stays. A host whose clock is behind may have
/// noted a removal that is earlier than the endpoint itself; the later of the two counts.
struct RemovedEndpointCleaner {
    private var pass = DailyPass()

    private static let stepSize: Int64 = 1000
    /// How many deliveries are looked at, the oldest first.
    package static let depth: Int64 = 20_000
    /// Milliseconds by which the clocks of hosts may differ.
    private static let margin: Int64 = 86_400_000

    /// The row of operators' notices comes back with the configuration, under the same id.
    package static let old = """
        WITH oldest AS MATERIALIZED (
            SELECT endpoint, created_ms FROM entitled.delivery ORDER BY created_ms LIMIT $2
        ), look AS MATERIALIZED (
            SELECT count(*) < $2 AS is_whole, max(created_ms) AS until FROM oldest
        )
        SELECT e.id, e.removed_ms, pg_column_size(e.*) AS bytes FROM entitled.endpoint e, look
        WHERE greatest(e.removed_ms, e.created_ms) < $1 AND e.id <> '\(OperationsEndpoint.id)'
            AND (look.is_whole OR greatest(e.removed_ms, e.created_ms) + \(margin) <= look.until)
            AND e.id NOT IN (SELECT endpoint FROM oldest)
        """

    private static let delete = """
        DELETE FROM entitled.endpoint WHERE removed_ms < $1
            AND id = ANY (ARRAY(SELECT id FROM (\(old)) old ORDER BY id LIMIT $3)) RETURNING 1
        """

    /// One short statement.
    ///
    /// - Parameter limit: ms; endpoints that were removed before may go.
    /// - Returns: how many went; nil when there is nothing to do for now.
    mutating func step(before limit: Int64, on connection: PostgresConnection) throws -> Int? {
        guard pass.isDue else { return nil }
        let deleted = try connection.query(
            RemovedEndpointCleaner.delete,
            [.int8(limit), .int8(RemovedEndpointCleaner.depth), .int8(RemovedEndpointCleaner.stepSize)]
        ).count
        if deleted < RemovedEndpointCleaner.stepSize { pass.finish() }
        return deleted
    }

    mutating func hurry() { pass.hurry() }

    static func forecast(before limit: Int64, on connection: PostgresConnection) throws -> RetentionForecast.Entry {
        var tally = RetentionForecast.Tally()
        try tally.add(
            connection.query(
                "SELECT count(*), coalesce(sum(bytes), 0)::int8 AS bytes, min(removed_ms) AS oldest_ms FROM (\(old)) old",
                [.int8(limit), .int8(depth)]))
        return tally.entry("endpoint", before: limit)
    }
}
