/// How long a subscriber has paid for service, period by period: what Apple's commission of later years goes by.
///
/// Free time does not count; a lapse of more than 60 days begins it anew (Apple: Auto-renewable subscriptions, "Net
/// revenue").
struct PaidService {
    private var length: Int64 = 0
    /// The end of access so far, in ms; nil before the first period.
    private var ends: Int64?

    private static let longestLapse: Int64 = 60 * .day

    /// In ms, when this begins. What was before the first period that is known counts as paid: nothing says otherwise.
    func length(before transaction: TransactionFact) -> Int64 {
        guard let ends else {
            return max(0, transaction.purchaseDate.later(by: transaction.originalPurchaseDate.negatedClamping))
        }
        return transaction.purchaseDate > ends.later(by: PaidService.longestLapse) ? 0 : length
    }

    /// The next one, in the order of the chain.
    mutating func add(_ period: Period) {
        guard period.transaction.isRenewable else { return }
        let begins = period.transaction.purchaseDate
        length = period.paidServiceBefore
        let until = max(period.accessUntil ?? begins, begins)
        if period.charge != nil { length = length.later(by: until.later(by: begins.negatedClamping)) }
        ends = max(ends ?? until, until)
    }
}

extension Int64 {
    fileprivate var negatedClamping: Int64 { self == .min ? .max : -self }
}
