/// Tells what is different about a purchase after a step, in the order in which people want to know it.
struct PurchaseDifference {
    let before: Purchase?
    let after: Purchase?
    /// Whether what came was signed before what was known.
    let isOlder: Bool
    /// What Apple says beside the state, if a notification came.
    let notification: NotificationFact?

    var changes: [PurchaseChange] {
        guard let after else { return [.nothing(.noTransaction)] }
        let changes =
            periods(after) + migration(after) + money(after) + refundDesk + choices(after) + billing(after)
            + consent(after) + owner(after)
            + access(after)
        guard changes.isEmpty else { return changes }
        return [.nothing(isOlder ? .newerWasKnown : .nothingNew)]
    }

    /// Those that were known, by their ids.
    private var knownPeriods: [String: Period] {
        Dictionary((before?.periods ?? []).map { ($0.id, $0) }) { first, _ in first }
    }

    private func periods(_ after: Purchase) -> [PurchaseChange] {
        let known = knownPeriods
        return after.periods.compactMap { period in
            guard let old = known[period.id] else { return arrival(of: period, in: after) }
            guard let from = old.transaction.expiresDate, let to = period.transaction.expiresDate, from != to else {
                return nil
            }
            return .extended(period, from: from, to: to)
        }
    }

    private func migration(_ after: Purchase) -> [PurchaseChange] {
        guard let former = after.continuation?.of, before?.continuation?.of != former else { return [] }
        return [.migrated(from: former)]
    }

    private func arrival(of period: Period, in after: Purchase) -> PurchaseChange {
        guard let before else { return .bought(period) }
        guard period.id == after.latest.id else { return .earlierPeriodKnown(period) }
        let isAfterEnd = before.accessUntil.map { $0 <= period.transaction.purchaseDate } ?? false
        if before.latest.productID != period.productID, !isAfterEnd || period.transaction.reason == "RENEWAL" {
            return .productChanged(from: before.latest.productID, to: period)
        }
        return period.transaction.reason == "RENEWAL" ? .renewed(period) : .boughtAgain(period)
    }

    private func money(_ after: Purchase) -> [PurchaseChange] {
        let known = knownPeriods
        return after.periods.compactMap { period in
            switch (known[period.id]?.revocation, period.revocation) {
            case (nil, let new?):
                switch new.kind {
                case .refund: return .refunded(period, at: new.date)
                case .family: return .familyShareTaken(at: new.date)
                case .grant: return .grantRevoked(at: new.date)
                }
            case (let old?, nil): return old.kind == .refund ? .refundTakenBack(period) : .familyShareGivenBack
            default: return nil
            }
        }
    }

    /// What is asked and decided about a refund is no state.
    private var refundDesk: [PurchaseChange] {
        guard let notification else { return [] }
        switch notification.type {
        case "REFUND_DECLINED": return [.refundDeclined]
        case "CONSUMPTION_REQUEST":
            let deadline = notification.signedDate.later(by: ConsumptionRequest.answerTime)
            return [.consumptionAsked(reason: notification.consumptionRequestReason, until: deadline)]
        default: return []
        }
    }

    private func choices(_ after: Purchase) -> [PurchaseChange] {
        var changes: [PurchaseChange] = []
        let wasOff = before?.autoRenew.offSince != nil
        if wasOff != (after.autoRenew.offSince != nil) { changes.append(wasOff ? .autoRenewOn : .autoRenewOff) }
        let wasEnding = before?.commitment?.renewal.offSince != nil
        if let commitment = after.commitment, wasEnding != (commitment.renewal.offSince != nil) {
            changes.append(wasEnding ? .commitmentOn : .commitmentOff(until: commitment.until))
        }
        let old = before?.pendingProductID
        if let new = after.pendingProductID, new != old {
            changes.append(.nextProduct(new))
        } else if old != nil, after.pendingProductID == nil, before?.latest.id == after.latest.id, after.willRenew {
            changes.append(.nextProductTakenBack(stays: after.latest.productID))
        }
        return changes
    }

    private func billing(_ after: Purchase) -> [PurchaseChange] {
        var changes: [PurchaseChange] = []
        switch (before?.billingFailure, after.billingFailure) {
        case (nil, let new?): changes.append(.billingFailed(isRetrying: new.isRetrying))
        case (_?, nil) where isSettled(after): changes.append(.billingRecovered)
        case (let old?, let new?) where old.isRetrying && !new.isRetrying: changes.append(.retriesOver)
        default: break
        }
        if tellsGrace(after), let grace = after.graceUntil {
            changes.append(.grace(until: grace, isAssumed: after.billingFailure?.isGraceAssumed == true))
        }
        return changes
    }

    private func tellsGrace(_ after: Purchase) -> Bool {
        after.graceUntil != nil && after.graceUntil != before?.graceUntil && after.latest.revocation == nil
    }

    /// Whether the charge that failed came in, and was not made good by another purchase.
    private func isSettled(_ after: Purchase) -> Bool {
        before?.latest.id == after.latest.id || after.latest.transaction.reason == "RENEWAL"
    }

    private func consent(_ after: Purchase) -> [PurchaseChange] {
        guard before?.priceIncreaseStatus != after.priceIncreaseStatus else { return [] }
        switch (before?.priceIncreaseStatus, after.priceIncreaseStatus) {
        case (_, 0): return [.priceIncreaseAsked]
        case (0, 1): return [.priceIncreaseAccepted]
        default: return []
        }
    }

    private func owner(_ after: Purchase) -> [PurchaseChange] {
        guard let new = after.namedCustomer, new != before?.namedCustomer else { return [] }
        return [.owner(new)]
    }

    private func access(_ after: Purchase) -> [PurchaseChange] {
        var changes: [PurchaseChange] = []
        if after.isEndConfirmed, before?.isEndConfirmed != true { changes.append(.endConfirmed) }
        guard let before else {
            return after.latest.isOneTime ? changes : changes + [.accessGiven(until: after.accessUntil)]
        }
        // The end of grace is the end of access, and told as such.
        if before.accessUntil != after.accessUntil, !tellsGrace(after) {
            changes.append(.access(from: before.accessUntil, to: after.accessUntil))
        }
        return changes
    }
}
