import Base
import Postgres
import Subscriptions

/// Reads what became of events, for operators.
package enum EventTraceQuery {
    /// Names one event: the lane it is in, and its id, an upper-case UUID.
    package struct EventName: Hashable, Sendable {
        package let lane: Lane
        package let id: String

        package init(lane: Lane, id: String) {
            self.lane = lane
            self.id = id
        }
    }

    private static let events = """
        SELECT e.id, e.created_ms, e.body
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.event e ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id
        """

    /// By their primary keys, which follow from the event and the endpoint: there is no index by event.
    private static let deliveries = """
        SELECT d.event, d.endpoint, \(DeliveryQuery.shownState) AS state, d.attempts, d.last_status, d.reason,
            CASE WHEN d.state <> \(DeliveryCode.blocked) THEN d.next_ms END AS next_ms,
            coalesce(last.ended_ms, d.next_ms) AS ended_ms
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        LEFT JOIN LATERAL (
            SELECT a.started_ms + a.duration_ms AS ended_ms FROM entitled.attempt a
            WHERE a.lane = d.lane /* cluster: AND a.lane = ANY($1::int2[]) */ AND a.delivery = d.id AND a.started_ms >= $3
            ORDER BY a.started_ms DESC LIMIT 1
        ) last ON true
        ORDER BY d.endpoint
        """

    /// By id; events that were never made are not in the answer.
    package static func traces(
        of names: [EventName], on connection: PostgresConnection
    ) throws -> [String: EventTrace] {
        let known = names.compactMap { name in UUIDText.bytes(name.id).map { (lane: name.lane, id: $0) } }
        guard !known.isEmpty else { return [:] }
        let rows = try connection.query(
            events, [.int2s(known.map(\.lane.number)), .uuids(known.map(\.id))])
        var traces: [String: EventTrace] = [:]
        for row in rows {
            let stored = try row.bytes("body")
            let body = try? JSON(parsing: try EventBodyCodec.restore(stored))
            let reason = body?["event"]?["cancel_reason"] ?? body?["event"]?["expiration_reason"]
            traces[UUIDText.upper(try row.uuid("id"))] = EventTrace(
                made: try row.int("created_ms"), reason: reason?.stringValue, deliveries: [], isKept: !stored.isEmpty)
        }
        // Endpoints that were removed have deliveries still.
        let endpoints = try connection.query("SELECT id FROM entitled.endpoint ORDER BY id").map { try $0.text("id") }
        let wanted = known.flatMap { event in
            endpoints.map { DeliveryID(lane: event.lane, event: event.id, endpoint: $0) }
        }
        let first = traces.values.map(\.made).min() ?? 0
        for (event, sent) in try delivered(wanted, since: first, on: connection) {
            traces[event]?.deliveries = sent
        }
        return traces
    }

    /// - Parameter since: when the first of the events was made, in ms.
    private static func delivered(
        _ wanted: [DeliveryID], since: Int64, on connection: PostgresConnection
    ) throws -> [String: [DeliveryTrace]] {
        var found: [String: [DeliveryTrace]] = [:]
        guard !wanted.isEmpty else { return found }
        // From that day on, not in every day there is; clocks differ a little.
        let first = since - 86_400_000
        let rows = try connection.laneGroups.split(wanted, by: \.lane).flatMap { part in
            try connection.query(
                deliveries,
                [.int2s(part.elements.map(\.lane.number)), .uuids(part.elements.map(\.bytes)), .int8(first)])
        }
        for row in rows {
            let state: DeliveryState = try row.value("state")
            found[UUIDText.upper(try row.uuid("event")), default: []].append(
                DeliveryTrace(
                    endpoint: try row.text("endpoint"), state: state.name,
                    attempts: Int(clamping: try row.int("attempts")),
                    lastStatus: try row.optionalInt("last_status").map { Int(clamping: $0) },
                    reason: try row.optionalText("reason"),
                    delivered: state == .delivered ? try row.optionalInt("ended_ms") : nil,
                    next: state == .pending ? try row.optionalInt("next_ms") : nil))
        }
        return found
    }
}
