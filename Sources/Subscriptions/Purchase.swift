/// The state of one purchase: a pure function of its facts, to be asked about any instant.
package struct Purchase: Sendable, Equatable {
    package let key: PurchaseKey
    /// By purchase date, then end, then id; never empty.
    package let periods: [Period]
    /// The period that counts: the last one that no upgrade has replaced.
    package let latest: Period
    package let autoRenew: AutoRenew
    /// The failure to charge that is not made good, if there is one.
    package let billingFailure: BillingFailure?
    /// Apple's reason for an end of the latest period (`expirationIntent`).
    package let expirationIntent: Int?
    /// The product of the next renewal, where it is another one.
    package let pendingProductID: String?
    /// The same as it stood when auto-renewal was last on, if nothing else was chosen since.
    package let announcedProductID: String?
    /// 0 asked, 1 consented or merely told; anything else is not understood.
    package let priceIncreaseStatus: Int?
    /// Apple has said that access ended, at or after the end that the dates give.
    package let isEndConfirmed: Bool
    /// When the newest renewal info of the latest period was signed, in ms.
    package let renewalSigned: Int64?
    /// Whether a period is running, or ran, that is later than every transaction known here.
    package let isLatestSuperseded: Bool
    /// When a renewal info that speaks of such a period was first signed, in ms.
    package let laterPeriodSigned: Int64?
    /// How many signed versions of its transactions are known: grows with each.
    package let versionCount: Int
    /// The id that an action gave the purchase to, if one did.
    package let assignedOwner: String?
    /// App account tokens, each once, by their first signing.
    package let tokens: [String]
    /// The account's id for this app; the one signed first.
    package let appTransactionID: String?

    package enum AutoRenew: Sendable, Equatable {
        case on
        /// When it was first signed as off, in ms.
        case off(since: Int64)
    }

    package struct BillingFailure: Sendable, Equatable {
        /// When it was first signed, in ms.
        package let since: Int64
        /// The end of the grace period as it was granted, in ms.
        package let graceGranted: Int64?
        /// The end of the grace period, in ms: earlier than granted if Apple gave up before.
        package let graceUntil: Int64?
        /// Apple told of grace and gave no end; the one that is configured stands in for it.
        package let isGraceAssumed: Bool
        /// Apple still tries to charge.
        package let isRetrying: Bool
    }
}

extension Purchase {
    package var isRenewable: Bool { latest.transaction.isRenewable }
    package var isFamilyShare: Bool { latest.transaction.isFamilyShare }

    /// When auto-renewal was first signed as off, in ms; nil while it is on.
    package var autoRenewOffSince: Int64? {
        if case .off(let since) = autoRenew { since } else { nil }
    }

    /// The end of access that was paid for, in ms, over all periods that were not taken back; nil: for ever.
    package var paidAccessUntil: Int64? {
        guard var end = latest.accessUntil else { return nil }
        for period in periods {
            guard let other = period.accessUntil else { return nil }
            end = max(end, other)
        }
        return end
    }

    /// The end of access with grace, in ms; nil: for ever.
    package var accessUntil: Int64? {
        guard let paid = paidAccessUntil else { return nil }
        return max(paid, graceUntil ?? paid)
    }

    /// The end of grace, in ms, while the failure lasts: earlier than Apple granted it if the period was taken back
    /// meanwhile. What was taken back before has none.
    package var graceUntil: Int64? {
        guard let grace = billingFailure?.graceUntil, let revocation = latest.revocation else {
            return billingFailure?.graceUntil
        }
        return latest.wasCutShort ? nil : min(grace, revocation.date)
    }

    /// Whether a revocation took away access that still ran, by payment or by grace.
    package var wasCutShort: Bool {
        guard let revocation = latest.revocation else { return false }
        return latest.wasCutShort || revocation.date < billingFailure?.graceUntil ?? .min
    }

    /// When Apple stops trying to charge, in ms: 60 days after the end of the period. Nil unless a failure is being
    /// retried.
    package var retryEndsAt: Int64? {
        guard let billingFailure, billingFailure.isRetrying, latest.revocation == nil else { return nil }
        return latest.paidUntil?.later(by: Purchase.retryPeriod)
    }

    package func hasAccess(at instant: Int64) -> Bool {
        accessUntil.map { instant < $0 } ?? true
    }

    package func period(_ transactionID: String) -> Period? {
        periods.first { $0.id == transactionID }
    }

    /// The period before this one, whatever became of it.
    package func predecessor(of period: Period) -> Period? {
        periods.last { $0.number < period.number }
    }
}
