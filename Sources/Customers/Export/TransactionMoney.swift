import Base
import Subscriptions

/// The money of a transaction: what was paid, what of it went back, and what others take. Pure.
struct TransactionMoney {
    /// What was paid, in milliunits; 0 for what was free, nil where Apple signed no price.
    let gross: Int64?
    /// What of it went back; nil as `gross`.
    let refunded: Int64?
    /// Apple's share of the price, and that of taxes.
    let commission: Share
    let tax: Share
    /// ISO 4217; nil where Apple signed none.
    let currency: String?
    private let rates: DollarRates

    init(_ period: Period, in app: String, rates: DollarRates, seller: SellerTerms) {
        currency = period.transaction.isPriceSigned ? period.transaction.currency : nil
        self.rates = rates
        if let charge = period.signedCharge {
            gross = charge.currency == nil ? nil : charge.milliunits
            refunded = charge.currency == nil ? nil : period.signedRefund?.milliunits ?? 0
        } else {
            (gross, refunded) = (0, 0)
        }
        (commission, tax) =
            period.transaction.grant == nil ? seller.shares(of: period, in: app) : (Share.none, Share.none)
    }

    /// What stayed, in milliunits.
    var net: Int64? {
        guard let gross, let refunded else { return nil }
        return gross - refunded
    }

    /// The same in thousandths of a dollar; nil without a price or a rate of its currency.
    var grossDollars: Int64? { dollars(gross) }
    var netDollars: Int64? { dollars(net) }

    private func dollars(_ amount: Int64?) -> Int64? {
        guard let amount, amount != 0 else { return amount }
        return currency.flatMap { rates.milliunits(amount, of: $0) }
    }
}
