/// Money that came and went: named by transactions, so that no order of facts tells it twice.
extension EventDeriver.Step {
    /// Every transaction that was not known before, the oldest first, also one that was overtaken by a later one.
    func purchases() -> [EventDraft] {
        var hasBegun = before?.periods.contains(where: \.isFirst) ?? false
        return after.periods.filter { before?.period($0.id) == nil }.map { period in
            let cause = "purchase/\(period.id)"
            guard period.transaction.isRenewable else {
                return draft(.nonRenewingPurchase, cause: cause, of: period, payment: .received)
            }
            if period.isFirst, !hasBegun {
                hasBegun = true
                return draft(.initialPurchase, cause: cause, of: period, payment: .received)
            }
            return draft(
                .renewal, cause: cause, of: period, payment: .received,
                isTrialConversion: after.predecessor(of: period)?.type == .trial)
        }
    }

    /// A subscription's refund is told for its latest period only.
    func refunds() -> [EventDraft] {
        after.periods.filter { isToldWhenRefunded($0) && before?.period($0.id)?.revocation == nil }.compactMap {
            period in
            guard let revocation = period.revocation, revocation.kind == .refund else { return nil }
            return draft(
                .cancellation, cause: refundCause(period, revocation), of: period, expiration: revocation.date,
                payment: .returned, reason: .customerSupport)
        }
    }

    private func isToldWhenRefunded(_ period: Period) -> Bool {
        !period.transaction.isRenewable
            || (period.id == latest.id && !period.transaction.isUpgraded && !after.isLatestSuperseded)
    }

    /// The reversals of refunds that were told.
    func reversals() -> [EventDraft] {
        guard let before else { return [] }
        return before.periods.compactMap { old in
            guard let undone = old.revocation, undone.kind == .refund, wasToldWhenRefunded(old, undone, in: before),
                let period = after.period(old.id), period.revocation == nil
            else { return nil }
            return draft(.refundReversed, cause: refundCause(period, undone), of: period, payment: .received)
        }
    }

    private func wasToldWhenRefunded(
        _ period: Period, _ revocation: Period.Revocation, in purchase: Purchase
    ) -> Bool {
        guard period.transaction.isRenewable else { return true }
        guard period.id != purchase.latest.id else { return !purchase.isLatestSuperseded }
        guard !period.transaction.isUpgraded else { return false }
        return purchase.periods.allSatisfy { $0.number <= period.number || $0.firstSigned > revocation.signed }
    }

    private func refundCause(_ period: Period, _ revocation: Period.Revocation) -> String {
        "refund/\(period.id)/\(revocation.date)"
    }
}
