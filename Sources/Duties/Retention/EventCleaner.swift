import Base
import Database
import Postgres

/// Empties events and deletes their deliveries when all of that is over for long enough.
///
/// The row of the event stays: its id must never be made again with another body, and what caused it is on record for
/// ever. An event with a delivery that is pending or held, or that ended not long ago, stays whole.
struct EventCleaner {
    private var walk = BlockScan("event", isOfLanes: true)
    private var kept: Int64 = 0

    struct Step {
        var events = 0
        var deliveries = 0
        /// At the end of a pass: old events that something unfinished keeps.
        var kept: Int64?
    }

    private static let old = """
        SELECT lane, id FROM entitled.event
        WHERE ctid >= $1::text::tid AND ctid < $2::text::tid AND created_ms < $3 AND octet_length(body) > 0
            /* cluster: AND lane = ANY($4::int2[]) */
        """

    /// Deliveries by their primary keys, which follow from the event and the endpoint: there is no index by event.
    private static let deliveries = """
        SELECT d.lane, d.id, d.event, d.state IN (\(DeliveryCode.ended)) AND d.next_ms < $3 AS is_old
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id) JOIN entitled.delivery d ON d.lane = t.lane
            /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        """

    /// What was sent again since it was looked at stays.
    private static let delete = """
        DELETE FROM entitled.delivery d USING unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */
            AND d.id = t.id AND d.state IN (\(DeliveryCode.ended)) AND d.next_ms < $3 RETURNING 1
        """

    private static let empty = """
        UPDATE entitled.event e SET body = '' FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        WHERE e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id RETURNING 1
        """

    /// Against who puts an old event in line again, or for the first time (`DeliveryReplay`): that one either committed
    /// before, and its delivery is seen afterwards, or finds the body gone.
    private static let lock = """
        SELECT 1 FROM entitled.event e JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */
                AND e.id = t.id ORDER BY e.lane, e.id FOR NO KEY UPDATE OF e
        """

    private struct Name: Hashable {
        let lane: Lane
        let id: [UInt8]
    }

    /// A delivery was changed meanwhile.
    private struct Interrupted: Error {}

    /// One short transaction.
    ///
    /// - Parameter limit: ms; what happened before it is old.
    /// - Returns: nil when there is nothing to do for now.
    mutating func step(before limit: Int64, on connection: PostgresConnection) throws -> Step? {
        guard let blocks = try walk.blocks(on: connection) else { return nil }
        let events = try old(in: blocks, before: limit, on: connection)
        var step = Step()
        if !events.isEmpty {
            let clear = try finished(events, limit, on: connection).events
            kept += Int64(events.count - clear.count)
            step = try clean(clear, limit, on: connection)
        }
        if blocks.isLast {
            step.kept = kept
            kept = 0
        }
        return step
    }

    mutating func hurry() { walk.hurry() }

    private static let size = """
        SELECT count(*), coalesce(sum(pg_column_size(e.body)), 0)::int8 AS bytes, min(e.created_ms) AS oldest_ms
        FROM entitled.event e JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id) ON e.lane = t.lane
            /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id
        """
    private static let deliverySize = """
        SELECT count(*), coalesce(sum(pg_column_size(d.*)), 0)::int8 AS bytes, min(d.created_ms) AS oldest_ms
        FROM entitled.delivery d JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id) ON d.lane = t.lane
            /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        """

    /// Goes through the table once, as a pass does, and changes nothing.
    static func forecast(
        before limit: Int64, on connection: PostgresConnection
    ) throws -> [RetentionForecast.Entry] {
        let cleaner = EventCleaner()
        var (events, deliveries) = (RetentionForecast.Tally(), RetentionForecast.Tally())
        var kept = 0
        func add(_ names: [Name], to tally: inout RetentionForecast.Tally, by sql: String) throws {
            guard !names.isEmpty else { return }
            try tally.add(connection.query(sql, [.int2s(names.map(\.lane.number)), .uuids(names.map(\.id))]))
        }
        try BlockScan.pass(of: "event", isOfLanes: true, on: connection) { blocks in
            let old = try cleaner.old(in: blocks, before: limit, on: connection)
            guard !old.isEmpty else { return }
            let clear = try cleaner.finished(old, limit, on: connection)
            kept += old.count - clear.events.count
            try add(clear.events, to: &events, by: size)
            try add(clear.deliveries, to: &deliveries, by: deliverySize)
        }
        return [
            events.entry("event", .emptied, before: limit, kept: kept == 0 ? [:] : ["unfinished": kept]),
            deliveries.entry("delivery", before: limit),
        ]
    }

    private func old(
        in blocks: BlockScan.Blocks, before limit: Int64, on connection: PostgresConnection
    ) throws -> [Name] {
        try connection.query(
            EventCleaner.old, [.text(blocks.start), .text(blocks.end), .int8(limit)] + blocks.values
        ).map { row in
            Name(lane: try row.value("lane"), id: try row.uuid("id"))
        }
    }

    /// The events of which nothing is open, and their deliveries.
    private func finished(
        _ events: [Name], _ limit: Int64, on connection: PostgresConnection
    ) throws -> (events: [Name], deliveries: [Name]) {
        // Endpoints that were removed have deliveries still.
        let endpoints = try connection.query("SELECT id FROM entitled.endpoint").map { try $0.text("id") }
        let possible = events.flatMap { event in
            endpoints.map { DeliveryID(lane: event.lane, event: event.id, endpoint: $0) }
        }
        guard !possible.isEmpty else { return (events, []) }
        let rows = try connection.query(
            EventCleaner.deliveries,
            [.int2s(possible.map(\.lane.number)), .uuids(possible.map(\.bytes)), .int8(limit)])
        var open: Set<Name> = []
        var found: [(delivery: Name, event: Name)] = []
        for row in rows {
            let lane: Lane = try row.value("lane")
            let event = Name(lane: lane, id: try row.uuid("event"))
            found.append((Name(lane: lane, id: try row.uuid("id")), event))
            if try !row.bool("is_old") { open.insert(event) }
        }
        return (events.filter { !open.contains($0) }, found.filter { !open.contains($0.event) }.map(\.delivery))
    }

    private func clean(_ events: [Name], _ limit: Int64, on connection: PostgresConnection) throws -> Step {
        guard !events.isEmpty else { return Step() }
        do {
            return try connection.transaction {
                _ = try connection.query("SELECT \(Durability.setting)")
                _ = try connection.query(
                    EventCleaner.lock, [.int2s(events.map(\.lane.number)), .uuids(events.map(\.id))])
                let (events, deliveries) = try finished(events, limit, on: connection)
                let deleted = try connection.query(
                    EventCleaner.delete,
                    [.int2s(deliveries.map(\.lane.number)), .uuids(deliveries.map(\.id)), .int8(limit)]
                ).count
                guard deleted == deliveries.count else { throw Interrupted() }
                let emptied = try connection.query(
                    EventCleaner.empty, [.int2s(events.map(\.lane.number)), .uuids(events.map(\.id))]
                ).count
                return Step(events: emptied, deliveries: deleted)
            }
        } catch is Interrupted {
            // The next pass comes by.
            return Step()
        }
    }
}
