import Base
import Postgres

/// Notifications that could not be applied: set aside with the reason, and tried again on a schedule.
///
/// They are in no line, so they delay neither their lane nor what comes later of their purchase; order does not matter.
package enum HeldNotifications {
    private static let hold = """
        INSERT INTO entitled.held_notification AS h (lane, seq, reason, held_ms, attempts, next_ms)
        SELECT lane, seq, reason, $5, 1, next_ms
        FROM unnest($1::int2[], $2::int8[], $3::text[], $4::int8[]) AS t(lane, seq, reason, next_ms)
        WHERE EXISTS (SELECT 1 FROM entitled.pending p
            WHERE p.lane = t.lane /* cluster: AND p.lane = ANY($1::int2[]) */
                AND p.seq = t.seq /* cluster: AND p.lane = ANY($1::int2[]) */)
        ON CONFLICT (lane, seq) DO UPDATE
        SET reason = excluded.reason, attempts = h.attempts + 1, next_ms = excluded.next_ms
        """

    /// Sets those of these aside that wait in line, with the reason; `PendingNotification.remove` takes them out of it.
    package static func hold(
        _ held: [(notification: PendingNotification, reason: String)], now: Int64, on connection: PostgresConnection
    ) throws {
        guard !held.isEmpty else { return }
        let next = held.map { _ in nextAttempt(HeldState(attempts: 1, since: now), now) }
        _ = try connection.query(
            hold,
            [
                .int2s(held.map(\.notification.lane.number)), .int8s(held.map(\.notification.seq)),
                .texts(held.map(\.reason)), .int8s(next), .int8(now),
            ])
    }

    /// One short index scan of each lane; those whose time has not come cost nothing.
    private static let due = """
        SELECT h.lane, h.seq, h.attempts, h.held_ms FROM unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (
            SELECT lane, seq, attempts, held_ms FROM entitled.held_notification
            WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */ AND next_ms <= $2 ORDER BY next_ms LIMIT $3
        ) h
        ORDER BY h.seq LIMIT $4
        """

    /// Those of these lanes whose time has come. Claims nothing: the lanes are the caller's.
    package static func due(
        in lanes: [Lane], at now: Int64, atMost limit: Int, headers: JWSHeaderCache = JWSHeaderCache(),
        on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        let perLane = max(4, 4 * limit / max(1, lanes.count))
        let rows = try connection.query(
            due, [.int2s(lanes.map(\.number)), .int8(now), .int8(Int64(perLane)), .int8(Int64(limit))])
        var states: [[Int64]: HeldState] = [:]
        for row in rows {
            states[[try row.int("lane"), try row.int("seq")]] = HeldState(
                attempts: Int(clamping: try row.int("attempts")), since: try row.int("held_ms"))
        }
        let places = try rows.map { (lane: Int16(clamping: try $0.int("lane")), seq: try $0.int("seq")) }
        return try PendingNotification.read(places, headers: headers, on: connection).map { notification in
            var notification = notification
            notification.held =
                states[[Int64(notification.lane.number), notification.seq]] ?? HeldState(attempts: 0, since: now)
            return notification
        }
    }

    /// Updates only: one that was put back in its line meanwhile is not held any more.
    private static let postpone = """
        UPDATE entitled.held_notification h
        SET reason = t.reason, attempts = t.attempts, next_ms = t.next_ms
        FROM unnest($1::int2[], $2::int8[], $3::text[], $4::int4[], $5::int8[])
            AS t(lane, seq, reason, attempts, next_ms)
        WHERE h.lane = t.lane /* cluster: AND h.lane = ANY($1::int2[]) */
            AND h.seq = t.seq /* cluster: AND h.lane = ANY($1::int2[]) */
        """

    /// These failed once more.
    package static func postpone(
        _ held: [(notification: PendingNotification, reason: String)], now: Int64, on connection: PostgresConnection
    ) throws {
        guard !held.isEmpty else { return }
        let states = held.map { item in
            HeldState(
                attempts: (item.notification.held?.attempts ?? 0) + 1, since: item.notification.held?.since ?? now)
        }
        _ = try connection.query(
            postpone,
            [
                .int2s(held.map(\.notification.lane.number)), .int8s(held.map(\.notification.seq)),
                .texts(held.map(\.reason)), .int4s(states.map { Int32(clamping: $0.attempts) }),
                .int8s(states.map { nextAttempt($0, now) }),
            ])
    }

    private static let release = """
        DELETE FROM entitled.held_notification h USING unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        WHERE h.lane = t.lane /* cluster: AND h.lane = ANY($1::int2[]) */
            AND h.seq = t.seq /* cluster: AND h.lane = ANY($1::int2[]) */
        """

    /// These are held no more; in the transaction that applied them.
    package static func release(_ notifications: [PendingNotification], on connection: PostgresConnection) throws {
        guard !notifications.isEmpty else { return }
        _ = try connection.query(
            release, [.int2s(notifications.map(\.lane.number)), .int8s(notifications.map(\.seq))])
    }

    private static let selectHeld = """
        SELECT EXISTS (
            SELECT 1 FROM unnest($1::int2[], $2::int8[]) AS t(lane, seq)
            JOIN entitled.held_notification h ON h.lane = t.lane /* cluster: AND h.lane = ANY($1::int2[]) */ AND h.seq = t.seq
        )
        """

    /// Whether any of these is held.
    package static func isAnyHeld(
        _ places: [LogPosition], on connection: PostgresConnection
    ) throws -> Bool {
        guard !places.isEmpty else { return false }
        return try connection.query(selectHeld, [.int2s(places.map(\.lane.number)), .int8s(places.map(\.seq))]).one()
            .bool(
                "exists")
    }

    private static let bounded = """
        SELECT count(*) FROM unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (SELECT 1 FROM entitled.held_notification WHERE lane = owned.lane
            /* cluster: AND lane = ANY($1::int2[]) */ LIMIT $2) h
        """

    /// How many are held in these lanes, counting so many of each at most.
    package static func count(
        in lanes: [Lane], eachAtMost limit: Int, on connection: PostgresConnection
    ) throws -> Int64 {
        try connection.query(bounded, [.int2s(lanes.map(\.number)), .int8(Int64(limit))]).one().int("count")
    }

    private static func nextAttempt(_ state: HeldState, _ now: Int64) -> Int64? {
        HeldRetrySchedule.next(state, now: now, jitter: .random(in: 0...1))
    }
}
