import Postgres
import Queue

/// Deliveries of events whose bodies cannot be read: one must not keep the others waiting.
enum UnreadableDeliveries {
    private static let end = """
        UPDATE entitled.delivery d SET state = 2, reason = 'the body of the event cannot be restored'
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id) WHERE d.lane = t.lane AND d.id = t.id
        RETURNING d.lane, d.endpoint, d.ordered_by
        """

    /// Gives them up, and frees what waits for them; in a transaction.
    static func giveUp(_ ids: [DeliveryID], now: Int64, on connection: PostgresConnection) throws {
        guard !ids.isEmpty else { return }
        try Fence.lock(ids.map(\.lane), on: connection)
        let ended = try connection.query(end, [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))])
        let lines = Set(try ended.compactMap { try DeliveryOrder.Line($0) })
        _ = try DeliveryOrder.release(lines, now: now, on: connection)
    }
}
