/// How a timeline is ordered.
package enum TimelineOrder: String, Sendable {
    /// By when something was signed, else done: what happened to the customer.
    case happened
    /// By when it came here: what this installation knew at each instant, and did about it.
    case heard
}

/// What happened to a customer's purchases, oldest first.
package struct Timeline: Sendable, Equatable {
    package let entries: [TimelineEntry]
    package let order: TimelineOrder

    /// Puts entries of several purchases, and of other kinds, in an order. Of one instant of signing the one that came first
    /// comes first; those that came at one instant, too, keep their order.
    package init(_ entries: [TimelineEntry], order: TimelineOrder = .happened) {
        func rank(_ item: (offset: Int, element: TimelineEntry)) -> (Int64, Int64, Int) {
            (item.element.date(in: order), item.element.instant, item.offset)
        }
        self.entries = entries.enumerated().sorted { rank($0) < rank($1) }.map(\.element)
        self.order = order
    }

    /// Without what happened, or was heard, before an instant.
    ///
    /// - Parameter instant: ms since 1970.
    package func since(_ instant: Int64) -> Timeline {
        Timeline(entries.filter { $0.date(in: order) >= instant }, order: order)
    }

    /// The newest, and how many there are before them.
    ///
    /// - Parameter skipped: how many of the newest are left out.
    package func newest(_ limit: Int, skipping skipped: Int = 0) -> (entries: ArraySlice<TimelineEntry>, earlier: Int) {
        let page = entries.dropLast(skipped).suffix(limit)
        return (page, page.startIndex)
    }

    /// The entries of one purchase.
    ///
    /// - Parameters:
    ///   - traces: the events that were really made, by id.
    package static func entries(
        of key: PurchaseKey, _ steps: [ReplayedStep], traces: [String: EventTrace]
    ) -> [TimelineEntry] {
        steps.enumerated().compactMap { place, step in
            entry(of: key, step, traces, isLast: place == steps.count - 1)
        }
    }

    private static func entry(
        of key: PurchaseKey, _ step: ReplayedStep, _ traces: [String: EventTrace], isLast: Bool
    ) -> TimelineEntry? {
        func event(_ draft: EventDraft) -> TimelineEntry.Event {
            let id = draft.id
            let trace = traces[id]
            return TimelineEntry.Event(
                id: id, type: draft.type.rawValue, reason: trace?.reason ?? draft.reason?.rawValue, trace: trace)
        }
        // An end that was not told did not happen: the worker knew of news that was waiting. The last one may still be.
        let ends = step.ends.filter { isLast || traces[$0.id] != nil }
        if case .time = step.cause, ends.isEmpty { return nil }
        var changes = step.changes
        if let after = step.after, let end = ends.first {
            changes = changes.filter { $0 != .nothing(.nothingNew) }
            changes.append(.ended(after.endCause, product: end.period.productID, at: end.expiration))
        }
        let kind: TimelineEntry.Kind
        var instant = step.instant
        switch step.cause {
        case .notification(let fact): kind = .notification(fact)
        case .observation: kind = .observation
        // The log of actions tells it, once for all purchases.
        case .action: return nil
        case .time:
            kind = .time
            // After an outage of ours an end is confirmed later.
            instant = ends.compactMap { traces[$0.id]?.made }.first ?? instant
        }
        return TimelineEntry(
            kind, at: instant, signed: step.signed, purchase: key, productID: step.productID,
            changes: changes, events: (step.drafts + ends).map(event))
    }
}
