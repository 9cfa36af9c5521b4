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
    /// Apple's clock is not ours.
    private static let tolerance: Int64 = 60_000
    private static let mostFound = 200
    private static let budget = Duration.milliseconds(80)
    /// Events of one outage that are looked at.
    private static let mostEvents = 1_000
    /// How long events are counted that endpoints never had, and of how many endpoints.
    private static let countingBudget = Duration.milliseconds(600)
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
        // What was found of it later was found because an operator had it looked for again.
        let looked = try JobTable.lastEnd(of: .outageLook, String(number), on: connection)
        let end = max(row.until + DatabaseDesk.searchedFor, (looked ?? 0) + DatabaseDesk.tolerance)
        let time = row.from..<max(row.from + 1, min(end, try connection.serverTime()))
        var filter = NotificationQuery.Filter()
        filter.sources = NotificationSourceName.history.values
        let range = ListRange(
            since: time.lowerBound, until: time.upperBound, limit: DatabaseDesk.mostFound, budget: DatabaseDesk.budget)
        let page = try NotificationQuery.list(filter, range, on: connection)
        let signed = row.from - DatabaseDesk.tolerance..<row.until + DatabaseDesk.tolerance
        let found = page.rows.filter { $0.signed.map { signed.contains($0) } ?? false }
        let endpoints = try EndpointTable.list(on: connection)
        return OutageAnswer(
            row: row, found: found, lookedBackTo: page.lookedBackTo,
            isCut: page.next != nil && page.lookedBackTo == nil, time: time,
            events: viewer.may(.events) ? try events(about: found, in: time, endpoints) : (0, 0),
            withheld: viewer.may(.endpoints) ? try withheld(in: time, endpoints) : [])
    }

    /// Events that were made of what was found: those with a delivery, and those that an endpoint takes and never had.
    private func events(
        about found: [NotificationRow], in time: Range<Int64>, _ endpoints: [Endpoint]
    ) throws -> (sent: Int64, withheld: Int64) {
        let purchases = Set(found.compactMap(\.originalTransactionID))
        guard !purchases.isEmpty else { return (0, 0) }
        var filter = EventQuery.Filter()
        filter.subject = EventQuery.Subject(originalTransactionIDs: purchases)
        let events = try EventQuery.list(
            filter, ListRange(since: time.lowerBound, until: time.upperBound, limit: DatabaseDesk.mostEvents), now: now,
            on: connection
        ).rows
        var deliveries = DeliveryQuery.Filter()
        deliveries.events = Set(events.map(\.name))
        let known =
            events.isEmpty
            ? []
            : Set(
                try DeliveryQuery.list(deliveries, ListRange(limit: 10 * DatabaseDesk.mostEvents), on: connection).rows
                    .map(\.event))
        let sent = events.filter { known.contains($0.id) }
        let withheld = events.filter { event in
            !known.contains(event.id) && endpoints.contains { EventRepair.takes($0, event) }
        }
        return (Int64(sent.count), Int64(withheld.count))
    }

    /// What a replay of missing events would send to each endpoint.
    private func withheld(in time: Range<Int64>, _ endpoints: [Endpoint]) throws -> [OutageAnswer.Withheld] {
        let takers = endpoints.filter { $0.isEnabled && !$0.isOperations && $0.format == .revenuecat }
        let few = takers.prefix(DatabaseDesk.mostEndpoints)
        let deadline = ContinuousClock.now + DatabaseDesk.countingBudget
        let counted = try few.enumerated().compactMap { place, endpoint -> OutageAnswer.Withheld? in
            let replay = WebhookReplay(
                endpoint: endpoint.id, mode: .missing, since: time.lowerBound, until: time.upperBound, types: [])
            // Each gets its share of what is left.
            let share = (deadline - .now) / (few.count - place)
            guard let rows = try self.counted(replay, within: max(.zero, share)) else { return nil }
            return OutageAnswer.Withheld(endpoint: endpoint.id, count: rows.wouldQueue, isComplete: rows.isComplete)
        }
        return counted.filter { $0.count > 0 || !$0.isComplete }
    }
}
