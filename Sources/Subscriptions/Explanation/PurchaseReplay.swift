import Base

/// What came together about one purchase.
package struct PurchaseArrival: Sendable, Equatable {
    /// When it came, in ms since 1970.
    package let arrived: Int64
    /// Whether we fetched it from Apple's history; then it tells nothing about how late what Apple sends is.
    package let isFetched: Bool
    package let facts: PurchaseFacts
    package let cause: Cause

    package init(arrived: Int64, isFetched: Bool = false, facts: PurchaseFacts, cause: Cause) {
        self.arrived = arrived
        self.isFetched = isFetched
        self.facts = facts
        self.cause = cause
    }

    /// When it was signed, else when it came, in ms.
    fileprivate var happened: Int64 { facts.notifications.first?.signedDate ?? facts.newestSigned ?? arrived }

    fileprivate func lateness(in environment: StoreEnvironment) -> [Range<Int64>] {
        guard !isFetched else { return [] }
        return facts.notifications.compactMap {
            ExpiryConfirmation.lateness(signed: $0.signedDate, arrived: arrived, in: environment)
        }
    }
}

/// What one arrival, or the passing of time, did to a purchase.
package struct ReplayedStep: Sendable {
    /// When it happened, in ms: the arrival, or the instant from which on an end was confirmed.
    package let instant: Int64
    /// When the newest of what came was signed, in ms; nil where nothing came.
    package let signed: Int64?
    package let cause: Cause
    package let before: Purchase?
    package let after: Purchase?
    /// The product of the purchase after it.
    package fileprivate(set) var productID: String?
    package fileprivate(set) var changes: [PurchaseChange]
    /// What this step told for the first time, without ends.
    package let drafts: [EventDraft]
    /// That access ended, where this step was the first that could tell it.
    package let ends: [EventDraft]
}

/// Lives the life of one purchase again, arrival by arrival, as the worker did.
///
/// Events are named by their causes, so the drafts have the ids of what was really sent. Whether an end was told the
/// replay cannot know: the worker waits while news is waiting. Only the record of events can tell.
package struct PurchaseReplay: Sendable {
    private let key: PurchaseKey
    private let confirmation: ExpiryConfirmation
    private let foldSettings: FoldSettings

    /// - Parameters:
    ///   - confirmation: as the worker's.
    ///   - foldSettings: as the worker's.
    package init(of key: PurchaseKey, confirmation: ExpiryConfirmation, foldSettings: FoldSettings = FoldSettings()) {
        self.key = key
        self.foldSettings = foldSettings
        self.confirmation = confirmation
    }

    /// One step for each arrival, and one for each end that time alone made, in the order in which they happened here.
    ///
    /// What was told depends on the order of arrival, and is always that. What changed is told in the order that is asked for:
    /// of a notification that came late, by what had come until then, or by what Apple had signed until then.
    ///
    /// - Parameters:
    ///   - arrivals: in the order in which they came.
    ///   - now: ms; ends that are confirmed by then have happened.
    ///   - order: the order that changes are told in.
    package func steps(
        _ arrivals: [PurchaseArrival], until now: Int64, order: TimelineOrder = .heard
    ) -> [ReplayedStep] {
        var run = Run(confirmation: confirmation, environment: key.environment)
        var places: [Int] = []
        for arrival in arrivals {
            run.pass(until: arrival.arrived)
            places.append(run.steps.count)
            run.take(arrival) { Purchase(folding: $0, key: key, foldSettings: foldSettings) }
        }
        run.pass(until: now)
        if order == .happened { tellAsSigned(arrivals, &run.steps, at: places) }
        return run.steps
    }

    /// Lives the same life once more, in the order of signing, and puts what changed then into the steps of the arrivals.
    private func tellAsSigned(_ arrivals: [PurchaseArrival], _ steps: inout [ReplayedStep], at places: [Int]) {
        var facts = PurchaseFacts()
        var before: Purchase?
        let signed = zip(arrivals, places).enumerated().sorted {
            ($0.element.0.happened, $0.offset) < ($1.element.0.happened, $1.offset)
        }
        let all = arrivals.reduce(into: PurchaseFacts()) { $0.formUnion($1.facts) }
        for (arrival, place) in signed.map(\.element) {
            // What says the same is in the log with the first arrival that brought it.
            facts.formUnion(arrival.facts.signed(until: arrival.happened))
            facts.formUnion(all.signed(until: arrival.happened))
            let after = Purchase(folding: facts, key: key, foldSettings: foldSettings)
            steps[place].changes =
                PurchaseDifference(
                    before: before, after: after, isOlder: false, notification: arrival.facts.notifications.first
                ).changes
            steps[place].productID = after?.latest.productID
            before = after
        }
    }

    /// A replay under way.
    private struct Run {
        var deriver: EventDeriver
        let environment: StoreEnvironment
        var steps: [ReplayedStep] = []
        private var facts = PurchaseFacts()
        private var purchase: Purchase?
        private var told: Set<String> = []

        init(confirmation: ExpiryConfirmation, environment: StoreEnvironment) {
            self.environment = environment
            deriver = EventDeriver(confirmation: confirmation)
        }

        mutating func take(_ arrival: PurchaseArrival, fold: (PurchaseFacts) -> Purchase?) {
            deriver = EventDeriver(confirmation: deriver.confirmation.knowing(late: arrival.lateness(in: environment)))
            let known = facts
            facts.formUnion(arrival.facts)
            let (before, after) = (purchase, fold(facts))
            purchase = after
            var (drafts, ends): ([EventDraft], [EventDraft]) = ([], [])
            if let after {
                drafts = news(
                    deriver.changes(before: before, after: after, cause: arrival.cause, now: arrival.arrived))
                ends = news(deriver.ends(before: before, after: after, now: arrival.arrived))
            }
            let difference = PurchaseDifference(
                before: before, after: after,
                isOlder: (arrival.facts.newestSigned ?? .max) < (known.newestSigned ?? .min),
                notification: arrival.facts.notifications.first)
            steps.append(
                ReplayedStep(
                    instant: arrival.arrived, signed: arrival.facts.newestSigned, cause: arrival.cause, before: before,
                    after: after, productID: after?.latest.productID, changes: difference.changes, drafts: drafts,
                    ends: ends))
        }

        /// The end that was not announced, if it is confirmed by then.
        mutating func pass(until now: Int64) {
            guard let purchase, let confirmed = purchase.ending?.confirmed(deriver.confirmation), confirmed <= now
            else { return }
            let ends = news(deriver.ends(before: purchase, after: purchase, now: confirmed))
            guard !ends.isEmpty else { return }
            steps.append(
                ReplayedStep(
                    instant: confirmed, signed: nil, cause: .time, before: purchase, after: purchase,
                    productID: purchase.latest.productID, changes: [], drafts: [], ends: ends))
        }

        private mutating func news(_ drafts: [EventDraft]) -> [EventDraft] {
            drafts.filter { draft in
                guard !draft.isRepetition(told: { told.contains(Run.name($0, $1)) }) else { return false }
                return told.insert(Run.name(draft.type, draft.cause)).inserted
            }
        }

        private static func name(_ type: EventType, _ cause: String) -> String { "\(type.rawValue)|\(cause)" }
    }
}

extension PurchaseFacts {
    /// When the newest fact was signed, in ms.
    package var newestSigned: Int64? {
        let signings = [
            transactions.map(\.signedDate).max(), renewals.map(\.signedDate).max(),
            notifications.map(\.signedDate).max(),
        ]
        return signings.compactMap(\.self).max()
    }
}
