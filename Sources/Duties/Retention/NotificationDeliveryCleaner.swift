import Base
import Database
import Postgres

/// Deletes the deliveries of notifications as they came, once the notifications are gone: as long as one is there it may
/// be applied again, and must find what it made before.
struct NotificationDeliveryCleaner {
    private var pass = DailyPass()

    private static let stepSize: Int64 = 1000

    private static let clean = """
        DELETE FROM entitled.delivery d USING (
            SELECT lane, id FROM entitled.delivery
            WHERE notification_seq IS NOT NULL AND notification_seq < $1 AND state IN (\(DeliveryCode.ended))
                /* cluster: AND lane = ANY($3::int2[]) */
            ORDER BY notification_seq LIMIT $2
        ) old
        WHERE d.lane = old.lane /* cluster: AND d.lane = ANY($3::int2[]) */ AND d.id = old.id AND d.state IN (\(DeliveryCode.ended)) RETURNING 1
        """

    /// One short step for each group of lanes.
    ///
    /// - Parameter first: the first day of which notifications are there.
    /// - Returns: how many were deleted; nil when there is nothing to do for now.
    mutating func step(before first: Day, on connection: PostgresConnection) throws -> Int? {
        guard pass.isDue else { return nil }
        let deleted = try connection.laneGroups.split(Lane.all).map { part in
            try connection.transaction {
                _ = try connection.query("SELECT \(Durability.setting)")
                return try connection.query(
                    NotificationDeliveryCleaner.clean,
                    [.int8(SequenceGenerator.least(at: first.start)), .int8(NotificationDeliveryCleaner.stepSize)]
                        + (connection.isCluster ? [.int2s(part.elements.map(\.number))] : [])
                ).count
            }
        }
        if deleted.allSatisfy({ $0 < NotificationDeliveryCleaner.stepSize }) { pass.finish() }
        return deleted.reduce(0, +)
    }

    mutating func hurry() { pass.hurry() }

    static func forecast(before first: Day, on connection: PostgresConnection) throws -> RetentionForecast.Entry {
        var tally = RetentionForecast.Tally()
        try tally.add(
            connection.query(
                """
                SELECT count(*), coalesce(sum(pg_column_size(d.*)), 0)::int8 AS bytes, min(d.created_ms) AS oldest_ms
                FROM entitled.delivery d
                WHERE d.notification_seq IS NOT NULL AND d.notification_seq < $1 AND d.state IN (\(DeliveryCode.ended))
                """, [.int8(SequenceGenerator.least(at: first.start))]))
        return tally.entry("delivery", before: first.start)
    }
}
