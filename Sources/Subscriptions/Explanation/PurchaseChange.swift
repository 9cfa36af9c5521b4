/// One thing that is different about a purchase after a step.
package enum PurchaseChange: Sendable, Equatable {
    /// The first that was known of it.
    case bought(Period)
    case renewed(Period)
    /// Subscribed anew, after an end.
    case boughtAgain(Period)
    case productChanged(from: String, to: Period)
    /// A period that is not the latest became known late.
    case earlierPeriodKnown(Period)
    /// Its end was moved, nearly always to later.
    case extended(Period, from: Int64, to: Int64)
    case refunded(Period, at: Int64)
    case refundTakenBack(Period)
    case refundDeclined
    /// Apple asks how it was used; the reason as Apple names it, and until when it takes an answer, in ms.
    case consumptionAsked(reason: String?, until: Int64)
    case familyShareTaken(at: Int64)
    case familyShareGivenBack
    case grantRevoked(at: Int64)
    case autoRenewOff
    case autoRenewOn
    /// The commitment does not renew; its periods until then do. In ms, where Apple gave an end.
    case commitmentOff(until: Int64?)
    case commitmentOn
    /// It continues another purchase, by that one's original transaction id.
    case migrated(from: String)
    case nextProduct(String)
    case nextProductTakenBack(stays: String)
    case billingFailed(isRetrying: Bool)
    case billingRecovered
    case retriesOver
    /// Assumed: Apple gave no end, the configured one stands in.
    case grace(until: Int64, isAssumed: Bool)
    case priceIncreaseAsked
    case priceIncreaseAccepted
    /// Apple's own word that access ended.
    case endConfirmed
    /// The customer whom an app account token, a post or an action named.
    case owner(String)
    /// The first access of all; nil: without an end.
    case accessGiven(until: Int64?)
    case access(from: Int64?, to: Int64?)
    case ended(EndCause, product: String, at: Int64?)
    case nothing(Quiet)

    package enum Quiet: String, Sendable {
        /// What came was signed before what was known already.
        case newerWasKnown = "newer_was_known"
        case nothingNew = "nothing_new"
        /// There is no transaction to make a purchase of.
        case noTransaction = "no_transaction"
    }

    /// The word that programs know it by.
    package var name: String {
        switch self {
        case .bought: "bought"
        case .renewed: "renewed"
        case .boughtAgain: "bought_again"
        case .productChanged: "product_changed"
        case .earlierPeriodKnown: "earlier_period_known"
        case .extended(_, let old, let new): old < new ? "extended" : "shortened"
        case .refunded: "refunded"
        case .refundTakenBack: "refund_taken_back"
        case .refundDeclined: "refund_declined"
        case .consumptionAsked: "consumption_asked"
        case .familyShareTaken: "family_share_taken"
        case .familyShareGivenBack: "family_share_given_back"
        case .grantRevoked: "grant_revoked"
        case .autoRenewOff: "auto_renew_off"
        case .autoRenewOn: "auto_renew_on"
        case .commitmentOff: "commitment_off"
        case .commitmentOn: "commitment_on"
        case .migrated: "migrated"
        case .nextProduct: "next_product"
        case .nextProductTakenBack: "next_product_taken_back"
        case .billingFailed: "billing_failed"
        case .billingRecovered: "billing_recovered"
        case .retriesOver: "retries_over"
        case .grace: "grace"
        case .priceIncreaseAsked: "price_increase_asked"
        case .priceIncreaseAccepted: "price_increase_accepted"
        case .endConfirmed: "end_confirmed"
        case .owner: "owner"
        case .accessGiven, .access: "access"
        case .ended: "ended"
        case .nothing(let quiet): quiet.rawValue
        }
    }
}
