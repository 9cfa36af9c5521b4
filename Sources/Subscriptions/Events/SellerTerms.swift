/// What of a price Apple keeps: its commission, and taxes. Neither is signed, so both are what the operator says.
package struct SellerTerms: Sendable, Equatable {
    /// Apple's commission from an instant on.
    package struct Commission: Sendable, Equatable {
        /// ms since 1970; nil: always.
        package let from: Int64?
        /// Of the price without taxes.
        package let rate: Share
        /// The same for subscribers who have paid for a year of service; nil: no other.
        package let afterAYear: Share?

        package init(from: Int64? = nil, rate: Share, afterAYear: Share? = nil) {
            (self.from, self.rate, self.afterAYear) = (from, rate, afterAYear)
        }

        /// What Apple takes of whom no programme applies to: 30 %, of subscriptions 15 % after a year of paid service
        /// (Apple: Auto-renewable subscriptions, "Net revenue").
        package static let standard = Commission(
            rate: Share(millionths: 300_000), afterAYear: Share(millionths: 150_000))
    }

    private let commissions: [String: [Commission]]
    private let taxes: [String: Share]

    /// - Parameters:
    ///   - commissions: by app; Apple's standard where there is none for its time.
    ///   - taxes: share of the price by country (ISO 3166 alpha-2); none elsewhere.
    package init(commissions: [String: [Commission]] = [:], taxes: [String: Share] = [:]) {
        self.commissions = commissions.mapValues { list in
            list.sorted { ($0.from ?? .min) < ($1.from ?? .min) }
        }
        self.taxes = taxes
    }

    /// A text that two terms share only if they are the same.
    package var stamp: String {
        func text(_ commission: Commission) -> String {
            [commission.from, commission.rate.millionths, commission.afterAYear?.millionths]
                .map { $0.map(String.init) ?? "" }.joined(separator: "/")
        }
        let lists = commissions.map { "\($0.key)=\($0.value.map(text).joined(separator: ","))" }.sorted()
        return (lists + taxes.map { "\($0.key)=\($0.value.millionths)" }.sorted()).joined(separator: "\n")
    }

    /// A year of paid service, in ms, less what daylight saving takes of twelve months.
    private static let year: Int64 = 365 * .day - 2 * .hour

    /// Of the price of this period, taxes included: Apple takes its commission of what taxes leave.
    package func shares(of period: Period, in app: String) -> (commission: Share, tax: Share) {
        let tax = period.transaction.storefront.flatMap(CountryCodes.alpha2).flatMap { taxes[$0] } ?? .none
        let begins = period.transaction.purchaseDate
        let commission = commissions[app]?.last { ($0.from ?? .min) <= begins } ?? .standard
        let isLater = period.transaction.isRenewable && period.paidServiceBefore >= SellerTerms.year
        return ((isLater ? commission.afterAYear ?? commission.rate : commission.rate) * tax.rest, tax)
    }
}
