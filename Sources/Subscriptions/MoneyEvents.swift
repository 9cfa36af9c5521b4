/// Money that came and went: named by transactions, so that no order of facts tells it twice.
extension EventDeriver.Step {
    /// Every transaction that was not known before, the oldest first, also one that was overtaken by a later one.
    func purchases() -> [EventDraft] {
        var hasBegun = before?.periods.contains(where: \.isFirst) ?? false
        let known = Set(before?.periods.map(\.id) ?? [])
        let conversions = conversions(known)
        return after.periods.filter { !known.contains($0.id) }.map { period in
            let cause = "purchase/\(period.id)"
            guard period.transaction.isRenewable else {
                return draft(.nonRenewingPurchase, cause: cause, of: period, payment: .received)
            }
            let isStart = period.isFirst && !hasBegun
            hasBegun = hasBegun || isStart
            return draft(
                isStart ? .initialPurchase : .renewal, cause: cause, of: period, payment: .received,
                isTrialConversion: conversions.contains(period.id))
        }
    }

    /// The new periods by which it becomes known that a trial was paid on: the paid period, or, where that was told
    /// before, the trial. Each conversion is told once, whatever comes first.
    ///
    /// - Parameter known: ids of the periods that were told.
    private func conversions(_ known: Set<String>) -> Set<String> {
        let told = Set(before?.trialConversions.flatMap(\.trials) ?? [])
        return Set(
            after.trialConversions.filter { told.isDisjoint(with: $0.trials) }.compactMap { conversion in
                (conversion.trials + [conversion.paid]).last { !known.contains($0) }
            })
    }

    /// A subscription's refund is told for the period that was the latest when it was signed, also when it comes late.
    func refunds() -> [EventDraft] {
        after.periods.compactMap { period in
            guard let revocation = period.revocation, revocation.kind == .refund,
                before?.period(period.id)?.revocation?.kind != .refund, isTold(revocation, of: period, in: after)
            else { return nil }
            return draft(
                .cancellation, cause: refundCause(period, revocation), of: period, expiration: revocation.date,
                payment: .returned, reason: .customerSupport)
        }
    }

    /// A grant that was taken back; that access ended is told beside it.
    func revocations() -> [EventDraft] {
        after.periods.compactMap { period in
            guard let revocation = period.revocation, revocation.kind == .grant,
                before?.period(period.id)?.revocation == nil
            else { return nil }
            return draft(
                .cancellation, cause: "revocation/\(period.id)", of: period, expiration: revocation.date,
                reason: .developerInitiated)
        }
    }

    /// The reversals of refunds that were told.
    func reversals() -> [EventDraft] {
        guard let before else { return [] }
        return before.periods.compactMap { old in
            guard let undone = old.revocation, undone.kind == .refund, isTold(undone, of: old, in: before),
                let period = after.period(old.id), period.revocation == nil
            else { return nil }
            return draft(.refundReversed, cause: refundCause(period, undone), of: period, payment: .received)
        }
    }

    /// A family share that is given back while it still gives access; that it was lost was told as an end.
    func reinstatements() -> [EventDraft] {
        guard let old = before?.latest, let undone = old.revocation, undone.kind == .family, old.wasCutShort,
            let period = after.period(old.id), period.revocation == nil, after.hasAccess(at: now)
        else { return [] }
        return [draft(.refundReversed, cause: refundCause(period, undone), of: period)]
    }

    private func isTold(_ refund: Period.Revocation, of period: Period, in purchase: Purchase) -> Bool {
        guard period.transaction.isRenewable else { return true }
        guard !period.transaction.isUpgraded else { return false }
        guard period.id != purchase.latest.id else { return !purchase.isLatestSuperseded }
        return purchase.periods.allSatisfy { $0.number <= period.number || $0.begun > refund.signed }
    }

    private func refundCause(_ period: Period, _ revocation: Period.Revocation) -> String {
        "refund/\(period.id)/\(revocation.date)"
    }
}

extension Period {
    /// Since when it is known to have been there, in ms: Apple charges for a renewal up to a day ahead, and what is heard
    /// of late was there before it was heard of.
    fileprivate var begun: Int64 { Swift.min(firstSigned, transaction.purchaseDate) }
}
