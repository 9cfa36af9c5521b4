import Base
import Postgres
import Subscriptions

/// An event as operators see it.
package struct EventSummary: Sendable {
    package let lane: Lane
    /// An upper-case UUID: the `id` of the event, and the `webhook-id` of its deliveries.
    package let id: String
    package let type: String
    package let app: String
    package let environment: StoreEnvironment
    /// Nil for events about no purchase.
    package let originalTransactionID: String?
    /// ms since 1970.
    package let created: Int64
    /// Number among the events of its purchase, from 1; nil for events about no purchase.
    package let sequence: Int64?

    package var name: EventTraceQuery.EventName { EventTraceQuery.EventName(lane: lane, id: id) }
}

/// Reads events, for operators.
package enum EventQuery {
    /// Conditions that all must hold.
    package struct Filter: Sendable {
        package var type: String?
        package var app: String?
        package var environment: StoreEnvironment?
        /// The events of these purchases and these events alone.
        package var subject: Subject?

        package init() {}
    }

    /// Purchases by their original transaction ids, and events by their names.
    package struct Subject: Sendable {
        package var originalTransactionIDs: Set<String> = []
        package var names: Set<EventTraceQuery.EventName> = []

        /// The events about one purchase.
        package init(originalTransactionID: String) {
            originalTransactionIDs = [originalTransactionID]
        }

        /// The events about these purchases.
        package init(originalTransactionIDs: Set<String>) {
            self.originalTransactionIDs = originalTransactionIDs
        }

        /// The events about the purchases that these ids own, and about the transfers from and to them.
        ///
        /// - Parameter limit: purchases, and the newest actions, that are looked at; nil: all.
        package init(customer ids: [String], atMost limit: Int? = nil, on connection: PostgresConnection) throws {
            originalTransactionIDs = Set(
                try CustomerQuery.purchases(ofOwners: ids, atMost: limit, on: connection).map(\.originalTransactionID))
            for action in try ActionTable.entries(naming: ids, atMost: limit, on: connection) {
                for key in action.transfers {
                    names.insert(EventTraceQuery.EventName(lane: key.lane, id: action.event(about: key).id))
                }
            }
        }
    }

    private static let columns = """
        e.lane, e.id, e.type, e.app, e.environment, e.original_transaction_id, e.created_ms, e.sequence
        """

    private static let conditions = """
        ($1::text IS NULL OR e.type = $1) AND ($2::text IS NULL OR e.app = $2)
        AND ($3::int2 IS NULL OR e.environment = $3)
        AND e.created_ms >= $4 AND e.created_ms < $5
        AND ($6::int8 IS NULL OR (e.created_ms, e.lane, e.id) < ($6, $7::int2, $8::uuid))
        """

    private static let order = "ORDER BY e.created_ms DESC, e.lane DESC, e.id DESC LIMIT $9"

    private static let all = "SELECT \(columns) FROM entitled.event e WHERE \(conditions) \(order)"

    /// By the indexes on the purchase and by the primary key; an index serves one condition, thus the union.
    private static func named(_ purchases: String, _ lanes: String, _ ids: String) -> String {
        """
        SELECT \(columns) FROM unnest(\(purchases)::text[]) AS t(otid)
            JOIN entitled.event e ON hashtext(e.original_transaction_id) = hashtext(t.otid)
                AND e.original_transaction_id = t.otid AND e.sequence IS NOT NULL
            UNION
            SELECT \(columns) FROM unnest(\(purchases)::text[]) AS t(otid)
            JOIN entitled.event e ON hashtext(e.original_transaction_id) = hashtext(t.otid)
                AND e.original_transaction_id = t.otid AND e.sequence IS NULL
            UNION
            SELECT \(columns) FROM unnest(\(lanes)::int2[], \(ids)::uuid[]) AS t(lane, id)
            JOIN entitled.event e ON e.lane = t.lane AND e.id = t.id
        """
    }

    private static let ofSubject = """
        SELECT \(columns) FROM (\(named("$10", "$11", "$12"))) e WHERE \(conditions) \(order)
        """

    private static let oldestOfSubject = """
        SELECT \(columns) FROM (\(named("$6", "$7", "$8"))) e
        WHERE e.created_ms < $4 AND (e.created_ms, e.lane, e.id) > ($1::int8, $2::int2, $3::uuid)
        ORDER BY e.created_ms, e.lane, e.id LIMIT $5
        """

    /// The events of a subject, the oldest first.
    ///
    /// - Parameters:
    ///   - position: of the event that they begin behind; nil: the first.
    ///   - end: ms since 1970, exclusive.
    package static func oldest(
        of subject: Subject, after position: ListCursor?, before end: Int64, limit: Int,
        on connection: PostgresConnection
    ) throws -> [EventSummary] {
        let start = position ?? ListCursor(order: -1, lane: -1)
        return try connection.query(
            oldestOfSubject,
            [.int8(start.order), .int2(start.lane), .uuid(start.id), .int8(end), .int8(Int64(limit))]
                + parameters(of: subject)
        ).map(summary)
    }

    private static func parameters(of subject: Subject) -> [PostgresValue] {
        let names = subject.names.compactMap { name in UUIDText.bytes(name.id).map { (name.lane.number, $0) } }
        return [.texts(Array(subject.originalTransactionIDs)), .int2s(names.map(\.0)), .uuids(names.map(\.1))]
    }

    /// Lists events, the newest first.
    ///
    /// There is no index that orders events by time, only one that finds the blocks of a time. So the past is read in
    /// parts that grow, until the page is full.
    package static func list(
        _ filter: Filter, _ range: ListRange, now: Int64, on connection: PostgresConnection
    ) throws -> ListPage<EventSummary> {
        let least = max(0, range.since ?? 0)
        // Another host's clock may be ahead of this one's.
        var end = range.until ?? .max
        if let after = range.after { end = min(end, after.order == .max ? .max : after.order + 1) }
        if let subject = filter.subject {
            let found = try rows(filter, range, from: least, to: end, subject, range.limit + 1, on: connection)
            return page(found, range)
        }
        var scan = BackwardScan(from: least, to: end, now: now, part: range.after?.part, budget: range.budget)
        let found = try scan.collect(range.limit + 1, on: connection) { part, limit in
            try rows(filter, range, from: part.lowerBound, to: part.upperBound, nil, limit, on: connection)
        }
        return page(found, range, stop: scan.stop)
    }

    private static func page(
        _ found: [EventSummary], _ range: ListRange, stop: ScanStop? = nil
    ) -> ListPage<EventSummary> {
        // Before all rows of that instant, which were read.
        ListPage(found, limit: range.limit, stop: stop?.ending()) {
            ListCursor(order: $0.created, lane: $0.lane.number, id: UUIDText.bytes($0.id) ?? [])
        }
    }

    private static func rows(
        _ filter: Filter, _ range: ListRange, from start: Int64, to end: Int64, _ subject: Subject?, _ limit: Int,
        on connection: PostgresConnection
    ) throws -> [EventSummary] {
        let parameters: [PostgresValue] = [
            .text(filter.type), .text(filter.app), .int2(filter.environment?.code), .int8(start), .int8(end),
            .int8(range.after?.order), .int2(range.after?.lane), .uuid(range.after?.id), .int8(Int64(limit)),
        ]
        guard let subject else { return try connection.query(all, parameters).map(summary) }
        return try connection.query(ofSubject, parameters + self.parameters(of: subject)).map(summary)
    }

    /// All events of this id, in whichever lane: 256 looks into the primary key, where one scan would read the table.
    ///
    /// - Parameter id: 16 bytes.
    package static func find(_ id: [UInt8], on connection: PostgresConnection) throws -> [EventSummary] {
        try connection.query(
            """
            SELECT \(columns) FROM /* cluster: entitled.event e WHERE e.lane = ANY($1::int2[]) for: */
                unnest($1::int2[]) AS l(lane) JOIN entitled.event e ON e.lane = l.lane/* end */ AND e.id = $2
            """, [.int2s(Lane.all.map(\.number)), .uuid(id)]
        ).map(summary)
    }

    /// The event as consumers get it, JSON; empty where it is not kept any more.
    package static func body(of event: EventSummary, on connection: PostgresConnection) throws -> [UInt8] {
        let rows = try connection.query(
            "SELECT body FROM entitled.event WHERE lane = $1 AND id = $2",
            [.int2(event.lane.number), .uuid(UUIDText.bytes(event.id))])
        guard let stored = try rows.first?.bytes("body"), !stored.isEmpty else { return [] }
        return try EventBodyCodec.restore(stored)
    }

    private static func summary(_ row: PostgresRow) throws -> EventSummary {
        let environment: StoreEnvironment = try row.value("environment")
        return EventSummary(
            lane: try row.value("lane"), id: UUIDText.upper(try row.uuid("id")),
            type: try row.text("type"), app: try row.text("app"), environment: environment,
            originalTransactionID: try row.optionalText("original_transaction_id"), created: try row.int("created_ms"),
            sequence: try row.optionalInt("sequence"))
    }
}
