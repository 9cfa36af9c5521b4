import Base
import Customers
import Database
import Duties
import Postgres
import Subscriptions

/// One outage: what Apple's history had of its time, and what became of that.
extension DatabaseDesk {
    /// How long after an outage Apple's history is looked for what it had of it.
    package static let searchedFor: Int64 = 3 * 86_400_000
    /// What a job brings may bear a time a little before or after it; ms.
    private static let tolerance: Int64 = 60_000
    private static let mostFound = 200
    private static let budget = Duration.milliseconds(80)
    /// Events of one outage that are looked at, and their deliveries.
    private static let (mostEvents, mostDeliveries) = (1_000, 20_000)
    /// Endpoints of which it is said what they lack.
    private static let mostEndpoints = 20

    /// - Parameter number: the minute since 1970 in which it began.
    func outageRow(_ number: Int64) throws -> OutageRow {
        guard let row = try outages().items.first(where: { $0.number == number }) else {
            throw DeskError.notFound("No outage of the last 45 days has the number \(number).")
        }
        return row
    }

    /// - Parameter number: the minute since 1970 in which it began.
    package func outage(_ number: Int64) throws -> OutageAnswer {
        let row = try outageRow(number)
        let now = try connection.serverTime()
        let found = try found(row, now)
        // An endpoint that was added later was not there to miss anything.
        let takers =
            viewer.may(.events) || viewer.may(.endpoints)
            ? try EndpointTable.list(on: connection).filter {
                $0.isEnabled && !$0.isOperations && $0.format == .revenuecat && $0.created < row.until
            } : []
        let events = try events(about: found, from: row.from, to: max(row.from + 1, now), takers)
        let few = viewer.may(.endpoints) ? takers.prefix(DatabaseDesk.mostEndpoints) : []
        return OutageAnswer(
            row: row, found: found.rows, lookedBackTo: found.lookedBackTo, isCut: found.isCut,
            events: viewer.may(.events) ? (events.sent, Int64(events.withheld)) : (0, 0),
            lacking: few.compactMap { endpoint in
                let count = Int64(events.lacking[endpoint.id, default: 0])
                return count == 0 && events.isComplete
                    ? nil
                    : OutageAnswer.Lack(endpoint: endpoint.id, events: count, isComplete: events.isComplete)
            },
            uncountedEndpoints: viewer.may(.endpoints) ? takers.count - few.count : 0)
    }

    /// What was found of an outage.
    private struct Found {
        var rows: [NotificationRow] = []
        /// Up to when it was searched back where that is not all.
        var lookedBackTo: Int64?
        var isCut = false

        var isComplete: Bool { lookedBackTo == nil && !isCut }
    }

    /// Within days after it, and when operators had it looked for again.
    private func found(_ row: OutageRow, _ now: Int64) throws -> Found {
        let looks = try JobTable.times(of: .outageLook, String(row.number), on: connection)
        let spans =
            [row.from..<max(row.from + 1, min(row.until + DatabaseDesk.searchedFor, now))]
            + looks.map { $0.lowerBound - DatabaseDesk.tolerance..<$0.upperBound + DatabaseDesk.tolerance }
        let signed = HistoryReplay.time(of: row.from..<row.until)
        var filter = NotificationQuery.Filter()
        filter.sources = NotificationSourceName.history.values
        var found = Found()
        for span in DatabaseDesk.joined(spans).reversed() {
            let range = ListRange(
                since: span.lowerBound, until: span.upperBound, limit: DatabaseDesk.mostFound,
                budget: DatabaseDesk.budget)
            let page = try NotificationQuery.list(filter, range, on: connection)
            found.rows += page.rows.filter { $0.signed.map { signed.contains($0) } ?? false }
            if let instant = page.lookedBackTo { found.lookedBackTo = max(instant, found.lookedBackTo ?? 0) }
            found.isCut = found.isCut || page.next != nil && page.lookedBackTo == nil
        }
        if found.rows.count > DatabaseDesk.mostFound {
            (found.rows, found.isCut) = (Array(found.rows.prefix(DatabaseDesk.mostFound)), true)
        }
        return found
    }

    /// The same without overlaps, the earliest first.
    private static func joined(_ spans: [Range<Int64>]) -> [Range<Int64>] {
        spans.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, span in
            guard let last = joined.last, span.lowerBound <= last.upperBound else { return joined.append(span) }
            joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, span.upperBound)
        }
    }

    /// Events about the purchases of what was found.
    private struct Made {
        /// With a delivery to any endpoint.
        var sent: Int64 = 0
        /// Without any, although an endpoint takes them.
        var withheld = 0
        /// Those that an endpoint takes and never had, by endpoint.
        var lacking: [String: Int] = [:]
        var isComplete = true
    }

    private func events(
        about found: Found, from: Int64, to end: Int64, _ takers: [Endpoint]
    ) throws -> Made {
        var made = Made(isComplete: found.isComplete)
        let purchases = Set(found.rows.compactMap(\.originalTransactionID))
        guard !purchases.isEmpty, viewer.may(.events) || viewer.may(.endpoints) else { return made }
        var filter = EventQuery.Filter()
        filter.subject = EventQuery.Subject(originalTransactionIDs: purchases)
        let page = try EventQuery.list(
            filter, ListRange(since: from, until: end, limit: DatabaseDesk.mostEvents), now: now, on: connection)
        if page.next != nil { made.isComplete = false }
        guard !page.rows.isEmpty else { return made }
        var deliveries = DeliveryQuery.Filter()
        deliveries.events = Set(page.rows.map(\.name))
        let known = try DeliveryQuery.list(
            deliveries, ListRange(limit: DatabaseDesk.mostDeliveries), on: connection)
        if known.next != nil { made.isComplete = false }
        let endpoints = Dictionary(grouping: known.rows, by: \.event).mapValues { Set($0.map(\.endpoint)) }
        let replayable = try EventRepair.replayable(page.rows, on: connection)
        for event in page.rows {
            let got = endpoints[event.id] ?? []
            if !got.isEmpty { made.sent += 1 }
            guard replayable.contains(event.id) else { continue }
            let lacking = takers.filter { EventRepair.takes($0, event) && !got.contains($0.id) }
            if got.isEmpty, !lacking.isEmpty { made.withheld += 1 }
            for endpoint in lacking { made.lacking[endpoint.id, default: 0] += 1 }
        }
        return made
    }
}
