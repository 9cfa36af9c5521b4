import Base
import Postgres
import Queue
import Records

/// Goes through the deliveries of a time in the order in which they were made, a few hundred in each step, for those
/// that were given up.
struct DeadLetterWalk {
    struct Letter {
        let event: DeliveryReplay.EventKey
        /// The delivery, where it is of a notification as it came: that has no event.
        let notification: DeliveryID?
        let type: String
        /// To the endpoint that is looked for, and given up.
        let isDead: Bool
        /// Retention has emptied its event.
        let isGone: Bool
    }

    static let limit = 512

    private static let deliveries = """
        SELECT d.created_ms, d.lane, d.id, d.event, d.event_type, d.state = 2 AND d.endpoint = $4, coalesce((
                SELECT octet_length(e.body) = 0 FROM entitled.event e
                WHERE d.state = 2 AND d.endpoint = $4 AND e.lane = d.lane AND e.id = d.event
            ), false), d.notification_seq IS NOT NULL
        FROM (
            SELECT * FROM entitled.delivery
            WHERE created_ms >= $1 AND created_ms < $5 AND (created_ms, lane, id) > ($1, $2, $3)
            ORDER BY created_ms, lane, id LIMIT $6
        ) d
        ORDER BY d.created_ms, d.lane, d.id
        """

    /// Call it in a transaction.
    func page(
        of endpoint: String, from start: WalkPosition, until: Int64, on connection: PostgresConnection
    ) throws -> WalkPage<Letter> {
        _ = try connection.query("SELECT set_config('enable_seqscan', 'off', true)")
        let rows = try connection.query(
            DeadLetterWalk.deliveries,
            [
                .int8(start.time), .int2(start.lane), .uuid(start.id), .text(endpoint), .int8(until),
                .int8(Int64(DeadLetterWalk.limit)),
            ])
        let letters = try rows.map { row in
            let position = WalkPosition(
                time: try row.int(0), lane: Int16(clamping: try row.int(1)), id: try row.uuid(2))
            let lane = Lane(number: position.lane)
            let letter = Letter(
                event: DeliveryReplay.EventKey(lane: lane, id: try row.uuid(3)),
                notification: try row.bool(7) ? DeliveryID(lane: lane, bytes: try row.uuid(2)) : nil,
                type: try row.text(4), isDead: try row.bool(5), isGone: try row.bool(6))
            return (row: letter, position: position)
        }
        let isLast = letters.count < DeadLetterWalk.limit
        return WalkPage(
            rows: letters, end: isLast ? .start(of: until) : letters.last?.position ?? start, isLast: isLast)
    }
}
