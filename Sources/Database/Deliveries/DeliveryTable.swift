import Base
import Postgres

/// Deliveries in the database: made with their event, read when due, settled after each attempt.
package enum DeliveryTable {
    private static let select = """
        SELECT \(DueDelivery.columns), d.notification_seq, d.webhook_id
        FROM unnest($1::text[], $2::int8[]) AS wanted(endpoint, room)
        CROSS JOIN LATERAL (
            SELECT due.* FROM unnest($3::int2[]) AS owned(lane)
            CROSS JOIN LATERAL (
                SELECT * FROM entitled.delivery
                WHERE lane = owned.lane /* cluster: AND lane = ANY($3::int2[]) */
                    AND endpoint = wanted.endpoint AND state = \(DeliveryCode.pending)
                    AND next_ms <= $4
                ORDER BY next_ms LIMIT least(wanted.room, $5)
            ) due
            ORDER BY due.next_ms LIMIT wanted.room
        ) d
        LEFT JOIN entitled.event e ON d.notification_seq IS NULL AND e.lane = d.lane /* cluster: AND e.lane = ANY($3::int2[]) */
            AND e.id = d.event
        """
    private static let bodies = NotificationBodies()

    /// What is due in these lanes, at most so many for each endpoint: one that has much waiting takes no other's turn,
    /// and one that is not asked for costs nothing. With a share for each lane, because a backlog of hours would be
    /// sorted for the few that are taken; `hasMore` names the endpoints of which something may be left.
    package static func due(
        room: [String: Int], lanes: [Lane], now: Int64, on connection: PostgresConnection
    ) throws -> (deliveries: [DueDelivery], hasMore: Set<String>) {
        let wanted = room.sorted { $0.key < $1.key }
        let perLane = max(16, 4 * (room.values.max() ?? 0) / max(1, lanes.count))
        let rows = try connection.query(
            select,
            [
                .texts(wanted.map(\.key)), .int8s(wanted.map { Int64($0.value) }), .int2s(lanes.map(\.number)),
                .int8(now), .int8(Int64(perLane)),
            ])
        var due: [DueDelivery] = []
        var unreadable: [(id: DeliveryID, reason: String)] = []
        let forwarded = try forwardedBodies(rows, on: connection)
        for row in rows {
            let id = DeliveryID(lane: try row.value("lane"), bytes: try row.uuid("id"))
            if let seq = try row.optionalInt("notification_seq") {
                switch forwarded[LogPosition(lane: id.lane, seq: seq)] {
                case .body(let body):
                    due.append(try DueDelivery(row, webhookID: try row.optionalText("webhook_id"), body: body))
                case .gap(let reason): unreadable.append((id, reason))
                case nil: continue
                }
            } else if let delivery = try DueDelivery(row) {
                due.append(delivery)
            } else {
                unreadable.append((id, "the body of the event cannot be restored"))
            }
        }
        try UnreadableDeliveries.giveUp(unreadable, now: now, on: connection)
        return (due, left(due, room: room, perLane: perLane))
    }

    /// What goes on as it came is kept once, with its notification.
    private static func forwardedBodies(
        _ rows: PostgresRows, on connection: PostgresConnection
    ) throws -> [LogPosition: NotificationBodies.Found] {
        let places = try rows.compactMap { row in
            try row.optionalInt("notification_seq").map { seq in
                LogPosition(lane: try row.value("lane"), seq: seq)
            }
        }
        return try bodies.read(places, on: connection)
    }

    /// The endpoints whose room or whose share of a lane was used up.
    private static func left(_ due: [DueDelivery], room: [String: Int], perLane: Int) -> Set<String> {
        struct Share: Hashable {
            let endpoint: String
            let lane: Lane
        }
        var found: [String: Int] = [:]
        var shares: [Share: Int] = [:]
        for delivery in due {
            found[delivery.endpoint, default: 0] += 1
            shares[Share(endpoint: delivery.endpoint, lane: delivery.id.lane), default: 0] += 1
        }
        let full = found.filter { $0.value >= room[$0.key] ?? 0 }.keys
        return Set(full).union(shares.filter { $0.value >= perLane }.map(\.key.endpoint))
    }

    private static let late = """
        SELECT count(*) FROM \(EndpointStates.source(from: 5)) CROSS JOIN unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (
            SELECT 1 FROM entitled.delivery
            WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
                AND endpoint = e.id AND state = \(DeliveryCode.pending) AND next_ms <= $2 LIMIT $4
        ) d
        WHERE e.removed_ms IS NULL AND e.disabled_reason IS NULL AND e.paused_until_ms <= $3
        """

    /// Deliveries of these lanes that were due before this instant to endpoints that take any, counting so many of each
    /// lane and endpoint at most.
    package static func pastDue(
        in lanes: [Lane], before instant: Int64, now: Int64, eachAtMost limit: Int, on connection: PostgresConnection
    ) throws -> Int64 {
        try connection.query(
            late,
            [.int2s(lanes.map(\.number)), .int8(instant), .int8(now), .int8(Int64(limit))]
                + EndpointStates.parameters(on: connection)
        ).one().int("count")
    }

    /// Deliveries change with their endpoint: held while it is disabled, free again when it is enabled, dead when it is
    /// removed. A bounded number at a time; how many were changed.
    private static let follow = """
        WITH stale AS MATERIALIZED (
            -- From the endpoints, so that what is rightly held costs nothing. What is blocked stays so while its endpoint
            -- is disabled: what it waits for is held.
            SELECT d.lane, d.id, d.state, e.removed_ms IS NOT NULL AS is_removed
            FROM \(EndpointStates.source(from: 4)) CROSS JOIN unnest($1::int2[]) AS owned(lane)
            CROSS JOIN LATERAL (
                /* cluster: SELECT lane, id, state FROM entitled.delivery
                WHERE lane = owned.lane AND lane = ANY($1::int2[]) AND endpoint = e.id AND (
                    state = \(DeliveryCode.pending)
                    OR state = \(DeliveryCode.blocked) AND e.removed_ms IS NOT NULL) LIMIT 1000 for: */
                (SELECT lane, id, state FROM entitled.delivery
                WHERE lane = owned.lane AND endpoint = e.id AND state = \(DeliveryCode.pending) LIMIT 1000)
                UNION ALL
                (SELECT lane, id, state FROM entitled.delivery
                WHERE lane = owned.lane AND endpoint = e.id AND state = \(DeliveryCode.blocked)
                    AND e.removed_ms IS NOT NULL LIMIT 1000)/* end */
            ) d
            WHERE e.disabled_reason IS NOT NULL AND (e.removed_ms IS NULL OR e.removed_ms > $3)
            LIMIT 5000
        )
        UPDATE entitled.delivery d
        SET state = CASE WHEN stale.is_removed THEN \(DeliveryCode.dead) ELSE \(DeliveryCode.held) END,
            reason = CASE WHEN stale.is_removed THEN 'endpoint removed' ELSE 'endpoint disabled' END
        FROM stale WHERE d.lane = stale.lane /* cluster: AND d.lane = ANY($1::int2[]) */
            AND d.id = stale.id AND d.state = stale.state
        RETURNING 1
        """

    private static let free = """
        WITH stale AS MATERIALIZED (
            SELECT d.lane, d.id, e.removed_ms IS NOT NULL AS is_removed
            FROM \(EndpointStates.source(from: 4)) CROSS JOIN unnest($1::int2[]) AS owned(lane)
            CROSS JOIN LATERAL (
                SELECT lane, id FROM entitled.delivery
                WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
                    AND endpoint = e.id AND state = \(DeliveryCode.held) LIMIT 1000
            ) d
            WHERE e.disabled_reason IS NULL OR e.removed_ms > $3
            LIMIT 5000
        )
        UPDATE entitled.delivery d
        SET state = CASE WHEN stale.is_removed THEN \(DeliveryCode.dead) ELSE \(DeliveryCode.pending) END, next_ms = $2,
            round_start = d.attempts,
            reason = CASE WHEN stale.is_removed THEN 'endpoint removed' END
        FROM stale WHERE d.lane = stale.lane /* cluster: AND d.lane = ANY($1::int2[]) */
            AND d.id = stale.id AND d.state = \(DeliveryCode.held)
        RETURNING 1
        """

    /// For how long what is left of a removed endpoint is looked for at every time, in ms: there may be many such
    /// endpoints, and a worker that held the lanes all that time has found it.
    package static let recently: Int64 = 86_400_000

    /// - Parameter removedSince: ms; endpoints that were removed before are passed over.
    package static func followEndpoints(
        in lanes: [Lane], removedSince: Int64? = nil, now: Int64, on connection: PostgresConnection
    ) throws -> Int {
        let parameters: [PostgresValue] =
            [.int2s(lanes.map(\.number)), .int8(now), .int8(removedSince ?? now - recently)]
            + (try EndpointStates.parameters(on: connection))
        return try connection.query(follow, parameters).count + connection.query(free, parameters).count
    }

    /// What an attempt came to, and what follows from it.
    package struct Settlement: Sendable {
        package let id: DeliveryID
        /// As the delivery was when the attempt began.
        package let began: Int
        package let roundStart: Int
        package let state: DeliveryState
        /// Attempts made by now; as before where the attempt did not count.
        package let attempts: Int
        /// Milliseconds from now until the next attempt; for pending ones.
        package let wait: Int64
        package let status: Int?
        package let reason: String?
        package let attempt: AttemptRecord?

        package init(
            of delivery: DueDelivery, state: DeliveryState, attempts: Int, wait: Int64, status: Int?,
            reason: String?, attempt: AttemptRecord?
        ) {
            id = delivery.id
            began = delivery.attempts
            roundStart = delivery.roundStart
            self.state = state
            self.attempts = attempts
            self.wait = wait
            self.status = status
            self.reason = reason
            self.attempt = attempt
        }
    }

    /// Of the row itself, so that it is checked again after waiting for a transaction that changes it.
    private static let unchanged =
        "d.state = \(DeliveryCode.pending) AND d.attempts = t.began AND d.round_start = t.round"

    /// Where the row is as it was when the attempt began, the attempt's outcome stands. Where it was changed
    /// meanwhile (resent, held, given up, or tried by another owner of the lane), only an arrival counts: everything
    /// else is written down as an attempt, and the newer state stands.
    private static let settle = """
        WITH settled AS (
        UPDATE entitled.delivery d
        SET state = CASE WHEN t.state = \(DeliveryCode.delivered) OR \(unchanged) THEN t.state ELSE d.state END,
            reason = CASE WHEN t.state = \(DeliveryCode.delivered) OR \(unchanged) THEN t.reason ELSE d.reason END,
            next_ms = CASE WHEN \(unchanged) THEN $7::int8 + t.wait ELSE d.next_ms END,
            attempts = greatest(d.attempts, t.attempts), last_status = coalesce(t.status, d.last_status)
        FROM unnest($1::int2[], $2::uuid[], $3::int2[], $4::int2[], $5::int8[], $6::int2[], $8::text[],
            $9::int2[], $10::int2[]) AS t(lane, id, state, attempts, wait, status, reason, began, round)
        WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        RETURNING d.lane, d.endpoint, d.ordered_by, d.state
        )
        SELECT DISTINCT lane, endpoint, ordered_by FROM settled WHERE ordered_by IS NOT NULL
            AND state IN (\(DeliveryCode.ended))
        """

    /// Writes down what became of these attempts; after the fence, in its transaction. What waited for one of them, and
    /// may be sent now, comes back.
    @discardableResult
    package static func settle(
        _ settlements: [Settlement], by sender: AttemptSender? = nil, now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        guard !settlements.isEmpty else { return [] }
        // One order for all that lock several: a replay may put the same ones in line again.
        let settlements = settlements.sorted { $0.id.isLocked(before: $1.id) }
        func status(_ settlement: Settlement) -> Int16? { settlement.status.map { Int16(clamping: $0) } }
        let ended = try connection.query(
            settle,
            [
                .int2s(settlements.map(\.id.lane.number)), .uuids(settlements.map(\.id.bytes)),
                .int2s(settlements.map(\.state.rawValue)), .int2s(settlements.map { Int16(clamping: $0.attempts) }),
                .int8s(settlements.map(\.wait)), .int2s(settlements.map(status)), .int8(now),
                .texts(settlements.map(\.reason)), .int2s(settlements.map { Int16(clamping: $0.began) }),
                .int2s(settlements.map { Int16(clamping: $0.roundStart) }),
            ])
        try AttemptTable.insert(
            settlements.compactMap { settlement in settlement.attempt.map { (settlement.id, $0) } }, by: sender,
            on: connection)
        return try DeliveryOrder.release(
            try ended.compactMap { try DeliveryOrder.Line($0) }, now: now, on: connection)
    }
}
