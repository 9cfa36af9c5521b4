import Base
import Postgres

/// What operators do with a stored notification.
package enum NotificationRepair {
    package enum RepairResult: Sendable, Equatable {
        /// It waits to be applied once more; applying what was applied before changes nothing.
        case queued
        case notFound
        /// It was applied, and was kept long enough; in ms, when it came.
        case dropped(received: Int64)
        /// The UUID is in several: as `app environment` each.
        case ambiguous([String])
    }

    /// Puts a notification back in its line, whatever became of it; if it was held, it is not held any more.
    package static func reprocess(
        uuid: String, app: String?, environment: StoreEnvironment?, on connection: PostgresConnection
    ) throws -> RepairResult {
        try connection.joinedTransaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            let rows = try connection.query(
                """
                SELECT lane, seq, app, environment FROM entitled.notification_key
                WHERE key = $1 AND ($2::text IS NULL OR app = $2) AND ($3::int2 IS NULL OR environment = $3)
                ORDER BY app, environment
                """, [.uuid(NotificationIdentity.key(uuid)), .text(app), .int2(environment?.code)])
            guard let row = rows.first else { return .notFound }
            guard rows.count == 1 else {
                return .ambiguous(
                    try rows.map { row in
                        let scope = try AppScope(row)
                        return "\(scope.app) \(scope.environment.rawValue)"
                    })
            }
            let place: [PostgresValue] = [.int2(Int16(clamping: try row.int("lane"))), .int8(try row.int("seq"))]
            // Looking at the table keeps it whole until this commits: what is in line is not dropped.
            let isThere = try connection.query(
                "SELECT 1 FROM entitled.notification WHERE lane = $1 AND seq = $2", place)
            guard isThere.first != nil else {
                return .dropped(received: SequenceGenerator.instant(of: try row.int("seq")))
            }
            _ = try connection.query(
                "INSERT INTO entitled.pending (lane, seq) VALUES ($1, $2) ON CONFLICT DO NOTHING", place)
            _ = try connection.query("DELETE FROM entitled.held_notification WHERE lane = $1 AND seq = $2", place)
            return .queued
        }
    }
}
