import Base
import Database
import Postgres

/// Forgets which notifications were there, once they could not come again.
struct KeyCleaner {
    private var walk = BlockScan("notification_key", isOfLanes: true)

    private static let clean = """
        DELETE FROM entitled.notification_key WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND seq < $3
            /* cluster: AND lane = ANY($4::int2[]) */ RETURNING 1
        """

    /// One short step.
    ///
    /// - Parameter first: the first day of which notifications are there; its keys and all later ones stay.
    /// - Returns: how many rows were deleted; nil when there is nothing to do for now.
    mutating func step(before first: Day, on connection: PostgresConnection) throws -> Int? {
        guard let blocks = try walk.blocks(on: connection) else { return nil }
        let least = SequenceGenerator.least(at: first.start)
        return try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            return try connection.query(
                KeyCleaner.clean, [.text(blocks.start), .text(blocks.end), .int8(least)] + blocks.values
            ).count
        }
    }

    mutating func hurry() { walk.hurry() }

    private static let count = """
        SELECT count(*), coalesce(sum(pg_column_size(k.*)), 0)::int8 AS bytes,
            (min(seq) >> 22) + 1704067200000 AS oldest_ms
        FROM entitled.notification_key k WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND seq < $3
            /* cluster: AND k.lane = ANY($4::int2[]) */
        """

    static func forecast(before first: Day, on connection: PostgresConnection) throws -> RetentionForecast.Entry {
        let least = SequenceGenerator.least(at: first.start)
        var tally = RetentionForecast.Tally()
        try BlockScan.pass(of: "notification_key", isOfLanes: true, on: connection) { blocks in
            try tally.add(
                connection.query(count, [.text(blocks.start), .text(blocks.end), .int8(least)] + blocks.values))
        }
        return tally.entry("notification_key", before: first.start)
    }
}
