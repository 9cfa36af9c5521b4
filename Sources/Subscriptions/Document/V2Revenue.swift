import Base

/// `MonetaryAmount` of REST v2: what customers paid for some periods, less refunds, and who gets which part of it. Pure.
///
/// Amounts are dollars where every period's currency has a rate (`webhooks.usd_rates`). Otherwise they are of the
/// currency of the latest period that has a price, and of its periods alone: a sum over currencies would be none.
struct V2Revenue {
    private var currency = "USD"
    private var gross: Int64 = 0
    private var commission: Int64 = 0
    private var tax: Int64 = 0

    /// - Parameter periods: by purchase date.
    init(_ periods: [Period], of app: String, rates: DollarRates, terms: SellerTerms) {
        let paid = periods.compactMap { period -> (period: Period, currency: String, milliunits: Int64)? in
            guard let charge = period.charge, let currency = charge.currency else { return nil }
            return (period, currency, charge.milliunits - (period.refund?.milliunits ?? 0))
        }
        guard let last = paid.last else { return }
        let dollars = paid.compactMap { rates.milliunits($0.milliunits, of: $0.currency) }
        let isInDollars = dollars.count == paid.count
        currency = isInDollars ? "USD" : last.currency
        for payment in paid where isInDollars || payment.currency == last.currency {
            let amount =
                isInDollars ? rates.milliunits(payment.milliunits, of: payment.currency) ?? 0 : payment.milliunits
            let shares = terms.shares(of: payment.period, in: app)
            gross = gross.addingClamped(amount)
            commission = commission.addingClamped(shares.commission.part(of: amount))
            tax = tax.addingClamped(shares.tax.part(of: amount))
        }
    }

    var json: JSON {
        .object([
            "commission": Money.number(milliunits: commission), "currency": .string(currency),
            "gross": Money.number(milliunits: gross),
            "proceeds": Money.number(milliunits: gross - commission - tax), "tax": Money.number(milliunits: tax),
        ])
    }
}

extension Share {
    /// Thousandths of the amount's unit, to the nearest one.
    fileprivate func part(of milliunits: Int64) -> Int64 {
        let (whole, rest) = milliunits.quotientAndRemainder(dividingBy: Share.whole.millionths)
        return whole * millionths + (rest * millionths + Share.whole.millionths / 2) / Share.whole.millionths
    }
}
