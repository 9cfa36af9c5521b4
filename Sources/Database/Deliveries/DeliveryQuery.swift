import Base
import Postgres

/// A delivery as operators see it.
package struct DeliverySummary: Sendable {
    package let id: DeliveryID
    package let endpoint: String
    /// What the consumer sees in `webhook-id`: the event's UUID, or of a notification as it came Apple's.
    package let event: String
    package let eventType: String
    package let state: DeliveryState
    package let attempts: Int
    package let lastStatus: Int?
    package let reason: String?
    /// Milliseconds; when it is tried next, for pending ones.
    package let next: Int64
    package let created: Int64
    /// Milliseconds; since when it waits for an earlier event of its purchase, where it does.
    package let blockedSince: Int64?
}

/// Reads deliveries, for operators.
package enum DeliveryQuery {
    private static let columns = """
        d.lane, d.id, d.endpoint, d.event, d.event_type, \(shownState) AS state, d.attempts, d.last_status, d.reason,
        d.next_ms, d.created_ms, CASE WHEN d.state = \(DeliveryCode.blocked) THEN d.next_ms END AS blocked_since_ms,
        d.webhook_id, d.notification_seq
        """

    /// As people see it: what is blocked is pending, or held like what it waits for.
    package static let shownState = """
        CASE WHEN d.state <> \(DeliveryCode.blocked) THEN d.state
            WHEN /* cluster: d.endpoint = ANY(ARRAY(SELECT id FROM entitled.endpoint WHERE disabled_reason IS NULL)) for: */(
                SELECT e.disabled_reason IS NULL FROM entitled.endpoint e WHERE e.id = d.endpoint)/* end */
                THEN \(DeliveryCode.pending)::int2
            ELSE \(DeliveryCode.held)::int2 END
        """

    /// Conditions that all must hold.
    package struct Filter: Sendable {
        package var endpoint: String?
        package var state: DeliveryState?
        package var eventType: String?
        /// HTTP statuses of the last attempt.
        package var lastStatus: ClosedRange<Int16>?
        package var attemptsAtLeast: Int16?
        /// The deliveries of these events alone.
        package var events: Set<EventTraceQuery.EventName>?

        package init(endpoint: String? = nil, state: DeliveryState? = nil) {
            self.endpoint = endpoint
            self.state = state
        }
    }

    private static let conditions = """
        ($1::text IS NULL OR d.endpoint = $1) AND ($2::int2 IS NULL OR \(shownState) = $2)
        AND ($3::text IS NULL OR d.event_type = $3) AND ($4::int2 IS NULL OR d.last_status BETWEEN $4 AND $5)
        AND d.attempts >= $6 AND d.created_ms >= $7 AND d.created_ms < $8
        AND ($9::int8 IS NULL OR d.created_ms <= $9 AND (d.created_ms, d.lane, d.id) < ($9, $10::int2, $11::uuid))
        """

    private static let order = "ORDER BY d.created_ms DESC, d.lane DESC, d.id DESC LIMIT $12"

    private static let all = "SELECT \(columns) FROM entitled.delivery d WHERE \(conditions) \(order)"

    /// By their primary keys, which follow from the event and the endpoint: there is no index by event.
    private static let ofEvents = """
        SELECT \(columns) FROM unnest($13::int2[], $14::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($13::int2[]) */ AND d.id = t.id
        WHERE \(conditions) \(order)
        """

    /// Lists deliveries, the newest first.
    package static func list(
        _ filter: Filter, _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<DeliverySummary> {
        let ids = try filter.events.map { try deliveries(of: $0, on: connection) }
        let (least, end) = (max(0, range.since ?? 0), range.until ?? .max)
        guard range.budget != nil, ids == nil else {
            return page(try rows(filter, range, from: least, to: end, ids, range.limit + 1, on: connection), range)
        }
        let last = range.after.map { $0.order == .max ? .max : min(end, $0.order + 1) } ?? end
        var scan = BackwardScan(
            from: least, to: last, now: SystemClock().now(), part: range.after?.part, budget: range.budget)
        let found = try scan.collect(range.limit + 1, on: connection) { part, limit in
            try rows(filter, range, from: part.lowerBound, to: part.upperBound, nil, limit, on: connection)
        }
        return page(found, range, stop: scan.stop)
    }

    private static func page(
        _ found: [DeliverySummary], _ range: ListRange, stop: ScanStop? = nil
    ) -> ListPage<DeliverySummary> {
        // Before all rows of that instant, which were read.
        ListPage(found, limit: range.limit, stop: stop?.ending()) {
            ListCursor(order: $0.created, lane: $0.id.lane.number, id: $0.id.bytes)
        }
    }

    /// - Parameter ids: those of which one is listed; nil: all.
    private static func rows(
        _ filter: Filter, _ range: ListRange, from start: Int64, to end: Int64, _ ids: [DeliveryID]?, _ limit: Int,
        on connection: PostgresConnection
    ) throws -> [DeliverySummary] {
        let parameters: [PostgresValue] = [
            .text(filter.endpoint), .int2(filter.state?.rawValue), .text(filter.eventType),
            .int2(filter.lastStatus?.lowerBound), .int2(filter.lastStatus?.upperBound),
            .int2(filter.attemptsAtLeast ?? 0), .int8(start), .int8(end),
            .int8(range.after?.order), .int2(range.after?.lane), .uuid(range.after?.id), .int8(Int64(limit)),
        ]
        guard let ids else { return try connection.query(all, parameters).map(summary) }
        let places: [PostgresValue] = [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))]
        return try connection.query(ofEvents, parameters + places).map(summary)
    }

    /// The ids that deliveries of these events have, if there are any.
    private static func deliveries(
        of events: Set<EventTraceQuery.EventName>, on connection: PostgresConnection
    ) throws -> [DeliveryID] {
        // Endpoints that were removed have deliveries still.
        let endpoints = try connection.query("SELECT id FROM entitled.endpoint").map { try $0.text("id") }
        return events.flatMap { event in
            guard let id = UUIDText.bytes(event.id) else { return [DeliveryID]() }
            return endpoints.map { DeliveryID(lane: event.lane, event: id, endpoint: $0) }
        }
    }

    /// Attempts are looked for from the delivery's own day on, not in every day there is; clocks differ a little.
    private static let clockTolerance: Int64 = 86_400_000

    /// All that is known of a delivery.
    package struct Whole: Sendable {
        package let delivery: DeliverySummary
        package let attempts: [AttemptSummary]
        /// As it is sent.
        package let body: [UInt8]
        /// Which event of its purchase it is; nil for what is about none.
        package let sequence: Int64?
        /// The first open delivery of its purchase, while it waits for that.
        package let blockedBy: DeliveryID?
    }

    /// Whether there is a delivery of this id.
    package static func exists(_ id: DeliveryID, on connection: PostgresConnection) throws -> Bool {
        try !connection.query(
            "SELECT id FROM entitled.delivery WHERE lane = $1 AND id = $2", [.int2(id.lane.number), .uuid(id.bytes)]
        ).isEmpty
    }

    private static let blocker = """
        SELECT f.id FROM entitled.delivery d CROSS JOIN LATERAL (
            SELECT o.id FROM entitled.delivery o
            WHERE o.lane = d.lane /* cluster: AND o.lane = $1 */ AND o.endpoint = d.endpoint AND o.ordered_by = d.ordered_by
                AND o.ordered_by IS NOT NULL AND o.state IN (\(DeliveryCode.open))
            ORDER BY o.sequence LIMIT 1
        ) f
        WHERE d.lane = $1 AND d.id = $2 AND d.state = \(DeliveryCode.blocked)
        """

    /// A delivery with its attempts and the body that is sent; nil if there is none.
    package static func show(_ id: DeliveryID, on connection: PostgresConnection) throws -> Whole? {
        let rows = try connection.query(
            "SELECT \(columns) FROM entitled.delivery d WHERE d.lane = $1 AND d.id = $2",
            [.int2(id.lane.number), .uuid(id.bytes)])
        guard let row = rows.first else { return nil }
        let attempts = try AttemptQuery.attempts(
            of: id, since: try row.int("created_ms") - clockTolerance, on: connection)
        let (body, sequence) = try content(row, id.lane, on: connection)
        let blocker = try connection.query(blocker, [.int2(id.lane.number), .uuid(id.bytes)]).first
        return Whole(
            delivery: try summary(row), attempts: attempts, body: body, sequence: sequence,
            blockedBy: try blocker.map { DeliveryID(lane: id.lane, bytes: try $0.uuid("id")) })
    }

    /// What is sent, empty where it is not kept any more, and which event of its purchase it is.
    private static func content(
        _ row: PostgresRow, _ lane: Lane, on connection: PostgresConnection
    ) throws -> ([UInt8], Int64?) {
        if let seq = try row.optionalInt("notification_seq") {
            let place = LogPosition(lane: lane, seq: seq)
            let found = try NotificationBodies().read([place], on: connection)[place]
            guard case .body(let body)? = found else { return ([], nil) }
            return (body, nil)
        }
        let events = try connection.query(
            "SELECT body, sequence FROM entitled.event WHERE lane = $1 AND id = $2",
            [.int2(lane.number), .uuid(try row.uuid("event"))])
        guard let event = events.first else { return ([], nil) }
        let stored = try event.bytes("body")
        return (stored.isEmpty ? [] : try EventBodyCodec.restore(stored), try event.optionalInt("sequence"))
    }

    private static func summary(_ row: PostgresRow) throws -> DeliverySummary {
        DeliverySummary(
            id: DeliveryID(lane: try row.value("lane"), bytes: try row.uuid("id")),
            endpoint: try row.text("endpoint"),
            event: try row.optionalText("webhook_id") ?? UUIDText.upper(try row.uuid("event")),
            eventType: try row.text("event_type"),
            state: try row.value("state"), attempts: Int(clamping: try row.int("attempts")),
            lastStatus: try row.optionalInt("last_status").map { Int(clamping: $0) },
            reason: try row.optionalText("reason"),
            next: try row.int("next_ms"), created: try row.int("created_ms"),
            blockedSince: try row.optionalInt("blocked_since_ms"))
    }
}
