import Base
import Database
import Postgres

/// Goes through the deliveries of a time in the order in which they were made, a few hundred in each step, for those
/// that were given up.
struct DeadLetterScan {
    struct Letter {
        let delivery: DeliveryReplay.Ended
        let type: String
        /// To the endpoint that is looked for, and given up.
        let isDead: Bool
        /// Retention has emptied its event, or dropped its notification.
        let isGone: Bool
    }

    static let limit = 512
    private static let bodies = NotificationBodies()

    private static let deliveries = """
        SELECT d.created_ms, d.lane, d.id, d.event, d.event_type,
            d.state = \(DeliveryCode.dead) AND d.endpoint = $4 AS is_dead,
            coalesce(/* cluster: octet_length(e.body) = 0 for: */(
                SELECT octet_length(e.body) = 0 FROM entitled.event e
                WHERE d.state = \(DeliveryCode.dead) AND d.endpoint = $4 AND e.lane = d.lane AND e.id = d.event
            )/* end */, false) AS is_gone, d.notification_seq
        FROM (
            SELECT * FROM entitled.delivery
            WHERE created_ms >= $1 AND created_ms < $5 AND (created_ms, lane, id) > ($1, $2, $3)
            ORDER BY created_ms, lane, id LIMIT $6
        ) d
        /* cluster: LEFT JOIN entitled.event e ON d.state = \(DeliveryCode.dead) AND d.endpoint = $4 AND e.lane = d.lane
            AND e.id = d.event */
        ORDER BY d.created_ms, d.lane, d.id
        """

    /// Call it in a transaction.
    func page(
        of endpoint: String, from start: ScanCursor, until: Int64, on connection: PostgresConnection
    ) throws -> ScanPage<Letter> {
        _ = try connection.query("SELECT set_config('enable_seqscan', 'off', true)")
        let rows = try connection.query(
            DeadLetterScan.deliveries,
            [
                .int8(start.time), .int2(start.lane), .uuid(start.id), .text(endpoint), .int8(until),
                .int8(Int64(DeadLetterScan.limit)),
            ])
        let kept = try forwarded(rows, on: connection)
        let letters = try rows.map { row in
            let position = ScanCursor(
                time: try row.int("created_ms"), lane: Int16(clamping: try row.int("lane")), id: try row.uuid("id"))
            let lane = Lane(number: position.lane)
            let (isDead, seq) = (try row.bool("is_dead"), try row.optionalInt("notification_seq"))
            let event = try seq == nil ? DeliveryReplay.EventKey(lane: lane, id: row.uuid("event")) : nil
            let isGone =
                try seq.map { isDead && !kept.contains(LogPosition(lane: lane, seq: $0)) }
                ?? row.bool("is_gone")
            let letter = Letter(
                delivery: DeliveryReplay.Ended(id: DeliveryID(lane: lane, bytes: position.id), event: event),
                type: try row.text("event_type"), isDead: isDead, isGone: isGone)
            return (row: letter, position: position)
        }
        let isLast = letters.count < DeadLetterScan.limit
        return ScanPage(
            rows: letters, end: isLast ? .start(of: until) : letters.last?.position ?? start, isLast: isLast)
    }
    /// The notifications among those that are looked for which can still be sent.
    private func forwarded(
        _ rows: PostgresRows, on connection: PostgresConnection
    ) throws -> Set<LogPosition> {
        let places = try rows.compactMap { row -> LogPosition? in
            guard try row.bool("is_dead"), let seq = try row.optionalInt("notification_seq") else { return nil }
            return LogPosition(lane: try row.value("lane"), seq: seq)
        }
        let found = try DeadLetterScan.bodies.read(places, on: connection)
        return Set(
            found.filter { entry in
                if case .body = entry.value { true } else { false }
            }.keys)
    }
}
