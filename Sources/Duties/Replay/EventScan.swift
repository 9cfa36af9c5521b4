import Base
import Database
import Postgres

/// Goes through the events of a time in the order in which they were made, a few hundred in each step.
///
/// By windows of time, which the index on `created_ms` finds without being ordered: as wide as holds few enough, so
/// that no step reads much, whatever the time between them is.
struct EventScan {
    struct Event {
        let key: DeliveryReplay.EventKey
        let type: String
        let app: String
        let environment: StoreEnvironment?
        /// Retention has emptied it.
        let isGone: Bool
        /// It was made for one endpoint alone.
        let isCopy: Bool
    }

    static let limit = 512
    private static let longest: Int64 = 366 * 86_400_000
    /// Times without events that one step passes over: it doubles the window each time.
    private static let emptyLimit = 16
    /// Milliseconds.
    private var width: Int64 = 3_600_000

    private static let window = select("e.created_ms >= $1 AND e.created_ms < $2", "LIMIT $3", order: "")
    private static let instant = select(
        "e.created_ms = $1 AND (e.lane, e.id) > ($2, $3)", "LIMIT $4", order: "ORDER BY e.lane, e.id")

    /// A cluster refuses a lookup for rows that a LIMIT has cut; a left join says the same.
    private static func select(_ condition: String, _ limit: String, order: String) -> String {
        let columns = "e.created_ms, e.lane, e.id, e.type, e.app, e.environment, octet_length(e.body) = 0 AS is_gone"
        return """
            /* cluster: SELECT \(columns), c.id IS NOT NULL AS is_copy
            FROM entitled.event e LEFT JOIN entitled.event_copy c ON c.lane = e.lane AND c.id = e.id
            WHERE \(condition) \(order) \(limit) for: */SELECT \(columns),
                EXISTS (SELECT 1 FROM entitled.event_copy c WHERE c.lane = e.lane AND c.id = e.id) AS is_copy
            FROM (SELECT * FROM entitled.event e WHERE \(condition) \(order) \(limit)) e \(order)/* end */
            """
    }

    /// Call it in a transaction: a limit makes the planner hope for early hits in the whole table, which are not there.
    mutating func page(
        from start: ScanCursor, until: Int64, on connection: PostgresConnection
    ) throws -> ScanPage<Event> {
        _ = try connection.query("SELECT set_config('enable_seqscan', 'off', true)")
        var start = start
        var empty = 0
        while start.time < until {
            let end = until - start.time > width ? start.time + width : until
            let rows = try connection.query(
                EventScan.window, [.int8(start.time), .int8(end), .int8(Int64(EventScan.limit + 1))])
            if rows.count <= EventScan.limit {
                if rows.count < EventScan.limit / 4 { width = min(width * 2, EventScan.longest) }
                empty += 1
                if rows.isEmpty, end < until, empty < EventScan.emptyLimit {
                    start = .start(of: end)
                    continue
                }
                return try page(rows, from: start, end: .start(of: end), isLast: end >= until)
            }
            guard width > 1 else { return try crowded(start, until, on: connection) }
            width = max(1, min(width, end - start.time) / 4)
        }
        return ScanPage(rows: [], end: start, isLast: true)
    }

    /// So many in one millisecond that they are read by their order.
    private func crowded(
        _ start: ScanCursor, _ until: Int64, on connection: PostgresConnection
    ) throws -> ScanPage<Event> {
        let rows = try connection.query(
            EventScan.instant,
            [.int8(start.time), .int2(start.lane), .uuid(start.id), .int8(Int64(EventScan.limit))])
        let isWhole = rows.count < EventScan.limit
        let next = ScanCursor.start(of: start.time + 1)
        let page = try page(rows, from: start, end: next, isLast: isWhole && next.time >= until)
        return ScanPage(rows: page.rows, end: isWhole ? next : page.rows.last?.position ?? next, isLast: page.isLast)
    }

    private func page(
        _ rows: PostgresRows, from start: ScanCursor, end: ScanCursor, isLast: Bool
    ) throws -> ScanPage<Event> {
        let events = try rows.map { row in
            let position = ScanCursor(
                time: try row.int("created_ms"), lane: Int16(clamping: try row.int("lane")), id: try row.uuid("id"))
            let event = Event(
                key: DeliveryReplay.EventKey(lane: Lane(number: position.lane), id: position.id),
                type: try row.text("type"), app: try row.text("app"),
                environment: try row.value("environment"), isGone: try row.bool("is_gone"),
                isCopy: try row.bool("is_copy"))
            return (row: event, position: position)
        }
        let ahead = events.filter { start.isBefore($0.position) }
        return ScanPage(rows: ahead.sorted { $0.position.isBefore($1.position) }, end: end, isLast: isLast)
    }
}
