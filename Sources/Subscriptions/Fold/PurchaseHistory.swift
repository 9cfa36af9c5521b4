/// What was asked, decided and moved over the life of one purchase: what its state no longer shows.
///
/// A pure function of the whole set of its facts, like `Purchase`.
package struct PurchaseHistory: Sendable, Equatable {
    /// Refunds and what Apple answered about them, oldest first.
    package let refundDecisions: [RefundDecision]
    /// Oldest first.
    package let consumptionRequests: [ConsumptionRequest]
    /// Oldest first.
    package let priceConsents: [PriceConsent]
    /// Oldest first.
    package let extensions: [PeriodExtension]

    package init(of facts: PurchaseFacts) {
        let notifications = facts.notifications.told
        let versions = Dictionary(grouping: facts.transactions) { $0.transactionID }
            .mapValues { $0.inOrderOfSigning() }
        let ids = Set(versions.keys).union(notifications.compactMap(\.transactionID)).sorted()
        let about = Dictionary(grouping: notifications.filter { $0.transactionID != nil }, by: \.transactionID)
        let decisions = ids.flatMap { RefundDecision.decisions($0, versions[$0] ?? [], about[$0] ?? []) }
        refundDecisions = decisions.sorted { ($0.signed, $0.transactionID) < ($1.signed, $1.transactionID) }
        consumptionRequests =
            ids.flatMap { id in
                ConsumptionRequest.requests(id, about[id] ?? [], decisions.filter { $0.transactionID == id })
            }
            .sorted { ($0.first, $0.transactionID) < ($1.first, $1.transactionID) }
        priceConsents = PriceConsent.consents(facts.renewals.inOrderOfSigning(), notifications)
        extensions = ids.flatMap { PeriodExtension.extensions(versions[$0] ?? []) }
            .sorted { ($0.signed, $0.transactionID) < ($1.signed, $1.transactionID) }
    }
}

extension PurchaseHistory {
    /// The next instant, in ms, until which Apple takes consumption information for a request that is not decided;
    /// nil: none waits.
    package func openConsumptionDeadline(after now: Int64) -> Int64? {
        consumptionRequests.filter { $0.isOpen(at: now) }.map(\.deadline).min()
    }
}

extension PurchaseFacts {
    /// Whether Apple ever asked how it was used: few purchases have a history worth deriving for this alone.
    package var hasConsumptionRequests: Bool {
        notifications.contains { $0.type == "CONSUMPTION_REQUEST" }
    }

    /// The next instant, in ms, at which time alone changes what is to be told or shown of the purchase that these are
    /// the facts of; nil: none, or all are past.
    package func nextWake(of purchase: Purchase, after now: Int64, confirmation: ExpiryConfirmation) -> Int64? {
        let deadline =
            hasConsumptionRequests ? PurchaseHistory(of: self).openConsumptionDeadline(after: now) : nil
        return [purchase.nextWake(after: now, confirmation: confirmation), deadline].compactMap { $0 }.min()
    }
}

extension NotificationFacts {
    /// Each notification once, oldest first: one that was kept in two forms says what either of them does.
    fileprivate var told: [NotificationFact] {
        let ordered = sorted { left, right in
            if left.signedDate != right.signedDate { return left.signedDate < right.signedDate }
            if left.uuid != right.uuid { return left.uuid < right.uuid }
            return left.tie.lexicographicallyPrecedes(right.tie)
        }
        return ordered.reduce(into: []) { told, fact in
            guard var last = told.last, last.uuid == fact.uuid else { return told.append(fact) }
            last.transactionID = last.transactionID ?? fact.transactionID
            last.consumptionRequestReason = last.consumptionRequestReason ?? fact.consumptionRequestReason
            told.removeLast()
            told.append(last)
        }
    }
}
