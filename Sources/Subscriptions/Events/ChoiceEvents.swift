/// What the customer, the seller or the bank did with a subscription that goes on.
extension EventDeriver.Step {
    /// Named by the notification: a choice can be made many times.
    private func named(_ kind: String) -> String? {
        cause.id.map { "\(kind)/\($0)" }
    }

    /// An upgrade at once, or another product from the next renewal on. Taking the latter back is not told.
    func productChanges() -> [EventDraft] {
        var drafts: [EventDraft] = []
        if let old = before?.latest, isUpgrade(from: old) {
            drafts.append(
                draft(
                    .productChange, cause: "upgrade/\(old.id)/\(latest.id)", of: after.period(old.id) ?? old,
                    newProductID: latest.productID))
        }
        if let pending = after.pendingProductID, pending != before?.announcedProductID, let cause = named("pending") {
            drafts.append(draft(.productChange, cause: cause, newProductID: pending))
        }
        return drafts
    }

    private func isUpgrade(from old: Period) -> Bool {
        guard former[latest.id] == nil, old.productID != latest.productID, latest.transaction.isRenewable,
            latest.transaction.reason != "RENEWAL"
        else { return false }
        if after.period(old.id)?.transaction.isUpgraded == true { return true }
        guard latest.transaction.purchaseDate >= old.transaction.purchaseDate else { return false }
        let end = before?.accessUntil ?? .max
        return old.revocation == nil && latest.transaction.purchaseDate < end
    }

    /// The end of the running period was moved to later. From one past instant to another it gives no access.
    func extensions() -> [EventDraft] {
        guard hasSameLatest, latest.revocation == nil, let expires = latest.transaction.expiresDate,
            let old = before?.latest.transaction.expiresDate, old < expires, expires > now || old > now
        else { return [] }
        return [draft(.subscriptionExtended, cause: extensionCause(latest, expires))]
    }

    private func extensionCause(_ period: Period, _ end: Int64) -> String { "extension/\(period.id)/\(end)" }

    private func endCause(_ period: Period, _ name: String) -> String { "end/\(period.id)/\(name)" }

    /// What must have been told for the end of an extended period to be told: that it was extended, or no end before.
    private func sequel(_ ending: AccessEnd) -> EventDraft.Sequel? {
        guard !ending.period.formerEnds.isEmpty, let expires = ending.period.transaction.expiresDate else { return nil }
        return EventDraft.Sequel(
            ends: ending.period.formerEnds.map { endCause(ending.period, String($0)) },
            extensions: [extensionCause(ending.period, expires)])
    }

    /// On again before the end; a new period says so itself, also one that an app posted before its renewal info came.
    func uncancellations() -> [EventDraft] {
        guard hasSameLatest, before?.cancelledSince != nil, before?.renewalSigned != nil,
            after.cancelledSince == nil,
            before?.billingFailure == nil, after.billingFailure == nil, isSignedInTime, let cause = named("switch")
        else { return [] }
        return [draft(.uncancellation, cause: cause)]
    }

    /// Off by choice. A choice that was not signed before counts as on, and so does what was bought anew; an expiry that
    /// switches off is no choice.
    func cancellations() -> [EventDraft] {
        let isBoughtAnew = !hasSameLatest && latest.transaction.reason == "PURCHASE"
        guard before?.cancelledSince == nil || isBoughtAnew, after.cancelledSince != nil,
            after.billingFailure == nil, isSignedInTime, !isExpiry, let cause = named("switch")
        else { return [] }
        return [draft(.cancellation, cause: cause, reason: .unsubscribe)]
    }

    /// A higher price that was not consented to, where no cancellation was told before: once for the period it ended.
    func refusals(_ confirmation: ExpiryConfirmation) -> [EventDraft] {
        guard after.expirationIntent == Self.priceRefused, after.billingFailure == nil, latest.revocation == nil else {
            return []
        }
        if hasSameLatest, let before {
            let isTold = before.cancelledSince != nil || before.billingFailure != nil
            let isOver = before.ending.map { $0.confirmed(confirmation) <= now } ?? false
            guard before.expirationIntent != Self.priceRefused, !isTold, !isOver else { return [] }
        }
        return [draft(.cancellation, cause: "refusal/\(latest.id)", reason: .priceIncrease)]
    }

    /// `expirationIntent`: no consent to a price increase.
    private static let priceRefused = 3

    private var isExpiry: Bool {
        if case .notification(let fact) = cause { fact.type == "EXPIRED" } else { false }
    }

    /// One for each failure to charge, and none for one that was over when it was heard of. Grace that is heard of when
    /// access had ended without it is told, though its failure was.
    func billingIssues() -> [EventDraft] {
        guard let failure = after.billingFailure, failure.isRetrying, latest.revocation == nil,
            let cause = named("billing")
        else { return [] }
        let issue = draft(.billingIssue, cause: cause, graceUntil: failure.graceGranted)
        if hasSameLatest, let before, before.billingFailure != nil {
            let isNews = before.latest.revocation == nil && !before.hasAccess(at: now) && after.hasAccess(at: now)
            return isNews ? [issue] : []
        }
        return [issue, draft(.cancellation, cause: cause, reason: .billingError)]
    }

    /// Consent that was asked for; without a question an answer is mere information.
    func priceConsents() -> [EventDraft] {
        guard isSignedInTime, let cause = named("consent") else { return [] }
        let goesOn = hasSameLatest || latest.transaction.reason == "RENEWAL"
        let old = goesOn ? before?.priceIncreaseStatus : nil
        switch (old, after.priceIncreaseStatus) {
        case (0, 1): return [draft(.priceIncreaseConsentApproved, cause: cause)]
        case (0, 0): return []
        case (_, 0): return [draft(.priceIncreaseConsentRequired, cause: cause)]
        default: return []
        }
    }

    /// The end of access, once it is confirmed. Drafted again on each look until a new period comes.
    func expirations(_ confirmation: ExpiryConfirmation) -> [EventDraft] {
        guard let ending = after.ending else { return [] }
        // An end that had passed before these facts came has passed, and had a reason that they may not know any more.
        let passed = before?.ending.flatMap {
            $0.isSame(as: ending) && $0.confirmed(confirmation) <= now ? $0 : nil
        }
        guard passed != nil || ending.confirmed(confirmation) <= now else { return [] }
        let reason = ending.reason == .unknown ? passed?.reason ?? .unknown : ending.reason
        var draft = draft(
            .expiration, cause: endCause(ending.period, ending.name), of: ending.period,
            expiration: ending.period.accessUntil, reason: reason)
        draft.sequel = sequel(ending)
        return [draft]
    }
}
