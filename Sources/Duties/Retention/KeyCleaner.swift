import Base
import Database
import Postgres

/// Forgets which notifications were there, once they could not come again.
struct KeyCleaner {
    private var walk = BlockScan("notification_key")

    private static let clean = """
        DELETE FROM entitled.notification_key WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND seq < $3
        RETURNING 1
        """

    /// One short step.
    ///
    /// - Parameter first: the first day of which notifications are there; its keys and all later ones stay.
    /// - Returns: how many rows were deleted; nil when there is nothing to do for now.
    mutating func step(before first: Day, on connection: PostgresConnection) throws -> Int? {
        guard let blocks = try walk.blocks(on: connection) else { return nil }
        let least = SequenceGenerator.least(at: first.start)
        return try connection.transaction {
            _ = try connection.query("SELECT set_config('synchronous_commit', 'on', true)")
            return try connection.query(
                KeyCleaner.clean, [.text(blocks.start), .text(blocks.end), .int8(least)]
            ).count
        }
    }

    mutating func hurry() { walk.hurry() }
}
