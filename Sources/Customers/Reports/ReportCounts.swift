/// What happened to subscriptions, how often. `ReportDefinitions` says what each is.
package enum ReportCount: String, Sendable, CaseIterable {
    case new
    case takenOver = "taken_over"
    case resubscribed, recovered
    case churned
    case churnedVoluntary = "churned_voluntary"
    case churnedBilling = "churned_billing"
    case churnedRefund = "churned_refund"
    case churnedPriceIncrease = "churned_price_increase"
    case churnedNotForSale = "churned_not_for_sale"
    case churnedOther = "churned_other"
    case churnedTrials = "churned_trials"
    case trialsStarted = "trials_started"
    case trialConversions = "trial_conversions"
    case renewed, upgraded
    case oneTimePurchases = "one_time_purchases"
    case payments, refunds
}

/// How many subscriptions there were at an instant.
package enum ReportGauge: String, Sendable, CaseIterable {
    case active
    case paying
    case inTrial = "in_trial"
    case inGrace = "in_grace"
    case inBillingRetry = "in_billing_retry"
}

/// Money of one product in one currency.
package struct ReportProduct: Sendable, Hashable, Comparable {
    package let app: String
    package let productID: String
    /// Nil: Apple signed no price, so that there are no amounts.
    package let currency: String?

    package static func < (left: ReportProduct, right: ReportProduct) -> Bool {
        (left.app, left.productID, left.currency ?? "\u{10FFFF}")
            < (right.app, right.productID, right.currency ?? "\u{10FFFF}")
    }
}

/// Amounts are milliunits.
package struct ReportMoney: Sendable, Equatable {
    package internal(set) var payments: Int64 = 0
    package internal(set) var gross: Int64 = 0
    package internal(set) var refunds: Int64 = 0
    package internal(set) var refunded: Int64 = 0
    /// Monthly recurring revenue at the end.
    package internal(set) var monthly: Int64 = 0

    package static let zero = ReportMoney()

    package var net: Int64 { gross - refunded }
}
