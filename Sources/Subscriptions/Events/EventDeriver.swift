/// What made us look at a purchase.
package enum Cause: Sendable, Equatable {
    case notification(NotificationFact)
    /// A transaction that came without a notification (an app posted it), by an id of its own.
    case observation(id: String)
    /// An action with this number of the log: it has events of its own.
    case action(Int64)
    /// Nothing new: time has passed.
    case time

    /// Names the events that have no name of their own in what was signed.
    var id: String? {
        switch self {
        case .notification(let fact): fact.uuid
        // A transaction alone says nothing of choices: they are told when the renewal info comes.
        case .observation, .action, .time: nil
        }
    }
}

/// Derives events from the difference between two states of one purchase.
///
/// Money is told once per transaction, a choice of the customer once per notification, an end once per signed end.
/// Telling again is harmless: the drafts have the same causes, and so the same ids.
package struct EventDeriver: Sendable {
    /// When the end of a subscription that should renew is confirmed.
    package let confirmation: ExpiryConfirmation

    package init(confirmation: ExpiryConfirmation = ExpiryConfirmation()) {
        self.confirmation = confirmation
    }

    /// Drafts in the order in which they are to be told.
    ///
    /// - Parameter now: ms; the events' timestamp, and the instant by which ends count as past.
    package func events(before: Purchase?, after: Purchase, cause: Cause, now: Int64) -> [EventDraft] {
        changes(before: before, after: after, cause: cause, now: now) + ends(before: before, after: after, now: now)
    }

    /// What the facts say happened; not that access ended, because news that still waits may say that it goes on.
    package func changes(before: Purchase?, after: Purchase, cause: Cause, now: Int64) -> [EventDraft] {
        let step = Step(before: before, after: after, cause: cause, now: now)
        let refunds = step.refunds()
        return step.productChanges() + step.reversals() + refunds.ofOvertaken + step.purchases() + step.reinstatements()
            + step.extensions() + step.uncancellations() + step.priceConsents() + step.billingIssues()
            + step.cancellations() + step.refusals(confirmation) + refunds.others + step.revocations()
    }

    /// That access ended, if it did by now; for when nothing is waiting that could say otherwise.
    package func ends(before: Purchase?, after: Purchase, now: Int64) -> [EventDraft] {
        Step(before: before, after: after, cause: .time, now: now).expirations(confirmation)
    }

    /// One step from state to state.
    struct Step {
        let before: Purchase?
        let after: Purchase
        let cause: Cause
        let now: Int64
        /// The periods of the state before, by their ids.
        let former: [String: Period]

        init(before: Purchase?, after: Purchase, cause: Cause, now: Int64) {
            (self.before, self.after, self.cause, self.now) = (before, after, cause, now)
            former = Dictionary((before?.periods ?? []).map { ($0.id, $0) }) { first, _ in first }
        }

        var latest: Period { after.latest }
        var hasSameLatest: Bool { before?.latest.id == latest.id }

        /// Whether the newest renewal info was signed while the latest period gave access.
        var isSignedInTime: Bool {
            guard latest.revocation == nil, let signed = after.renewalSigned else { return false }
            return after.accessUntil.map { signed < $0 } ?? true
        }

        func draft(
            _ type: EventType, cause: String, of period: Period? = nil, expiration: Int64?? = nil,
            payment: EventDraft.Payment = .none, reason: EventReason? = nil, newProductID: String? = nil,
            graceUntil: Int64? = nil, isTrialConversion: Bool = false
        ) -> EventDraft {
            EventDraft(
                type, cause: cause, of: period ?? latest, in: after.key, at: now, expiration: expiration,
                payment: payment, reason: reason, newProductID: newProductID, graceUntil: graceUntil,
                isTrialConversion: isTrialConversion)
        }
    }
}
