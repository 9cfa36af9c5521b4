import Base
import Postgres

/// The notifications of a `BulkSelection`, the newest first.
package struct NotificationBulk {
    package struct Row: Sendable {
        package let identity: NotificationIdentity
        package let type: String
        package let place: LogPosition?
        /// Why it is left as it is; nil: it is applied again.
        package let skip: BulkSkip?
    }

    /// How long one page is looked for.
    private static let budget = Duration.seconds(1)
    private static let limit = 500

    private let selection: BulkSelection

    /// Nil where the selection is none of notifications.
    package init?(_ selection: BulkSelection) {
        switch selection.rows {
        case .notifications, .notificationIDs: self.selection = selection
        case .deliveries, .deliveryIDs, .events, .customers, .customerIDs: return nil
        }
    }

    /// - Parameter position: the end of the page before; empty: from the beginning.
    package func page(
        after position: [String], on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        switch selection.rows {
        case .notificationIDs(let ids):
            let start = min(ids.count, max(0, position.first.flatMap { Int($0) } ?? 0))
            let end = min(ids.count, start + NotificationBulk.limit)
            let rows = try ids[start..<end].map { try row($0, on: connection) }
            return BulkPage(
                rows: rows, end: [String(end)], isLast: end == ids.count,
                fraction: ids.isEmpty ? 1 : Double(end) / Double(ids.count))
        case .notifications(let filter): return try scan(filter, after: position, on: connection)
        case .deliveries, .deliveryIDs, .events, .customers, .customerIDs:
            return BulkPage(rows: [], end: [], isLast: true, fraction: 1)
        }
    }

    private func row(_ identity: NotificationIdentity, on connection: PostgresConnection) throws -> Row {
        let found = try NotificationQuery.find(
            uuid: identity.uuid, app: identity.app, environment: identity.environment, on: connection)
        guard let summary = found.whole.first?.summary else {
            return Row(identity: identity, type: "", place: nil, skip: found.dropped.isEmpty ? .changed : .notKept)
        }
        return NotificationBulk.read(summary)
    }

    private static func read(_ summary: NotificationSummary) -> Row {
        Row(
            identity: summary.identity, type: summary.type, place: summary.position,
            skip: summary.state == .pending ? .open : nil)
    }

    private func scan(
        _ filter: NotificationQuery.Filter, after position: [String], on connection: PostgresConnection
    ) throws -> BulkPage<Row> {
        var cursor: ListCursor?
        if position.count == 2, let seq = Int64(position[0]), let lane = Int16(position[1]) {
            cursor = ListCursor(order: seq, lane: lane)
        }
        let range = ListRange(
            since: selection.since, until: selection.until, after: cursor, limit: NotificationBulk.limit,
            budget: NotificationBulk.budget)
        let page = try NotificationQuery.list(filter, range, on: connection)
        let end = page.next.map { [String($0.order), String($0.lane)] } ?? position
        return BulkPage(
            rows: page.rows.map(NotificationBulk.read), end: end, isLast: page.next == nil,
            fraction: page.next.map { fraction(at: SequenceGenerator.instant(of: $0.order)) } ?? 1)
    }

    /// How far back the list is read; without a beginning it is not known how far that is.
    private func fraction(at instant: Int64) -> Double {
        guard let since = selection.since else { return 0 }
        return min(1, max(0, Double(selection.until - instant) / Double(max(1, selection.until - since))))
    }

    private static let waiting = "SELECT count(*) FROM (SELECT 1 FROM entitled.pending LIMIT $1) few"

    /// How many notifications wait to be applied, counting so many at most.
    package static func waiting(atMost limit: Int, on connection: PostgresConnection) throws -> Int {
        Int(clamping: try connection.query(waiting, [.int8(Int64(limit))]).one().int("count"))
    }

    /// Looking at the table keeps it whole until this commits: what is in line is not dropped.
    private static let queue = """
        WITH there AS MATERIALIZED (
            SELECT n.lane, n.seq FROM unnest($1::int2[], $2::int8[]) AS t(lane, seq)
            JOIN entitled.notification n ON n.lane = t.lane /* cluster: AND n.lane = ANY($1::int2[]) */ AND n.seq = t.seq
        ),
        freed AS (
            DELETE FROM entitled.held_notification h USING there
            WHERE h.lane = there.lane /* cluster: AND h.lane = ANY($1::int2[]) */ AND h.seq = there.seq
        )
        INSERT INTO entitled.pending (lane, seq) SELECT lane, seq FROM there ORDER BY lane, seq
        ON CONFLICT DO NOTHING RETURNING 1
        """

    /// Puts the rows of a page back in their line; in the transaction that writes down where the page ends.
    package func apply(_ rows: [Row], on connection: PostgresConnection) throws -> BulkDone {
        var done = BulkDone()
        for row in rows { if let skip = row.skip { done.skip(skip) } }
        let places = rows.filter { $0.skip == nil }.compactMap(\.place)
        let queued = try connection.laneGroups.split(places, by: \.lane).map { part in
            try connection.query(
                NotificationBulk.queue, [.int2s(part.elements.map(\.lane.number)), .int8s(part.elements.map(\.seq))]
            ).count
        }.reduce(0, +)
        done.queued = Int64(queued)
        done.skip(.changed, places.count - queued)
        return done
    }
}
