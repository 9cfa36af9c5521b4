import Base
import Postgres

/// Pages of deliveries that a selection names, or whose events it names. Each has a position of its own form.
extension DeliveryBulk {
    /// What is named and not found has changed since.
    func pageOfNamed(
        _ ids: [DeliveryID], after position: [String], _ limit: Int, _ endpoints: Endpoints,
        on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let start = min(ids.count, max(0, position.first.flatMap { Int($0) } ?? 0))
        let end = min(ids.count, start + limit)
        let part = Array(ids[start..<end])
        let found = try rows(part, endpoints, on: connection)
        let known = Set(found.map(\.id))
        let missing = part.filter { !known.contains($0) }.map {
            Row(id: $0, endpoint: "", type: "", created: 0, event: nil, skip: .changed)
        }
        return BulkPage(
            rows: found + missing, end: [String(end)], isLast: end == ids.count,
            fraction: ids.isEmpty ? 1 : Double(end) / Double(ids.count))
    }

    func subject(_ customer: String, on connection: PostgresConnection) throws -> EventQuery.Subject {
        let ids = try CustomerTable.load([customer], on: connection)[customer]?.appUserIDs ?? [customer]
        return try EventQuery.Subject(customer: ids, on: connection)
    }

    /// Of the events behind a position: it holds although that event is gone, and what was read is not read again.
    func pageOfCustomer(
        _ customer: String, after position: [String], _ limit: Int, _ endpoints: Endpoints,
        on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let start = Position(words: position)
        let count = endpoints.events(for: limit)
        // A delivery is never older than its event.
        let found = try EventQuery.oldest(
            of: subject(customer, on: connection),
            after: start.map { ListCursor(order: $0.time, lane: $0.lane, id: $0.id) }, before: selection.until,
            limit: count + 1, on: connection)
        let part = found.prefix(count)
        guard let first = part.first, let last = part.last else {
            return BulkPage(rows: [], end: position, isLast: true, fraction: 1)
        }
        let ids = part.flatMap { endpoints.deliveries(of: $0.id, in: $0.lane) }
        let end = Position(
            from: start?.from ?? first.created, time: last.created, lane: last.lane.number,
            id: UUIDText.bytes(last.id) ?? [])
        let isLast = found.count == part.count
        return BulkPage(
            rows: try rows(ids, endpoints, on: connection), end: end.words, isLast: isLast,
            fraction: isLast ? 1 : end.fraction(until: selection.until))
    }

    /// By the primary keys of deliveries, which follow from event and endpoint.
    func pageOfEvents(
        _ names: [EventTraceQuery.EventName], after position: [String], _ limit: Int, _ endpoints: Endpoints,
        on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        let last = position.first
        let start = last.flatMap { last in names.firstIndex { $0.id == last } }.map { $0 + 1 } ?? 0
        let count = endpoints.events(for: limit)
        let part = names.dropFirst(start).prefix(count)
        let ids = part.flatMap { endpoints.deliveries(of: $0.id, in: $0.lane) }
        let end = start + part.count
        return BulkPage(
            rows: try rows(ids, endpoints, on: connection), end: part.last.map { [$0.id] } ?? position,
            isLast: end >= names.count, fraction: names.isEmpty ? 1 : Double(end) / Double(names.count))
    }

    /// The newest events first, as their list has them: where a consumer gets those of a purchase in order, their numbers
    /// decide (`DeliveryOrder`).
    func pageOfEventList(
        _ events: EventQuery.Filter, after position: [String], _ limit: Int, _ endpoints: Endpoints,
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
                limit: endpoints.events(for: limit), budget: DeliveryBulk.budget),
            now: selection.until, on: connection)
        let ids = page.rows.flatMap { endpoints.deliveries(of: $0.id, in: $0.lane) }
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
}
