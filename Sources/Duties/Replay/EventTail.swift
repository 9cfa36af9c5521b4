import Base
import Database
import Postgres

/// Reads events as they are made, and earlier ones before. For the api's role; nothing is written.
///
/// An event shows when its transaction ends, a moment after the time that it bears. So each look goes a few seconds back
/// and passes over what it has seen.
package struct EventTail {
    package struct Event: Sendable {
        package let key: DeliveryReplay.EventKey
        package let type: String
        package let app: String
        package let environment: StoreEnvironment
        /// Milliseconds.
        package let created: Int64
        package let body: [UInt8]
        /// Which event of its purchase it is; nil for what is about none.
        package let sequence: Int64?
    }

    /// Longer than transactions that make events take.
    private static let overlap: Int64 = 5_000

    private let wants: @Sendable (_ type: String, _ app: String, StoreEnvironment) -> Bool
    private var walk = EventScan()
    /// Where the next look begins; nil before the first.
    private var position: ScanCursor?
    private var since: Int64?
    private var seen: [[UInt8]: Int64] = [:]

    /// - Parameters:
    ///   - since: ms; nil: from the first look on.
    ///   - wants: whether an event is to be shown.
    package init(
        since: Int64?, wants: @escaping @Sendable (_ type: String, _ app: String, StoreEnvironment) -> Bool
    ) {
        self.since = since
        self.wants = wants
    }

    private static let bodies = """
        SELECT e.id, e.body, e.sequence FROM entitled.event e
        JOIN unnest($1::int2[], $2::uuid[]) AS t(lane, id) ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */
            AND e.id = t.id
        WHERE octet_length(e.body) > 0
        """

    /// What is new since the last look, in order, some hundreds at most; `hasMore` if there is more of it now.
    package mutating func look(on connection: PostgresConnection) throws -> (events: [Event], hasMore: Bool) {
        try connection.transaction {
            let now = try connection.serverTime()
            let first = since ?? now
            since = first
            let start = position ?? .start(of: first)
            // Clocks of servers differ a little after a failover.
            let page = try walk.page(from: start, until: now + EventTail.overlap, on: connection)
            let new = page.rows.filter { seen[$0.row.key.id] == nil && $0.position.time >= first }
            let back = ScanCursor.start(of: max(first, now - EventTail.overlap))
            // What is older is not come by again.
            for (event, position) in new where position.time >= back.time { seen[event.key.id] = position.time }
            position = page.isLast ? (back.isBefore(page.end) ? back : page.end) : page.end
            if page.isLast { seen = seen.filter { $0.value >= back.time } }
            return (try whole(new, on: connection), !page.isLast)
        }
    }

    private func whole(
        _ rows: [(row: EventScan.Event, position: ScanCursor)], on connection: PostgresConnection
    ) throws -> [Event] {
        // What was made for one endpoint alone, or for operators, concerns no other endpoint.
        let wanted = rows.filter { event, _ in
            !event.isCopy && !OperationsEvent.isOne(event.type)
                && event.environment.map { wants(event.type, event.app, $0) } ?? false
        }
        guard !wanted.isEmpty else { return [] }
        var found: [[UInt8]: (body: [UInt8], sequence: Int64?)] = [:]
        let keys = wanted.map(\.row.key)
        for row in try connection.query(EventTail.bodies, [.int2s(keys.map(\.lane.number)), .uuids(keys.map(\.id))]) {
            found[try row.uuid("id")] = (
                try EventBodyCodec.restore(try row.bytes("body")), try row.optionalInt("sequence")
            )
        }
        let events: [Event] = wanted.compactMap { event, position in
            guard let environment = event.environment, let content = found[event.key.id] else { return nil }
            return Event(
                key: event.key, type: event.type, app: event.app, environment: environment, created: position.time,
                body: content.body, sequence: content.sequence)
        }
        // Those of one instant in the order of their purchase.
        return events.sorted { ($0.created, $0.sequence ?? 0) < ($1.created, $1.sequence ?? 0) }
    }
}
