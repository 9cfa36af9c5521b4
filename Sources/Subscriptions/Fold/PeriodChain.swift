/// Puts the transactions of one purchase in their order.
enum PeriodChain {
    /// By purchase date, then end, then id.
    ///
    /// - Parameter offerings: by transaction id; renewals have the one of the period before them.
    static func periods(of transactions: [TransactionFact], offerings: [String: String] = [:]) -> [Period] {
        let histories = Dictionary(grouping: transactions) { $0.transactionID }.values.map { $0.inOrderOfSigning() }
        let ordered = histories.compactMap { versions in versions.last.map { (newest: $0, versions: versions) } }
            .sorted { precedes($0.newest, $1.newest) }
        let newest = upgradedAhead(ordered.map { ($0.newest, $0.versions.first?.signedDate ?? $0.newest.signedDate) })
        let standing = newest.last { !$0.isUpgraded }
        let startsBefore = newest.first.map { !$0.isFirstOfChain } ?? false
        var offering: String?
        var service = PaidService()
        return ordered.enumerated().map { index, history in
            offering = offerings[newest[index].transactionID] ?? offering
            let revocation = revocation(history.versions)
            let period = Period(
                transaction: newest[index],
                firstSigned: history.versions.first?.signedDate ?? history.newest.signedDate,
                number: index + (startsBefore && newest[index].isRenewable ? 2 : 1),
                isFirst: newest[index].isFirstOfChain,
                formerEnds: formerEnds(history.versions, newest[index]),
                supersededAt: supersession(
                    of: newest[index], revoked: revocation?.date, by: newest[(index + 1)...], standing: standing),
                revocation: revocation, presentedOffering: offering,
                paidServiceBefore: service.length(before: newest[index]))
            service.add(period)
            return period
        }
    }

    /// An upgraded period is never the latest while its successor is there, which can begin before it does, if it had
    /// been charged ahead. What was over when it began is not its successor.
    static func latest(of periods: [Period]) -> Period? {
        guard let standing = periods.last(where: { !$0.transaction.isUpgraded }), let last = periods.last,
            last.id == standing.id || standing.transaction.endsAfterStart(of: last.transaction)
        else { return periods.last }
        return standing
    }

    /// A renewal that was charged ahead, and gave way to another product before it began, is upgraded: Apple may never
    /// sign again what it has become of.
    private static func upgradedAhead(_ ordered: [(newest: TransactionFact, firstSigned: Int64)]) -> [TransactionFact] {
        let purchases = ordered.map(\.newest).filter { $0.isRenewable && $0.reason != "RENEWAL" }
        return ordered.map { newest, firstSigned in
            guard newest.reason == "RENEWAL", newest.isRenewable, firstSigned < newest.purchaseDate,
                purchases.contains(where: { other in
                    other.productID != newest.productID && other.purchaseDate >= firstSigned
                        && other.purchaseDate < newest.purchaseDate && other.endsAfterStart(of: newest)
                })
            else { return newest }
            var upgraded = newest
            upgraded.isUpgraded = true
            return upgraded
        }
    }

    private static func precedes(_ left: TransactionFact, _ right: TransactionFact) -> Bool {
        (left.purchaseDate, left.expiresDate ?? .max, left.transactionID)
            < (right.purchaseDate, right.expiresDate ?? .max, right.transactionID)
    }

    /// When another period took this one's place before its end. A new purchase within a running period is an upgrade
    /// also where no version of the old transaction that says so was seen; what was taken back before runs no more.
    private static func supersession(
        of transaction: TransactionFact, revoked: Int64?, by later: ArraySlice<TransactionFact>,
        standing: TransactionFact?
    ) -> Int64? {
        guard transaction.isRenewable, let expires = transaction.expiresDate else { return nil }
        let ends = transaction.isUpgraded ? expires : min(expires, revoked ?? expires)
        for other in later.prefix(while: { $0.purchaseDate < ends })
        where other.isRenewable && (transaction.isUpgraded || other.reason != "RENEWAL") {
            return other.purchaseDate
        }
        guard transaction.isUpgraded, let standing, standing.purchaseDate < expires,
            standing.endsAfterStart(of: transaction)
        else { return nil }
        return standing.purchaseDate
    }

    private static func formerEnds(_ versions: [TransactionFact], _ newest: TransactionFact) -> [Int64] {
        let others = versions.compactMap { $0.expiresDate == newest.expiresDate ? nil : $0.expiresDate }
        return others.isEmpty ? [] : Set(others).sorted()
    }

    private static func revocation(_ versions: [TransactionFact]) -> Period.Revocation? {
        guard let newest = versions.last, let date = newest.revocationDate else { return nil }
        let episodes = versions.split { $0.revocationDate == nil }
        let first = episodes.last?.first
        let firstDate = first?.revocationDate ?? date
        let isFamily = newest.isFamilyShare || newest.revocationType == "FAMILY_REVOKE"
        let kind: Period.Revocation.Kind = newest.grant != nil ? .grant : isFamily ? .family : .refund
        return Period.Revocation(
            kind: kind, date: date, firstDate: firstDate, signed: first?.signedDate ?? newest.signedDate,
            number: 1 + episodes.dropLast().count { $0.contains { $0.revocationDate == firstDate } })
    }
}

extension TransactionFact {
    /// What Apple migrated is the first of its id, and not of its subscription.
    fileprivate var isFirstOfChain: Bool {
        (self.transactionID == self.originalTransactionID || self.purchaseDate == self.originalPurchaseDate)
            && self.previousOriginalTransactionID == nil
    }

    /// Whether it can have taken the other's place.
    fileprivate func endsAfterStart(of other: TransactionFact) -> Bool {
        (self.expiresDate ?? .max) > other.purchaseDate
    }
}
