import Base
import Postgres
import Queue

/// Deliveries that are put in line once more, or for the first time long after their event: what a replay writes.
///
/// Beside running workers without the fence of their lanes, because each row is safe by itself:
/// - What is reopened was delivered or dead, and is looked at again once its row is locked. What is pending, so perhaps
///   in flight, or held is not touched. An attempt of an owner that was late with it finds another `round_start`, so
///   that only an arrival counts (`DeliveryStore.settle`).
/// - A new delivery can be written by a worker only in the transaction that makes its event, and that one is committed;
///   between replays the primary key decides.
/// - Events are locked before deliveries, `FOR SHARE`, as retention locks them against that (`EventCleaner`): an event
///   that still has its body keeps it until this commits, and is then kept by its delivery.
/// - The endpoint's row is locked `FOR SHARE` before: nothing is written for one that is disabled or removed unless who
///   disables it can see it (`DeliveryStore.followEndpoints`).
package enum DeliveryReplay {
    /// An event in its lane.
    package struct EventKey: Hashable, Sendable {
        package let lane: Lane
        package let id: [UInt8]

        package init(lane: Lane, id: [UInt8]) {
            self.lane = lane
            self.id = id
        }
    }

    private static let dueCount = """
        SELECT count(*) FROM (
            SELECT 1 FROM unnest($1::int2[]) AS every(lane) CROSS JOIN LATERAL (
                SELECT 1 FROM entitled.delivery
                WHERE lane = every.lane AND endpoint = $2 AND state = 0 AND next_ms <= $3 LIMIT $4
            ) due LIMIT $4
        ) few
        """

    /// How many deliveries of this endpoint are due, counting so many at most.
    package static func due(
        _ endpoint: String, now: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> Int {
        Int(
            clamping: try connection.query(
                dueCount, [.int2s(Lane.all.map(\.number)), .text(endpoint), .int8(now), .int8(Int64(limit))]
            ).one().int(0))
    }

    private static let states = """
        SELECT d.event, d.state FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane AND d.id = t.id
        """

    /// How the deliveries of these events to this endpoint stand; none for an event that has no such.
    package static func states(
        of events: [EventKey], to endpoint: String, on connection: PostgresConnection
    ) throws -> [[UInt8]: DeliveryState] {
        guard !events.isEmpty else { return [:] }
        let ids = events.map { DeliveryID(lane: $0.lane, event: $0.id, endpoint: endpoint) }
        var found: [[UInt8]: DeliveryState] = [:]
        for row in try connection.query(states, [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))]) {
            found[try row.uuid(0)] = DeliveryState(rawValue: Int16(clamping: try row.int(1)))
        }
        return found
    }

    private static let lockEvents = """
        SELECT e.lane, e.id, e.type FROM entitled.event e
        JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id) ON e.lane = t.lane AND e.id = t.id
        WHERE octet_length(e.body) > 0 ORDER BY e.lane, e.id FOR SHARE OF e
        """

    /// Those of these events that have their body still, and keep it until the transaction ends; with their types.
    private static func lock(
        _ events: [EventKey], on connection: PostgresConnection
    ) throws -> [EventKey: String] {
        var kept: [EventKey: String] = [:]
        let rows = try connection.query(lockEvents, [.int2s(events.map(\.lane.number)), .uuids(events.map(\.id))])
        for row in rows {
            let key = EventKey(lane: Lane(number: Int16(clamping: try row.int(0))), id: try row.uuid(1))
            kept[key] = try row.text(2)
        }
        return kept
    }

    private static let reopen = """
        UPDATE entitled.delivery d SET state = 0, reason = NULL, next_ms = $3, round_start = d.attempts
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        WHERE d.lane = t.lane AND d.id = t.id AND d.state = ANY($4::int2[]) RETURNING 1
        """

    private static let add = """
        INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
        SELECT t.lane, t.id, $3, t.event, t.event_type, 0, $6, $6
        FROM unnest($1::int2[], $2::uuid[], $4::uuid[], $5::text[]) AS t(lane, id, event, event_type)
        ON CONFLICT DO NOTHING RETURNING 1
        """

    /// Puts these in line: those with a delivery in one of the states once more, those without any for the first time.
    /// Call it in a transaction that has locked the endpoint.
    ///
    /// - Parameters:
    ///   - known: events with a delivery to this endpoint.
    ///   - notifications: its deliveries of notifications as they came. One whose notification is gone is given up again
    ///     when it is to be sent, and says so.
    ///   - new: events without one.
    /// - Returns: how many are due now, and of how many events the body is gone.
    package static func queue(
        known: [EventKey], notifications: [DeliveryID] = [], in states: [DeliveryState], new: [EventKey],
        to endpoint: String, now: Int64,
        on connection: PostgresConnection
    ) throws -> (queued: Int, gone: Int) {
        guard !known.isEmpty || !new.isEmpty || !notifications.isEmpty else { return (0, 0) }
        let kept = try lock(known + new, on: connection)
        func id(_ event: EventKey) -> DeliveryID { DeliveryID(lane: event.lane, event: event.id, endpoint: endpoint) }
        let again = known.filter { kept[$0] != nil }.map(id) + notifications
        let first = new.filter { kept[$0] != nil }
        var queued = 0
        if !again.isEmpty {
            queued += try connection.query(
                reopen,
                [
                    .int2s(again.map(\.lane.number)), .uuids(again.map(\.bytes)), .int8(now),
                    .int2s(states.map(\.rawValue)),
                ]
            ).count
        }
        if !first.isEmpty {
            queued += try connection.query(
                add,
                [
                    .int2s(first.map(\.lane.number)), .uuids(first.map { id($0).bytes }), .text(endpoint),
                    .uuids(first.map(\.id)), .texts(first.map { kept[$0] }), .int8(now),
                ]
            ).count
        }
        return (queued, known.count + new.count - kept.count)
    }
}
