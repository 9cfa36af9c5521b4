/// What a period cost, in the event format's words.
package enum PeriodType: String, Sendable, CaseIterable {
    case trial = "TRIAL"
    case introductory = "INTRO"
    case normal = "NORMAL"
    /// Granted.
    case promotional = "PROMOTIONAL"

    /// Free by any offer is a trial; paid introductory offers and offer codes are introductory;
    /// promotional and win-back offers are a price like another. Only the transaction decides: the renewal info
    /// speaks of the next period.
    package init(of transaction: TransactionFact) {
        let isOffer = transaction.offerType != nil
        if transaction.grant != nil {
            self = .promotional
        } else if transaction.offerDiscountType == "FREE_TRIAL"
            || (isOffer && transaction.offerDiscountType == nil && transaction.price == 0)
        {
            self = .trial
        } else if transaction.offerType == 1 || transaction.offerType == 3 {
            self = .introductory
        } else {
            self = .normal
        }
    }
}
