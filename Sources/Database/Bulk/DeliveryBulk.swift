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
    private static let budget = Duration.milliseconds(500)
    /// Rows that one statement reads.
    private static let scanned = 4000

    private let action: Action
    private let selection: BulkSelection
    private let filter: DeliveryQuery.Filter
    /// The customer whose deliveries are meant; nil: those of all.
    private let customer: String?
    private let bodies = NotificationBodies()

    /// Nil where the selection is none of deliveries.
    package init?(_ action: Action, _ selection: BulkSelection, ofCustomer customer: String?) {
        switch selection.rows {
        case .deliveries(let filter, _): self.filter = filter
        case .deliveryIDs, .events: filter = DeliveryQuery.Filter()
        case .notifications, .notificationIDs: return nil
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
            let start = min(ids.count, max(0, position.first.flatMap { Int($0) } ?? 0))
            let end = min(ids.count, start + limit)
            return try page(Array(ids[start..<end]), end, of: ids.count, endpoints, on: connection)
        case .deliveries(_, let event):
            if let event {
                let names = try UUIDText.bytes(event).map { try EventQuery.find($0, on: connection).map(\.name) } ?? []
                return try page(ofEvents: names, position, limit, endpoints, on: connection)
            }
            if let customer { return try page(ofCustomer: customer, position, limit, endpoints, on: connection) }
            return try scan(after: position, limit, endpoints, on: connection)
        case .events(var events, _):
            if let customer { events.subject = try subject(customer, on: connection) }
            return try page(ofEventsLike: events, position, limit, endpoints, on: connection)
        case .notifications, .notificationIDs: return BulkPage(rows: [], end: [], isLast: true, fraction: 1)
        }
    }

    /// Endpoints, also those that were removed: they have deliveries still.
    private struct Endpoints {
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
    }

    private static let columns = """
        d.created_ms, d.lane, d.id, d.endpoint, d.event, d.event_type, d.state, d.notification_seq,
        coalesce((
            SELECT octet_length(e.body) = 0 FROM entitled.event e
            WHERE d.notification_seq IS NULL AND e.lane = d.lane AND e.id = d.event), d.notification_seq IS NULL) AS is_gone
        """

    /// Attempts are no longer than this, in ms.
    private static let longestAttempt: Int64 = 600_000

    /// What is over was so before the end of the selection: its `next_ms` is when that was, except of an arrival after it was
    /// given up. What an attempt changes was so before by the log of attempts. That a delivery is held, or is not any more,
    /// follows its endpoint, and no row says since when.
    private static let conditions = """
        ($1::text IS NULL OR d.endpoint = $1) AND ($2::int2 IS NULL OR \(DeliveryQuery.shownState) = $2)
        AND ($3::text IS NULL OR d.event_type = $3) AND ($4::int2 IS NULL OR d.last_status BETWEEN $4 AND $5)
        AND d.attempts >= $6 AND d.created_ms >= $7 AND d.created_ms < $8
        AND (d.state NOT IN (\(DeliveryCode.ended)) OR d.next_ms < $8)
        AND ($2::int2 IS DISTINCT FROM \(DeliveryCode.delivered) AND $4::int2 IS NULL AND $6::int2 = 0 OR NOT EXISTS (
            SELECT FROM entitled.attempt a WHERE a.lane = d.lane AND a.delivery = d.id
                AND a.started_ms >= $8::int8 - \(longestAttempt) AND a.started_ms + a.duration_ms >= $8))
        """

    private var parameters: [PostgresValue] {
        [
            .text(filter.endpoint), .int2(filter.state?.rawValue), .text(filter.eventType),
            .int2(filter.lastStatus?.lowerBound), .int2(filter.lastStatus?.upperBound),
            .int2(filter.attemptsAtLeast ?? 0), .int8(max(0, selection.since ?? 0)), .int8(selection.until),
        ]
    }

    private static let named = """
        SELECT \(columns), t.place FROM unnest($9::int2[], $10::uuid[]) WITH ORDINALITY AS t(lane, id, place)
        JOIN entitled.delivery d ON d.lane = t.lane AND d.id = t.id WHERE \(conditions) ORDER BY t.place
        """

    private func rows(
        _ ids: [DeliveryID], _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> [Row] {
        guard !ids.isEmpty else { return [] }
        let found = try connection.query(
            DeliveryBulk.named, parameters + [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))])
        return try read(found.map { $0 }, endpoints, on: connection)
    }

    private func page(
        _ ids: [DeliveryID], _ end: Int, of count: Int, _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let found = try rows(ids, endpoints, on: connection)
        let known = Set(found.map(\.id))
        let missing = ids.filter { !known.contains($0) }.map {
            Row(id: $0, endpoint: "", type: "", created: 0, event: nil, skip: .changed)
        }
        return BulkPage(
            rows: found + missing, end: [String(end)], isLast: end == count,
            fraction: count == 0 ? 1 : Double(end) / Double(count))
    }

    private func subject(_ customer: String, on connection: PostgresConnection) throws -> EventQuery.Subject {
        let ids = try CustomerTable.load([customer], on: connection)[customer]?.appUserIDs ?? [customer]
        return try EventQuery.Subject(customer: ids, on: connection)
    }

    /// Of the events behind a position: it holds although that event is gone, and what was read is not read again.
    private func page(
        ofCustomer customer: String, _ position: [String], _ limit: Int, _ endpoints: Endpoints,
        on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let start = Position(words: position)
        let count = max(1, limit / max(1, endpoints.ids.count))
        // A delivery is never older than its event.
        let found = try EventQuery.oldest(
            of: subject(customer, on: connection),
            after: start.map { ListCursor(order: $0.time, lane: $0.lane, id: $0.id) }, before: selection.until,
            limit: count + 1, on: connection)
        let part = found.prefix(count)
        guard let first = part.first, let last = part.last else {
            return BulkPage(rows: [], end: position, isLast: true, fraction: 1)
        }
        let ids = part.flatMap { event in
            UUIDText.bytes(event.id).map { id in
                endpoints.ids.map { DeliveryID(lane: event.lane, event: id, endpoint: $0) }
            } ?? []
        }
        let end = Position(
            from: start?.from ?? first.created, time: last.created, lane: last.lane.number,
            id: UUIDText.bytes(last.id) ?? [])
        let isLast = found.count == part.count
        return BulkPage(
            rows: try rows(ids, endpoints, on: connection), end: end.words, isLast: isLast,
            fraction: isLast ? 1 : end.fraction(until: selection.until))
    }

    /// By the primary keys of deliveries, which follow from event and endpoint.
    private func page(
        ofEvents names: [EventTraceQuery.EventName], _ position: [String], _ limit: Int, _ endpoints: Endpoints,
        on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let last = position.first
        let start = last.flatMap { last in names.firstIndex { $0.id == last } }.map { $0 + 1 } ?? 0
        let count = max(1, limit / max(1, endpoints.ids.count))
        let part = names.dropFirst(start).prefix(count)
        let ids = part.flatMap { name in
            UUIDText.bytes(name.id).map { id in
                endpoints.ids.map { DeliveryID(lane: name.lane, event: id, endpoint: $0) }
            } ?? []
        }
        let end = start + part.count
        return BulkPage(
            rows: try rows(ids, endpoints, on: connection), end: part.last.map { [$0.id] } ?? position,
            isLast: end >= names.count, fraction: names.isEmpty ? 1 : Double(end) / Double(names.count))
    }

    /// The newest events first, as their list has them: where a consumer gets those of a purchase in order, their numbers
    /// decide (`DeliveryOrder`).
    private func page(
        ofEventsLike events: EventQuery.Filter, _ position: [String], _ limit: Int, _ endpoints: Endpoints,
        on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        var cursor: ListCursor?
        if position.count == 3, let order = Int64(position[0]), let lane = Int16(position[1]) {
            cursor = ListCursor(order: order, lane: lane, id: Hex.decode(position[2]) ?? [])
        }
        let page = try EventQuery.list(
            events,
            ListRange(
                since: selection.since, until: selection.until, after: cursor,
                limit: max(1, limit / max(1, endpoints.ids.count)), budget: DeliveryBulk.budget),
            now: selection.until, on: connection)
        let ids = page.rows.flatMap { event in
            UUIDText.bytes(event.id).map { id in
                endpoints.ids.map { DeliveryID(lane: event.lane, event: id, endpoint: $0) }
            } ?? []
        }
        // Without a beginning it is not known how far back the list goes.
        let fraction = page.next.map { next in
            selection.since.map { since in
                Double(selection.until - next.order) / Double(max(1, selection.until - since))
            } ?? 0
        }
        return BulkPage(
            rows: try rows(ids, endpoints, on: connection),
            end: page.next.map { [String($0.order), String($0.lane), Hex.encode($0.id)] } ?? position,
            isLast: page.next == nil, fraction: fraction.map { min(1, max(0, $0)) } ?? 1)
    }

    private static let part = """
        WITH part AS MATERIALIZED (
            SELECT * FROM entitled.delivery
            WHERE created_ms >= $9 AND created_ms < $8 AND (created_ms, lane, id) > ($9, $10::int2, $11::uuid)
            ORDER BY created_ms, lane, id LIMIT $12
        ),
        last AS (SELECT created_ms, lane, id FROM part ORDER BY created_ms DESC, lane DESC, id DESC LIMIT 1)
        SELECT \(columns), coalesce((\(conditions)), false) AS is_meant, (SELECT count(*) FROM part) AS scanned
        FROM part d
        WHERE (\(conditions)) OR (d.created_ms, d.lane, d.id) IN (SELECT created_ms, lane, id FROM last)
        ORDER BY d.created_ms, d.lane, d.id LIMIT $13
        """

    private func scan(
        after position: [String], _ limit: Int, _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let first = try position.isEmpty ? start(on: connection) : nil
        guard let start = first ?? Position(words: position) else {
            return BulkPage(rows: [], end: position, isLast: true, fraction: 1)
        }
        // A limit makes the planner hope for early hits in the whole table.
        _ = try connection.query("SELECT set_config('enable_seqscan', 'off', true)")
        let found = try connection.query(
            DeliveryBulk.part,
            parameters + [
                .int8(start.time), .int2(start.lane), .uuid(start.id), .int8(Int64(DeliveryBulk.scanned)),
                .int8(Int64(limit + 1)),
            ]
        ).map { $0 }
        guard let last = found.last else {
            return BulkPage(rows: [], end: start.words, isLast: true, fraction: 1)
        }
        let isCut = found.count > limit
        let isLast = try !isCut && last.int("scanned") < Int64(DeliveryBulk.scanned)
        let taken = isCut ? Array(found.dropLast()) : found
        let end = try taken.last.map { try Position($0, from: start.from) } ?? start
        return BulkPage(
            rows: try read(try taken.filter { try $0.bool("is_meant") }, endpoints, on: connection), end: end.words,
            isLast: isLast, fraction: isLast ? 1 : end.fraction(until: selection.until))
    }

    /// Nil: there is no delivery.
    private func start(on connection: PostgresConnection) throws -> Position? {
        let least = max(0, selection.since ?? 0)
        let oldest = try connection.query(
            "SELECT min(created_ms) AS oldest FROM entitled.delivery WHERE created_ms >= $1", [.int8(least)]
        ).one().optionalInt("oldest")
        return oldest.map { Position(from: $0, time: $0, lane: -1, id: [UInt8](repeating: 0, count: 16)) }
    }

    /// A place in the order in which deliveries were made, and where it began.
    private struct Position {
        let from: Int64
        let time: Int64
        let lane: Int16
        let id: [UInt8]

        init(from: Int64, time: Int64, lane: Int16, id: [UInt8]) {
            (self.from, self.time, self.lane, self.id) = (from, time, lane, id)
        }

        init(_ row: PostgresRow, from: Int64) throws {
            self.init(
                from: from, time: try row.int("created_ms"), lane: Int16(clamping: try row.int("lane")),
                id: try row.uuid("id"))
        }

        init?(words: [String]) {
            guard words.count == 4, let from = Int64(words[0]), let time = Int64(words[1]), let lane = Int16(words[2]),
                let id = Hex.decode(words[3]), id.count == 16
            else { return nil }
            self.init(from: from, time: time, lane: lane, id: id)
        }

        var words: [String] { [String(from), String(time), String(lane), Hex.encode(id)] }

        func fraction(until end: Int64) -> Double {
            min(1, max(0, Double(time - from) / Double(max(1, end - from))))
        }
    }

    private func read(
        _ rows: [PostgresRow], _ endpoints: Endpoints, on connection: PostgresConnection
    ) throws -> [Row] {
        let kept = try forwarded(rows, on: connection)
        return try rows.map { row in
            let lane: Lane = try row.value("lane")
            let (endpoint, seq) = (try row.text("endpoint"), try row.optionalInt("notification_seq"))
            let isGone =
                try seq.map { !kept.contains(NotificationBodies.Place(lane: lane, seq: $0)) } ?? row.bool("is_gone")
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
    ) throws -> Set<NotificationBodies.Place> {
        guard case .resend = action else { return [] }
        let places = try rows.compactMap { row in
            try row.optionalInt("notification_seq").map { seq in
                NotificationBodies.Place(lane: try row.value("lane"), seq: seq)
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

    // MARK: - Doing

    /// Sends the rows of a page again, or gives them up; in the transaction that writes down where the page ends. Each of them
    /// names the job then.
    ///
    /// - Parameters:
    ///   - now: ms since 1970; after the end of the selection, so that none is in it any more.
    package func apply(
        _ rows: [Row], job: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> BulkDone {
        var done = BulkDone()
        for row in rows { if let skip = row.skip { done.skip(skip) } }
        let wanted = rows.filter { $0.skip == nil }
        switch action {
        case .giveUp: try giveUp(wanted, job: job, now: now, &done, on: connection)
        case .resend: try resend(wanted, job: job, now: now, &done, on: connection)
        }
        return done
    }

    private func resend(
        _ rows: [Row], job: Int64, now: Int64, _ done: inout BulkDone, on connection: PostgresConnection
    ) throws {
        let groups = Dictionary(grouping: rows, by: \.endpoint).sorted { $0.key < $1.key }
        let endpoints = try EndpointTable.list(on: connection)
        let byID = Dictionary(endpoints.map { ($0.id, $0) }) { first, _ in first }
        // Lanes are locked before everything else, as their owners do.
        let ordered = groups.filter { byID[$0.key]?.ordering == .purchase }
        if !ordered.isEmpty { try Fence.lock(Set(ordered.flatMap { $0.value.map(\.id.lane) }), on: connection) }
        for (id, rows) in groups {
            guard let endpoint = byID[id], let locked = try EndpointTable.lock(id, on: connection) else {
                done.skip(.endpointRemoved, rows.count)
                continue
            }
            guard locked.disabledReason == nil else {
                done.skip(.endpointDisabled, rows.count)
                continue
            }
            // In another order since it was read: its lanes are not locked.
            guard locked.ordering == endpoint.ordering else {
                done.skip(.changed, rows.count)
                continue
            }
            let put = try DeliveryReplay.queue(
                known: rows.map { DeliveryReplay.Ended(id: $0.id, event: $0.event) }, in: [.dead, .delivered], new: [],
                to: locked, job: job, now: now, on: connection)
            done.queued += Int64(put.queued)
            done.skip(.notKept, put.gone)
            done.skip(.changed, rows.count - put.queued - put.gone)
        }
    }

    /// What another transaction holds is left as it is: workers settle many rows in an order of their own.
    private static let give = """
        WITH held AS MATERIALIZED (
            SELECT d.lane, d.id FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            JOIN entitled.delivery d ON d.lane = t.lane AND d.id = t.id AND d.state IN (\(DeliveryCode.open))
            ORDER BY d.lane, d.id FOR NO KEY UPDATE OF d SKIP LOCKED
        )
        UPDATE entitled.delivery d SET state = \(DeliveryCode.dead), reason = 'given up by an operator', next_ms = $3,
            job = $4
        FROM held WHERE d.lane = held.lane AND d.id = held.id AND d.state IN (\(DeliveryCode.open))
        RETURNING d.lane, d.endpoint, d.ordered_by
        """

    /// Also what is in flight: only an arrival counts then.
    private func giveUp(
        _ rows: [Row], job: Int64, now: Int64, _ done: inout BulkDone, on connection: PostgresConnection
    ) throws {
        guard !rows.isEmpty else { return }
        // What follows one in its order is freed: their lanes are held.
        let ids = rows.map(\.id)
        let ordered = try connection.query(
            """
            SELECT DISTINCT d.lane FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            JOIN entitled.delivery d ON d.lane = t.lane AND d.id = t.id WHERE d.ordered_by IS NOT NULL
            """, [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))]
        ).map { try $0.value("lane", as: Lane.self) }
        if !ordered.isEmpty { try Fence.lock(ordered, on: connection) }
        let ended = try connection.query(
            DeliveryBulk.give,
            [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes)), .int8(now), .int8(job)])
        let lines = Set(try ended.compactMap { try DeliveryOrder.Line($0) })
        _ = try DeliveryOrder.release(lines, now: now, on: connection)
        done.queued += Int64(ended.count)
        done.skip(.changed, rows.count - ended.count)
    }

    // MARK: - What became of them

    private static let outcome = """
        SELECT s.state, few.count FROM unnest($2::int2[]) AS s(state) CROSS JOIN LATERAL (
            SELECT count(*) FROM (
                SELECT FROM entitled.delivery WHERE job = $1 AND state = s.state LIMIT $3
            ) d
        ) few WHERE few.count > 0
        """

    /// How the deliveries stand that a job sent again or gave up last.
    ///
    /// - Parameter limit: so many of each state are counted at most.
    package static func outcome(
        ofJob job: Int64, upTo limit: Int64, on connection: PostgresConnection
    ) throws -> [DeliveryState: Int64] {
        var counts: [DeliveryState: Int64] = [:]
        let codes = DeliveryState.allCases.map(\.rawValue) + [DeliveryCode.blocked.rawValue]
        for row in try connection.query(outcome, [.int8(job), .int2s(codes), .int8(limit)]) {
            let code: DeliveryCode = try row.value("state")
            let state: DeliveryState = try code == .blocked ? .pending : row.value("state")
            counts[state] = try min(limit, counts[state, default: 0] + row.int("count"))
        }
        return counts
    }
}
