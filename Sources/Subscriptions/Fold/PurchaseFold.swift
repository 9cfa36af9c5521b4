extension Purchase {
    /// Folds facts to a state. Nil without a transaction: nothing that we know of was bought.
    ///
    /// - Parameter foldSettings: what the configuration adds.
    package init?(folding facts: PurchaseFacts, key: PurchaseKey, foldSettings: FoldSettings = FoldSettings()) {
        let signed = Array(facts.transactions)
        let transactions = foldSettings.ending(facts.priced(signed))
        let periods = PeriodChain.periods(of: transactions, offerings: facts.offerings)
        guard let latest = PeriodChain.latest(of: periods) else { return nil }
        let renewals = facts.renewals.inOrderOfSigning()
        let current = renewals.filter { latest.isOlder(than: $0) }
        let notifications = facts.notifications.filter { latest.isOlder(than: $0) }
        let newest = current.last

        self.key = key
        self.periods = periods
        versions = signed.reduce(0) { $0 &+ $1.mark }
        self.latest = latest
        autoRenew = AutoRenew(renewals, latest: latest) { $0.autoRenewStatus }
        commitment = Commitment(renewals, latest: latest)
        continuation = Continuation(periods)
        let failure = BillingFailure(
            current, latest: latest, isGraceTold: notifications.contains(where: \.tellsGrace),
            defaultGrace: foldSettings.defaultGrace)
        billingFailure = failure
        expirationIntent = newest?.expirationIntent
        pendingProductID = Self.pendingProduct(newest, latest: latest)
        let choice = current.reversed().prefix { $0.autoRenewProductID == newest?.autoRenewProductID }
        announcedProductID = choice.lazy.compactMap { Self.pendingProduct($0, latest: latest) }.first
        priceIncreaseStatus = newest?.priceIncreaseStatus
        renewalSigned = newest?.signedDate
        isLatestSuperseded = newest.map { $0.speaksOfLaterPeriod(than: latest) } ?? false
        laterPeriodSigned = current.first { $0.speaksOfLaterPeriod(than: latest) }?.signedDate
        let end = max(latest.accessUntil ?? .max, failure?.graceUntil ?? .min)
        isEndConfirmed = notifications.contains { fact in
            fact.tellsEnd && fact.signedDate.later(by: Period.signingSlack) >= end
        }
        appTransactionID = facts.signedAccount?.id
        namedCustomer = facts.namedCustomer
    }

    private static func pendingProduct(_ newest: RenewalFact?, latest: Period) -> String? {
        guard let newest, newest.autoRenewStatus != 0, let next = newest.autoRenewProductID else { return nil }
        // Renewal info that speaks of another product belongs to another period.
        guard newest.productID == nil || newest.productID == latest.productID else { return nil }
        return next == latest.productID ? nil : next
    }
}

extension TransactionFact {
    /// Tells its signature from the others of the purchase (FNV-1a).
    fileprivate var mark: UInt64 {
        let hash = self.transactionID.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return (hash ^ UInt64(bitPattern: signedDate)) &* 0x9e37_79b9_7f4a_7c15
    }
}

extension RenewalFact {
    /// Whether it says that the customer renewed or subscribed anew after this period, by a transaction that is not known
    /// here. While a charge is being retried only a new subscription counts.
    fileprivate func speaksOfLaterPeriod(than period: Period) -> Bool {
        guard let renewalDate = self.renewalDate, let expires = period.transaction.expiresDate, renewalDate > expires
        else { return false }
        let start = self.recentSubscriptionStartDate ?? .min
        return start > period.transaction.purchaseDate || isHealthy
    }
}

extension Period {
    /// Apple signs the parts of a notification in the same millisecond; a little room for when it does not.
    static let signingSlack: Int64 = 1 * .second

    /// Whether the fact was signed when this period was known, so that it speaks of this one or of a later one.
    func isOlder(than fact: some SignedFact) -> Bool {
        fact.signedDate.later(by: Period.signingSlack) >= firstSigned
    }

    /// Whether it is a renewal that can have been charged ahead when the fact was signed.
    fileprivate func canBeCharged(before fact: some SignedFact) -> Bool {
        transaction.reason == "RENEWAL"
            && fact.signedDate.later(by: ExpiryConfirmation.earliestRenewal) >= transaction.purchaseDate
    }
}

extension Purchase.AutoRenew {
    /// - Parameters:
    ///   - renewals: all of the purchase, oldest first.
    ///   - goesOn: whether what was switched off before the latest period is so still; nil: it is not, but where Apple had
    ///     charged for the period before.
    ///   - status: 0 off, 1 on, nil: it says nothing.
    init(
        _ renewals: [RenewalFact], latest: Period, goesOn: Bool = false, status: (RenewalFact) -> Int?
    ) {
        self = .on
        let told = renewals.filter { status($0) != nil }
        guard let newest = told.last, status(newest) == 0 else { return }
        // A new purchase switches renewal on again, even if nothing newer says so, and so is what was charged after it was off. A
        // renewal that Apple had charged ahead is not.
        guard goesOn || latest.isOlder(than: newest) || latest.canBeCharged(before: newest) else { return }
        let run = told.reversed().prefix { status($0) == 0 }
        self = .off(since: run.last?.signedDate ?? newest.signedDate)
    }
}

extension Purchase.Commitment {
    /// Nil where the latest period is of no commitment.
    ///
    /// - Parameter renewals: all of the purchase, oldest first.
    init?(_ renewals: [RenewalFact], latest: Period) {
        let transaction = latest.transaction
        guard transaction.billingPlan == "MONTHLY" || transaction.commitment != nil else { return nil }
        let terms = transaction.commitment
        (billingPeriod, billingPeriods) = (terms?.billingPeriod, terms?.billingPeriods)
        (until, price) = (terms?.expiresDate, terms?.price)
        // The customer is bound for all its periods, so that it stays off from one to the next.
        let isWithin = terms?.billingPeriod.map { $0 > 1 } ?? false
        renewal = Purchase.AutoRenew(
            renewals, latest: latest, goesOn: isWithin && transaction.reason == "RENEWAL"
        ) { $0.commitment?.autoRenewStatus }
        nextProductID = renewals.last { latest.isOlder(than: $0) }?.commitment?.autoRenewProductID
    }
}

extension Purchase.BillingFailure {
    /// The failure that the trailing run of unhealthy renewal infos tells of, if any does.
    ///
    /// - Parameter current: those that speak of the latest period, oldest first.
    init?(_ current: [RenewalFact], latest: Period, isGraceTold: Bool, defaultGrace: Int64) {
        let episode = Array(current.reversed().prefix { !$0.isHealthy }.reversed())
        guard let first = episode.first(where: \.tellsBillingFailure) else { return nil }
        since = first.signedDate
        isRetrying = episode.last?.isInBillingRetryPeriod == true || episode.last?.gracePeriodExpiresDate != nil
        let expires = latest.transaction.expiresDate ?? .max
        let dated = episode.compactMap { $0.gracePeriodExpiresDate }.max()
        let assumed = isGraceTold && defaultGrace > 0 ? expires.later(by: defaultGrace) : nil
        graceGranted = (dated ?? assumed).flatMap { $0 > expires ? $0 : nil }
        isGraceAssumed = dated == nil && graceGranted != nil
        let givenUp = episode.reversed().prefix(while: \.tellsEnd).last?.signedDate
        graceUntil = graceGranted.map { max(expires, min($0, givenUp ?? $0)) }
    }
}
