import Base
import Postgres

/// The deliveries of a `BulkSelection`, the oldest first, so that those of one purchase are in their order.
package struct DeliveryBulk {
    package enum Action: Sendable {
        case resend
        case giveUp
    }

    package struct Row: Sendable {
        package let id: DeliveryID
        package let endpoint: String
        package let type: String
        /// ms since 1970.
        package let created: Int64
        /// Nil for a notification as it came.
        package let event: DeliveryReplay.EventKey?
        /// Why it is left as it is; nil: it is done.
        package let skip: BulkSkip?
    }

    /// Rows of a page.
    package static let limit = 500
    /// Where lanes are locked, which their owners wait for.
    package static let limitInOrder = 64
    /// How long events are looked for in one step.
    static let budget = Duration.milliseconds(500)
    /// Rows that one statement reads.
    static let scanned = 4000

    let action: Action
    let selection: BulkSelection
    private let filter: DeliveryQuery.Filter
    /// The customer whose deliveries are meant; nil: those of all.
    let customer: String?
    private let bodies = NotificationBodies()

    /// Nil where the selection is none of deliveries.
    package init?(_ action: Action, _ selection: BulkSelection, ofCustomer customer: String?) {
        switch selection.rows {
        case .deliveries(let filter, _): self.filter = filter
        case .deliveryIDs, .events: filter = DeliveryQuery.Filter()
        case .notifications, .notificationIDs, .customers, .customerIDs: return nil
        }
        (self.action, self.selection, self.customer) = (action, selection, customer)
    }

    // MARK: - Reading

    /// - Parameter position: the end of the page before; empty: from the beginning.
    package func page(
        after position: [String], on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let endpoints = try Endpoints(on: connection)
        let limit = endpoints.isOrdered ? DeliveryBulk.limitInOrder : DeliveryBulk.limit
        switch selection.rows {
        case .deliveryIDs(let ids):
            return try pageOfNamed(ids, after: position, limit, endpoints, on: connection)
        case .deliveries(_, let event):
            if let event {
                let names = try UUIDText.bytes(event).map { try EventQuery.find($0, on: connection).map(\.name) } ?? []
                return try pageOfEvents(names, after: position, limit, endpoints, on: connection)
            }
            if let customer {
                return try pageOfCustomer(customer, after: position, limit, endpoints, on: connection)
            }
            return try pageOfScan(after: position, limit, endpoints, on: connection)
        case .events(var events, _):
            if let customer { events.subject = try subject(customer, on: connection) }
            return try pageOfEventList(events, after: position, limit, endpoints, on: connection)
        case .notifications, .notificationIDs, .customers, .customerIDs:
            return BulkPage(rows: [], end: [], isLast: true, fraction: 1)
        }
    }

    /// Endpoints, also those that were removed: they have deliveries still.
    struct Endpoints {
        var ids: [String] = []
        var disabled: Set<String> = []
        var removed: Set<String> = []
        var isOrdered = false

        init(on connection: PostgresConnection) throws {
            let rows = try connection.query(
                """
                SELECT id, removed_ms IS NOT NULL AS is_removed, disabled_reason IS NOT NULL AS is_disabled, ordering
                FROM entitled.endpoint ORDER BY id
                """)
            for row in rows {
                let id = try row.text("id")
                ids.append(id)
                if try row.bool("is_removed") {
                    removed.insert(id)
                } else {
                    if try row.bool("is_disabled") { disabled.insert(id) }
                    if try row.value("ordering", as: Ordering.self) == .purchase { isOrdered = true }
                }
            }
        }

        /// How many events have as many deliveries as this, if each endpoint has one.
        func events(for limit: Int) -> Int { max(1, limit / max(1, ids.count)) }

        /// The deliveries that an event may have.
        func deliveries(of event: String, in lane: Lane) -> [DeliveryID] {
            UUIDText.bytes(event).map { id in ids.map { DeliveryID(lane: lane, event: id, endpoint: $0) } } ?? []
        }
    }

    static let columns = """
        d.created_ms, d.lane, d.id, d.endpoint, d.event, d.event_type, d.state, d.notification_seq,
        coalesce((
            SELECT octet_length(e.body) = 0 FROM entitled.event e
            WHERE d.notification_seq IS NULL AND e.lane = d.lane /* cluster: AND e.lane = ANY($9::int2[]) */
                AND e.id = d.event), d.notification_seq IS NULL) AS is_gone
        """

    /// Attempts are no longer than this, in ms.
    private static let longestAttempt: Int64 = 600_000

    /// What is over was so before the end of the selection: its `next_ms` is when that was, except of an arrival after it was
    /// given up. What an attempt changes was so before by the log of attempts. That a delivery is held, or is not any more,
    /// follows its endpoint, and no row says since when.
    static let conditions = """
        ($1::text IS NULL OR d.endpoint = $1) AND ($2::int2 IS NULL OR \(DeliveryQuery.shownState) = $2)
        AND ($3::text IS NULL OR d.event_type = $3) AND ($4::int2 IS NULL OR d.last_status BETWEEN $4 AND $5)
        AND d.attempts >= $6 AND d.created_ms >= $7 AND d.created_ms < $8
        AND (d.state NOT IN (\(DeliveryCode.ended)) OR d.next_ms < $8)
        AND ($2::int2 IS DISTINCT FROM \(DeliveryCode.delivered) AND $4::int2 IS NULL AND $6::int2 = 0 OR NOT EXISTS (
            SELECT FROM entitled.attempt a
            WHERE a.lane = d.lane /* cluster: AND a.lane = ANY($9::int2[]) */ AND a.delivery = d.id
                AND a.started_ms >= $8::int8 - \(longestAttempt) AND a.started_ms + a.duration_ms >= $8))
        """

    var parameters: [PostgresValue] {
        [
            .text(filter.endpoint), .int2(filter.state?.rawValue), .text(filter.eventType),
            .int2(filter.lastStatus?.lowerBound), .int2(filter.lastStatus?.upperBound),
            .int2(filter.attemptsAtLeast ?? 0), .int8(max(0, selection.since ?? 0)), .int8(selection.until),
        ]
    }

    private static let named = """
        SELECT \(columns), t.place FROM unnest($9::int2[], $10::uuid[]) WITH ORDINALITY AS t(lane, id, place)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($9::int2[]) */ AND d.id = t.id
        WHERE \(conditions) ORDER BY t.place
        """

    func rows(
        _ ids: [DeliveryID], _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> [Row] {
        guard !ids.isEmpty else { return [] }
        let parts = connection.laneGroups.split(Array(ids.enumerated()), by: \.element.lane)
        let found = try parts.flatMap { part in
            try connection.query(
                DeliveryBulk.named,
                parameters + [
                    .int2s(part.elements.map(\.element.lane.number)), .uuids(part.elements.map(\.element.bytes)),
                ]
            ).map { (row: $0, place: part.elements[Int(try $0.int("place")) - 1].offset) }
        }
        return try read(found.sorted { $0.place < $1.place }.map(\.row), endpoints, on: connection)
    }

    func read(
        _ rows: [PostgresRow], _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> [Row] {
        let kept = try forwarded(rows, on: connection)
        return try rows.map { row in
            let lane: Lane = try row.value("lane")
            let (endpoint, seq) = (try row.text("endpoint"), try row.optionalInt("notification_seq"))
            let isGone =
                try seq.map { !kept.contains(LogPosition(lane: lane, seq: $0)) } ?? row.bool("is_gone")
            let code: DeliveryCode = try row.value("state")
            return Row(
                id: DeliveryID(lane: lane, bytes: try row.uuid("id")), endpoint: endpoint,
                type: try row.text("event_type"), created: try row.int("created_ms"),
                event: try seq == nil ? DeliveryReplay.EventKey(lane: lane, id: row.uuid("event")) : nil,
                skip: skip(code, endpoint, isGone: isGone, endpoints))
        }
    }

    /// The notifications that can still be sent, of what goes on as it came and would be sent again.
    private func forwarded(
        _ rows: [PostgresRow], on connection: PostgresConnection
    ) throws -> Set<LogPosition> {
        guard case .resend = action else { return [] }
        let places = try rows.compactMap { row in
            try row.optionalInt("notification_seq").map { seq in
                LogPosition(lane: try row.value("lane"), seq: seq)
            }
        }
        return Set(
            try bodies.read(places, on: connection).filter { entry in
                if case .body = entry.value { true } else { false }
            }.keys)
    }

    private func skip(
        _ state: DeliveryCode, _ endpoint: String, isGone: Bool, _ endpoints: Endpoints
    ) -> BulkSkip? {
        switch action {
        case .giveUp: return state.isOpen ? nil : .ended
        case .resend:
            if state.isOpen { return .open }
            if endpoints.removed.contains(endpoint) { return .endpointRemoved }
            if endpoints.disabled.contains(endpoint) { return .endpointDisabled }
            return isGone ? .notKept : nil
        }
    }
}
