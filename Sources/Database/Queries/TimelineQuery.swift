import Base
import Postgres
import Subscriptions

/// Reads what happened to a customer and their purchases: what came in or was done, what it changed, what was sent.
package enum TimelineQuery {
    /// - Parameters:
    ///   - keys: the purchases.
    ///   - appUserIDs: the ids of the customer, for what was done with them.
    ///   - patience: as the worker's, in ms.
    ///   - foldSettings: as the worker's.
    ///   - now: ms.
    ///   - limit: the newest actions that are told; nil: all.
    ///   - order: how entries are ordered, and by what was known when their changes are told.
    package static func timeline(
        of keys: [PurchaseKey], appUserIDs: [String], patience: Int64, foldSettings: FoldSettings, now: Int64,
        order: TimelineOrder = .happened, actions limit: Int? = nil, on connection: PostgresConnection
    ) throws -> Timeline {
        let confirmationRule = try ExpiryConfirmationRule.read(patience: patience, now: now, on: connection)
        let arrivals = try ArrivalQuery.arrivals(of: keys, on: connection)
        let replays = zip(keys, arrivals).map { key, arrivals in
            (
                key: key,
                steps: PurchaseReplay(
                    of: key, confirmation: confirmationRule.confirmation(of: key), foldSettings: foldSettings
                ).steps(
                    arrivals, until: now, order: order)
            )
        }
        let drafts = replays.flatMap(\.steps).flatMap { $0.drafts + $0.ends }
        let names = drafts.map {
            EventTraceQuery.EventName(lane: $0.purchase.lane, id: $0.id)
        }
        let actions = try ActionTable.entries(naming: appUserIDs, atMost: limit, on: connection)
        let told = Dictionary(grouping: replays.flatMap(\.steps), by: \.action).mapValues { steps in
            steps.flatMap { $0.drafts + $0.ends }
        }
        let transfers = actions.flatMap { action in action.transfers.map { (action: action, key: $0) } }
        let traces = try EventTraceQuery.traces(
            of: names
                + transfers.map {
                    EventTraceQuery.EventName(lane: $0.key.lane, id: $0.action.event(about: $0.key).id)
                }, on: connection)
        return Timeline(
            replays.flatMap { Timeline.entries(of: $0.key, $0.steps, traces: traces) }
                + actions.map { entry($0, told[$0.number] ?? [], traces) }, order: order)
    }

    /// - Parameter drafts: what was told of the purchases that it made or changed.
    private static func entry(
        _ action: ActionTable.Entry, _ drafts: [EventDraft], _ traces: [String: EventTrace]
    ) -> TimelineEntry {
        let transfers = action.transfers.map { action.event(about: $0).id }
        let events =
            transfers.map { (id: $0, type: EventType.transfer, reason: String?.none) }
            + drafts.map { (id: $0.id, type: $0.type, reason: $0.reason?.rawValue) }
        return TimelineEntry(
            .action(action.sentence), at: action.at,
            events: events.map { id, type, reason in
                TimelineEntry.Event(id: id, type: type.rawValue, reason: reason, trace: traces[id])
            })
    }
}

extension ReplayedStep {
    /// The number of the action that made it; nil for what else came.
    fileprivate var action: Int64? {
        if case .action(let number) = cause { number } else { nil }
    }
}
