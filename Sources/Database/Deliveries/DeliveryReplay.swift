import Base
import Postgres

/// Deliveries that are put in line once more, or for the first time long after their event: what a replay writes.
///
/// Beside running workers without the fence of their lanes, because each row is safe by itself:
/// - What is reopened was delivered or dead, and is looked at again once its row is locked. What is pending, so perhaps
///   in flight, held or blocked is not touched. An attempt of an owner that was late with it finds another
///   `round_start`, so that only an arrival counts (`DeliveryTable.settle`).
/// - A new delivery can be written by a worker only in the transaction that makes its event, and that one is committed;
///   between replays the primary key decides.
/// - Events are locked before deliveries, `FOR SHARE`, as retention locks them against that (`EventCleaner`): an event
///   that still has its body keeps it until this commits, and is then kept by its delivery.
/// - The endpoint's row is locked `FOR SHARE` before: nothing is written for one that is disabled or removed unless who
///   disables it can see it (`DeliveryTable.followEndpoints`).
///
/// Where the consumer gets the events of a purchase in order, rows are not safe by themselves: lanes are locked then,
/// before everything else, as their owners do.
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

    /// A delivery that was delivered or given up.
    package struct Ended: Sendable {
        package let id: DeliveryID
        /// Nil for a notification as it came.
        package let event: EventKey?

        package init(id: DeliveryID, event: EventKey?) {
            self.id = id
            self.event = event
        }
    }

    private static let dueCount = """
        SELECT count(*) FROM (
            SELECT 1
            FROM /* cluster: (SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[])) for: */unnest($1::int2[])/* end */
            AS every(lane) CROSS JOIN LATERAL (
                SELECT 1 FROM entitled.delivery
                WHERE lane = every.lane
                    AND endpoint = $2 AND state = \(DeliveryCode.pending) AND next_ms <= $3
                LIMIT $4
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
            ).one().int("count"))
    }

    private static let states = """
        SELECT d.event,
            CASE WHEN d.state = \(DeliveryCode.blocked) THEN \(DeliveryCode.pending) ELSE d.state END AS state
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        """

    /// How the deliveries of these events to this endpoint stand, the blocked ones as pending; none for an event that has
    /// no such.
    package static func states(
        of events: [EventKey], to endpoint: String, on connection: PostgresConnection
    ) throws -> [[UInt8]: DeliveryState] {
        guard !events.isEmpty else { return [:] }
        let ids = events.map { DeliveryID(lane: $0.lane, event: $0.id, endpoint: endpoint) }
        var found: [[UInt8]: DeliveryState] = [:]
        for row in try connection.query(states, [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))]) {
            found[try row.uuid("event")] = try row.value("state", as: DeliveryState.self)
        }
        return found
    }

    /// Locks an endpoint for what is written next, and where it has an order these lanes before; in a transaction.
    ///
    /// - Parameter endpoint: as it was read before.
    /// - Returns: as it is now; nil if it was removed, or is in another order since: then nothing may be written.
    package static func lock(
        _ endpoint: Endpoint, lanes: Set<Lane>, on connection: PostgresConnection
    ) throws -> Endpoint? {
        if endpoint.ordering == .purchase { try Fence.lock(lanes, on: connection) }
        let locked = try EndpointTable.lock(endpoint.id, on: connection)
        return locked?.ordering == endpoint.ordering ? locked : nil
    }

    /// What a delivery needs of its event.
    private struct Kept {
        let type: String
        let purchase: [UInt8]?
        let sequence: Int64?
    }

    private static let lockEvents = """
        SELECT e.lane, e.id, e.type, e.app, e.environment, e.original_transaction_id, e.sequence FROM entitled.event e
        JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id) ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */
            AND e.id = t.id
        WHERE octet_length(e.body) > 0 ORDER BY e.lane, e.id FOR SHARE OF e
        """

    /// Those of these events that have their body still, and keep it until the transaction ends.
    private static func lock(
        _ events: [EventKey], to endpoint: Endpoint, on connection: PostgresConnection
    ) throws -> [EventKey: Kept] {
        guard !events.isEmpty else { return [:] }
        var kept: [EventKey: Kept] = [:]
        let rows = try connection.laneGroups.split(events, by: \.lane).flatMap { part in
            try connection.query(
                lockEvents, [.int2s(part.elements.map(\.lane.number)), .uuids(part.elements.map(\.id))])
        }
        for row in rows {
            let key = EventKey(lane: try row.value("lane"), id: try row.uuid("id"))
            // What was made before there were numbers has no place in any order.
            let sequence = endpoint.ordering == .purchase ? try row.optionalInt("sequence") : nil
            let scope = try AppScope(row)
            let purchase = try row.optionalText("original_transaction_id").map {
                DeliveryOrder.purchase($0, app: scope.app, environment: scope.environment)
            }
            let isOrdered = sequence != nil && purchase != nil
            kept[key] = Kept(
                type: try row.text("type"), purchase: isOrdered ? purchase : nil, sequence: isOrdered ? sequence : nil)
        }
        return kept
    }

    /// In the order in which `DeliveryTable.settle` locks those whose attempts end: in another one each would wait for the
    /// other.
    private static let lockDeliveries = """
        SELECT 1 FROM entitled.delivery d JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        WHERE d.state = ANY($3::int2[]) ORDER BY d.lane, d.id FOR NO KEY UPDATE OF d
        """

    /// It joins the order that its endpoint has now, or leaves the one that it had.
    private static let reopen = reopening("")
    /// The schema may be older than the column.
    private static let reopenForJob = reopening(", job = $7")

    private static func reopening(_ more: String) -> String {
        """
        UPDATE entitled.delivery d
        SET state = CASE WHEN t.ordered_by IS NULL THEN \(DeliveryCode.pending) ELSE \(DeliveryCode.blocked) END,
            reason = NULL, next_ms = $3, round_start = d.attempts, ordered_by = t.ordered_by, sequence = t.sequence\(more)
        FROM unnest($1::int2[], $2::uuid[], $5::uuid[], $6::int8[]) AS t(lane, id, ordered_by, sequence)
        WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id AND d.state = ANY($4::int2[])
        RETURNING d.lane, d.endpoint, d.ordered_by
        """
    }

    private static let add = adding("", "")
    private static let addForJob = adding(", job", ", $9")

    private static func adding(_ column: String, _ value: String) -> String {
        """
        INSERT INTO entitled.delivery
            (lane, id, endpoint, event, event_type, state, next_ms, created_ms, ordered_by, sequence\(column))
        SELECT t.lane, t.id, $3, t.event, t.event_type,
            CASE WHEN t.ordered_by IS NULL THEN \(DeliveryCode.pending) ELSE \(DeliveryCode.blocked) END, $6, $6,
            t.ordered_by, t.sequence\(value)
        FROM unnest($1::int2[], $2::uuid[], $4::uuid[], $5::text[], $7::uuid[], $8::int8[])
            AS t(lane, id, event, event_type, ordered_by, sequence)
        ON CONFLICT DO NOTHING RETURNING lane, endpoint, ordered_by
        """
    }

    /// Puts these in line: those with a delivery in one of the states once more, those without any for the first time;
    /// behind what is open of their purchase where that is in order. Call it after `lock`, in its transaction.
    ///
    /// - Parameters:
    ///   - known: deliveries to this endpoint.
    ///   - new: events without one.
    ///   - endpoint: as `lock` gave it.
    ///   - job: which their deliveries name then; nil: none.
    /// - Returns: how many are in line now, and of how many events the body is gone.
    package static func queue(
        known: [Ended], in states: [DeliveryState], new: [EventKey], to endpoint: Endpoint, job: Int64? = nil,
        now: Int64, on connection: PostgresConnection
    ) throws -> (queued: Int, gone: Int) {
        let events = known.compactMap(\.event) + new
        let kept = try lock(events, to: endpoint, on: connection)
        var lines = try reopen(known, kept, in: states, job, now: now, on: connection)
        lines += try add(new, kept, to: endpoint, job, now: now, on: connection)
        _ = try DeliveryOrder.release(Set(lines.compactMap { $0 }), now: now, on: connection)
        return (lines.count, events.count - kept.count)
    }

    /// The lines of those that were; nil for one that is in none.
    private static func reopen(
        _ known: [Ended], _ kept: [EventKey: Kept], in states: [DeliveryState], _ job: Int64?, now: Int64,
        on connection: PostgresConnection
    ) throws -> [DeliveryOrder.Line?] {
        let again = known.filter { ended in ended.event.map { kept[$0] != nil } ?? true }
        guard !again.isEmpty else { return [] }
        let orders = again.map { ended in ended.event.flatMap { kept[$0] } }
        let ids: [PostgresValue] = [.int2s(again.map(\.id.lane.number)), .uuids(again.map(\.id.bytes))]
        let codes = PostgresValue.int2s(states.map(\.rawValue))
        for part in connection.laneGroups.split(again, by: \.id.lane) {
            _ = try connection.query(
                lockDeliveries,
                [.int2s(part.elements.map(\.id.lane.number)), .uuids(part.elements.map(\.id.bytes)), codes])
        }
        return try connection.query(
            job == nil ? reopen : reopenForJob,
            ids + [
                .int8(now), codes, .uuids(orders.map { $0?.purchase }),
                .int8s(orders.map { $0?.sequence }),
            ] + (job.map { [.int8($0)] } ?? [])
        ).map { try DeliveryOrder.Line($0) }
    }

    private static func add(
        _ new: [EventKey], _ kept: [EventKey: Kept], to endpoint: Endpoint, _ job: Int64?, now: Int64,
        on connection: PostgresConnection
    ) throws -> [DeliveryOrder.Line?] {
        let first = new.filter { kept[$0] != nil }
        guard !first.isEmpty else { return [] }
        let ids = first.map { DeliveryID(lane: $0.lane, event: $0.id, endpoint: endpoint.id) }
        return try connection.query(
            job == nil ? add : addForJob,
            [
                .int2s(first.map(\.lane.number)), .uuids(ids.map(\.bytes)), .text(endpoint.id),
                .uuids(first.map(\.id)), .texts(first.map { kept[$0]?.type }), .int8(now),
                .uuids(first.map { kept[$0]?.purchase }), .int8s(first.map { kept[$0]?.sequence }),
            ] + (job.map { [.int8($0)] } ?? [])
        ).map { try DeliveryOrder.Line($0) }
    }
}
