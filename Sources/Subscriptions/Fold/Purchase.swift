/// The state of one purchase: a pure function of its facts, to be asked about any instant.
package struct Purchase: Sendable, Equatable {
    package let key: PurchaseKey
    /// By purchase date, then end, then id; never empty.
    package let periods: [Period]
    /// The period that counts: the last one that no upgrade has replaced.
    package let latest: Period
    package let autoRenew: AutoRenew
    /// The commitment that the latest period is a part of, if it is one.
    package let commitment: Commitment?
    /// The purchase that this one continues, as Apple migrated it.
    package let continuation: Continuation?
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
    /// Tells what is known of its transactions from what was known before.
    package let versions: UInt64
    /// The id that its transactions, posts or actions named last, whichever customer owns it.
    package let namedCustomer: String?
    /// The account's id for this app; the one signed first.
    package let appTransactionID: String?

    /// That a purchase goes on under another original transaction id. A subscriber who goes back can have the former id
    /// again, so that it counts from its first transaction on only.
    package struct Continuation: Sendable, Equatable {
        /// The original transaction id of the former one.
        package let of: String
        /// When the first period began that Apple signed as its continuation, in ms.
        package let since: Int64

        package init(of former: String, since: Int64) {
            (self.of, self.since) = (former, since)
        }

        /// Of several the last one.
        ///
        /// - Parameter periods: by purchase date.
        init?(_ periods: [Period]) {
            func former(_ period: Period) -> String? { period.transaction.previousOriginalTransactionID }
            guard let last = periods.last(where: { former($0) != nil }), let id = former(last),
                let first = periods.first(where: { former($0) == id })
            else { return nil }
            self.init(of: id, since: first.transaction.purchaseDate)
        }
    }

    package enum AutoRenew: Sendable, Equatable {
        case on
        /// When it was first signed as off, in ms.
        case off(since: Int64)
    }

    /// A year that is paid by the month (Apple: Managing the life cycle of monthly subscriptions with a 12-month
    /// commitment). Access follows the periods, as everywhere: what is not paid gives none.
    package struct Commitment: Sendable, Equatable {
        /// From 1 on.
        package let billingPeriod: Int64?
        package let billingPeriods: Int64?
        /// The end of the commitment, in ms.
        package let until: Int64?
        /// Milliunits of the latest period's currency, for all of it.
        package let price: Int64?
        /// Whether it goes on after its last period. `autoRenew` beside it speaks of the next period.
        package let renewal: AutoRenew
        /// The product of the next commitment.
        package let nextProductID: String?

        /// Whether this is its last period, after which what was switched off ends.
        package var isInLastPeriod: Bool {
            guard let billingPeriod, let billingPeriods else { return false }
            return billingPeriod >= billingPeriods
        }
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

    /// When auto-renewal was first signed as off, in ms; nil while it is on. Within a commitment the next period renews
    /// whatever the customer has chosen for the time after; in its last one that choice counts.
    package var autoRenewOffSince: Int64? {
        if let since = autoRenew.offSince { return since }
        return commitment?.isInLastPeriod == true ? commitment?.renewal.offSince : nil
    }

    /// Since when the customer does not want it to go on, in ms: after this period, or after the commitment.
    package var cancelledSince: Int64? { autoRenew.offSince ?? commitment?.renewal.offSince }

    /// The end of access that was paid for, in ms, over all periods that were not taken back; nil: without
    /// an end.
    package var paidAccessUntil: Int64? {
        guard var end = latest.accessUntil else { return nil }
        for period in periods {
            guard let other = period.accessUntil else { return nil }
            end = max(end, other)
        }
        return end
    }

    /// The end of access with grace, in ms; nil: without an end.
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

    /// When Apple stops trying to charge, in ms: 60 days after the end of the period, 90 days in a commitment. Nil unless a
    /// failure is being retried.
    package var retryEndsAt: Int64? {
        guard let billingFailure, billingFailure.isRetrying, latest.revocation == nil else { return nil }
        return latest.paidUntil?.later(by: retryPeriod)
    }

    /// In ms.
    var retryPeriod: Int64 { commitment == nil ? Purchase.retryPeriod : Purchase.commitmentRetryPeriod }

    /// The trials that were paid on: each run of them with the period that followed.
    package var trialConversions: [TrialConversion] {
        var conversions: [TrialConversion] = []
        var trials: [String] = []
        for period in periods where period.transaction.isRenewable {
            if period.type == .trial {
                trials.append(period.id)
            } else {
                if !trials.isEmpty, !period.transaction.isFamilyShare {
                    conversions.append(TrialConversion(trials: trials, paid: period.id))
                }
                trials = []
            }
        }
        return conversions
    }

    /// Trials in a row, and the period after them that costs money; by transaction ids.
    package struct TrialConversion: Equatable {
        package let trials: [String]
        package let paid: String
    }

    package func hasAccess(at instant: Int64) -> Bool {
        accessUntil.map { instant < $0 } ?? true
    }

    package func period(_ transactionID: String) -> Period? {
        periods.first { $0.id == transactionID }
    }
}

extension Purchase.AutoRenew {
    /// In ms; nil while it is on.
    var offSince: Int64? {
        if case .off(let since) = self { since } else { nil }
    }
}
