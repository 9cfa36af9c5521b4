import Postgres

/// Deliveries whose bodies cannot be read: one must not keep the others waiting.
package enum UnreadableDeliveries {
    private static let end = """
        UPDATE entitled.delivery d SET state = \(DeliveryCode.dead), reason = t.reason
        FROM unnest($1::int2[], $2::uuid[], $3::text[]) AS t(lane, id, reason) WHERE d.lane = t.lane
            /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        RETURNING d.lane, d.endpoint, d.ordered_by
        """

    /// Gives them up, and frees what waits for them; in a transaction.
    package static func giveUp(
        _ unreadable: [(id: DeliveryID, reason: String)], now: Int64, on connection: PostgresConnection
    ) throws {
        guard !unreadable.isEmpty else { return }
        try Fence.lock(unreadable.map(\.id.lane), on: connection)
        let ended = try connection.query(
            end,
            [
                .int2s(unreadable.map(\.id.lane.number)), .uuids(unreadable.map(\.id.bytes)),
                .texts(unreadable.map(\.reason)),
            ])
        let lines = Set(try ended.compactMap { try DeliveryOrder.Line($0) })
        _ = try DeliveryOrder.release(lines, now: now, on: connection)
    }
}
