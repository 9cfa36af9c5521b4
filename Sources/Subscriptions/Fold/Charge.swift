/// Money that a customer paid, or got back.
package struct Charge: Sendable, Hashable {
    /// ISO 4217; nil where Apple signed no price, so that the amount is unknown.
    package let currency: String?
    /// Thousandths of the currency's unit, never negative; 0 without a currency.
    package let milliunits: Int64

    package init(currency: String?, milliunits: Int64) {
        (self.currency, self.milliunits) = (currency, milliunits)
    }

    package static let unpriced = Charge(currency: nil, milliunits: 0)
}

extension Period {
    /// What the customer paid for all of it; nil for what cost nothing: trials, and what the family shares, whatever was
    /// signed of a price, a currency or neither.
    ///
    /// Apple's price is that of the whole transaction, its quantity and offers counted (Apple: price).
    package var charge: Charge? {
        guard !transaction.isFamilyShare, type != .trial, transaction.price != 0 else { return nil }
        guard let price = transaction.price, price > 0, let currency = transaction.currency else { return .unpriced }
        return Charge(currency: currency, milliunits: price)
    }

    /// What of the charge went back; nil where nothing did. A refund that was reversed is none.
    ///
    /// An upgraded period's unused part goes back too: it counts where Apple signed so, as any refund.
    package var refund: Charge? {
        guard let revocation, revocation.kind == .refund, let charge else { return nil }
        return Charge(
            currency: charge.currency,
            milliunits: Period.part(revocationPart(at: revocation.date), of: charge.milliunits))
    }

    /// The charge as far as Apple signed it: of a price that an app posted, only that something was paid is known. Anyone who
    /// has the app's key can post one, so that sums over customers count none.
    package var signedCharge: Charge? { charge.map(signed) }

    /// The same of the refund.
    package var signedRefund: Charge? { refund.map(signed) }

    private func signed(_ charge: Charge) -> Charge { transaction.isPriceSigned ? charge : .unpriced }

    /// Whether a refund left the customer a part: of units that are used up, those that were not refunded.
    package var isKeptInPart: Bool {
        guard transaction.kind == "Consumable", let revocation, revocation.kind == .refund else { return false }
        return revocationPart(at: revocation.date) < Period.whole
    }

    /// 100 % in thousandths of a per cent, as Apple signs it.
    private static let whole: Int64 = 100_000

    /// As signed. Where a prorated refund, or that of an upgraded period, has no percentage, it is the time that was left,
    /// which is how Apple reckons it (Apple: revocationPercentage); everything otherwise.
    private func revocationPart(at date: Int64) -> Int64 {
        if let signed = transaction.revocationPercentage {
            return Swift.min(Swift.max(Int64(signed), 0), Period.whole)
        }
        let isPart = transaction.revocationType == "REFUND_PRORATED"
        guard isPart || (transaction.isUpgraded && transaction.revocationType == nil),
            let expires = transaction.expiresDate
        else { return Period.whole }
        let (length, isFar) = expires.subtractingReportingOverflow(transaction.purchaseDate)
        let (rest, isEarly) = expires.subtractingReportingOverflow(date)
        guard !isFar, length > 0, !isEarly else { return Period.whole }
        let left = Swift.min(Swift.max(rest, 0), length)
        return Period.part(left, of: Period.whole, outOf: length)
    }

    /// The nearest whole number; halves count up.
    private static func part(_ share: Int64, of amount: Int64, outOf total: Int64 = whole) -> Int64 {
        let product = Int128(share) * Int128(amount)
        return Int64(clamping: (2 * product + Int128(total)) / (2 * Int128(total)))
    }
}

extension PurchaseKey {
    /// Whether the App Store sold it: apps whose names begin with "$" are no apps, such as that of what was granted.
    package var isOfStore: Bool { !app.hasPrefix("$") }
}
