import Base
import Postgres

/// Deliveries that wait for their endpoint to be enabled: the held ones, and what is blocked behind them.
package enum HeldDeliveries {
    private static let held = """
        SELECT count(*)
        FROM /* cluster: (SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[])) for: */unnest($1::int2[])/* end */
            AS every(lane) CROSS JOIN LATERAL (
            /* cluster: SELECT 1 FROM entitled.delivery WHERE lane = every.lane AND endpoint = $2
                AND state IN (\(DeliveryCode.held), \(DeliveryCode.blocked)) for: */
            SELECT 1 FROM entitled.delivery WHERE lane = every.lane AND endpoint = $2
                AND state = \(DeliveryCode.held)
            UNION ALL
            SELECT 1 FROM entitled.delivery WHERE lane = every.lane AND endpoint = $2
                AND state = \(DeliveryCode.blocked)/* end */
        ) d
        """

    package static func count(of endpoint: String, on connection: PostgresConnection) throws -> Int64 {
        try connection.query(held, [.int2s(Lane.all.map(\.number)), .text(endpoint)]).one().int("count")
    }

    /// What follows one that is dropped is pending until it is held like that.
    private static let few = """
        SELECT d.lane, d.id, d.ordered_by IS NOT NULL AS is_ordered
        FROM /* cluster: (SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[])) for: */unnest($1::int2[])/* end */
            AS every(lane) CROSS JOIN LATERAL (
            /* cluster: SELECT lane, id, ordered_by FROM entitled.delivery WHERE lane = every.lane AND endpoint = $2
                AND state IN (\(DeliveryCode.open)) AND created_ms <= $3 LIMIT 1000 for: */
            (SELECT lane, id, ordered_by FROM entitled.delivery
            WHERE lane = every.lane AND endpoint = $2
                AND state = \(DeliveryCode.held) AND created_ms <= $3 LIMIT 1000)
            UNION ALL
            (SELECT lane, id, ordered_by FROM entitled.delivery
            WHERE lane = every.lane AND endpoint = $2
                AND state = \(DeliveryCode.blocked) AND created_ms <= $3 LIMIT 1000)
            UNION ALL
            (SELECT lane, id, ordered_by FROM entitled.delivery
            WHERE lane = every.lane AND endpoint = $2
                AND state = \(DeliveryCode.pending) AND created_ms <= $3 LIMIT 1000)/* end */
        ) d
        LIMIT 1000
        """

    private static let give = """
        UPDATE entitled.delivery d SET state = \(DeliveryCode.dead),
            reason = 'dropped when the endpoint was enabled', next_ms = $3
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id AND d.state IN (\(DeliveryCode.open))
        RETURNING d.lane, d.endpoint, d.ordered_by
        """

    /// Gives up some that wait, made at this instant or before; how many it were. Call it while the endpoint is disabled,
    /// again until there is none: no process frees them then, and those that are made meanwhile stay.
    package static func drop(
        of endpoint: String, madeUntil instant: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> Int {
        let rows = try connection.query(
            few, [.int2s(Lane.all.map(\.number)), .text(endpoint), .int8(instant)])
        let found = try rows.map { row in
            (
                id: DeliveryID(lane: try row.value("lane"), bytes: try row.uuid("id")),
                isOrdered: try row.bool("is_ordered")
            )
        }
        guard !found.isEmpty else { return 0 }
        return try connection.transaction {
            _ = try Fence.hold(found.filter(\.isOrdered).map(\.id.lane), on: connection)
            let ended = try connection.query(
                give, [.int2s(found.map(\.id.lane.number)), .uuids(found.map(\.id.bytes)), .int8(now)])
            // What came later is the first of its purchase now.
            let lines = Set(try ended.compactMap { try DeliveryOrder.Line($0) })
            _ = try DeliveryOrder.release(lines, now: now, on: connection)
            return ended.count
        }
    }
}
