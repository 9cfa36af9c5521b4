/// Money that came and went: named by transactions, so that no order of facts tells it twice.
extension EventDeriver.Step {
    /// Every transaction that was not known before, the oldest first, also one that was overtaken by a later one.
    func purchases() -> [EventDraft] {
        var hasBegun = before?.periods.contains(where: \.isFirst) ?? false
        let conversions = conversions()
        return after.periods.filter { former[$0.id] == nil }.map { period in
            let cause = "purchase/\(period.id)"
            guard period.transaction.isRenewable else {
                return draft(.nonRenewingPurchase, cause: cause, of: period, payment: .received(period.charge))
            }
            let isStart = period.isFirst && !hasBegun
            hasBegun = hasBegun || isStart
            return draft(
                isStart ? .initialPurchase : .renewal, cause: cause, of: period, payment: .received(period.charge),
                isTrialConversion: conversions.contains(period.id))
        }
    }

    /// The new periods by which it becomes known that a trial was paid on: the paid period, or, where that was told
    /// before, the trial. Each conversion is told once, whatever comes first.
    private func conversions() -> Set<String> {
        let told = Set(before?.trialConversions.flatMap(\.trials) ?? [])
        return Set(
            after.trialConversions.filter { told.isDisjoint(with: $0.trials) }.compactMap { conversion in
                (conversion.trials + [conversion.paid]).last { former[$0] == nil }
            })
    }

    /// The refunds that consumers are to know of from now on, and those of another amount than they were told: what is
    /// missing is told, less than nothing where it was too much.
    ///
    /// Those of periods that are overtaken by this step come before what overtakes them.
    func refunds() -> (ofOvertaken: [EventDraft], others: [EventDraft]) {
        let isOvertaken = before != nil && after.periods.contains { former[$0.id] == nil }
        var (overtaken, others): ([EventDraft], [EventDraft]) = ([], [])
        for period in after.periods {
            guard let refund = after.toldRefund(of: period) else { continue }
            let old = former[period.id]
            let payment: EventDraft.Payment
            var cause = "refund/\(period.id)/\(refund.name)"
            if let told = old.flatMap({ before?.toldRefund(of: $0) }) {
                guard let correction = correction(from: told.charge, to: refund.charge) else { continue }
                payment = correction
                cause += again
            } else {
                payment = .returned(refund.charge)
                // It stood already, and was no news for consumers: the same can come about again.
                if old?.revocation != nil { cause += again }
            }
            let draft = draft(
                .cancellation, cause: cause, of: period,
                expiration: period.isKeptInPart ? nil : .some(period.revocation?.date), payment: payment,
                reason: .customerSupport)
            if isOvertaken, old != nil { overtaken.append(draft) } else { others.append(draft) }
        }
        return (overtaken, others)
    }

    /// Names what comes about by other facts than a new revocation or reversal, which can happen more than once. Every time
    /// takes a transaction that was not known, whether Apple sent it or an app posted it.
    private var again: String { "/v\(String(after.versions, radix: 16))" }

    /// Nil where the amount is the same, or cannot be compared.
    private func correction(from told: Charge?, to now: Charge?) -> EventDraft.Payment? {
        guard let told, let now, told != now, let currency = now.currency, told.currency == currency else { return nil }
        let more = now.milliunits - told.milliunits
        return more > 0
            ? .returned(Charge(currency: currency, milliunits: more))
            : .received(Charge(currency: currency, milliunits: -more))
    }

    /// A grant that was taken back; that access ended is told beside it.
    func revocations() -> [EventDraft] {
        after.periods.compactMap { period in
            guard let revocation = period.revocation, revocation.kind == .grant,
                former[period.id]?.revocation == nil
            else { return nil }
            return draft(
                .cancellation, cause: "revocation/\(period.id)", of: period, expiration: revocation.date,
                reason: .developerInitiated)
        }
    }

    /// The refunds that consumers were told of and that stand no more: Apple took them back, or a period arrives late
    /// that had followed the refunded one by then.
    func reversals() -> [EventDraft] {
        guard let before else { return [] }
        return before.periods.compactMap { old in
            guard let undone = before.toldRefund(of: old), let period = after.period(old.id),
                after.toldRefund(of: period) == nil
            else { return nil }
            var cause = "refund/\(period.id)/\(undone.name)"
            if period.revocation != nil { cause += again }
            return draft(.refundReversed, cause: cause, of: period, payment: .received(undone.charge))
        }
    }

    /// A family share that is given back while it still gives access; that it was lost was told as an end.
    func reinstatements() -> [EventDraft] {
        guard let old = before?.latest, let undone = old.revocation, undone.kind == .family, old.wasCutShort,
            let period = after.period(old.id), period.revocation == nil, after.hasAccess(at: now)
        else { return [] }
        return [draft(.refundReversed, cause: "refund/\(period.id)/\(undone.name)", of: period)]
    }
}
