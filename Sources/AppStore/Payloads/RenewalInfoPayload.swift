/// What is to happen to a subscription next
/// (https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload). It names no app.
/// Dates are milliseconds since 1970, prices thousandths of the currency's unit.
package struct RenewalInfoPayload: WirePayload {
    package let originalTransactionId: String?
    package let productId: String?
    package let autoRenewProductId: String?
    /// 0 off, 1 on.
    package let autoRenewStatus: Int64?
    /// 1 the customer cancelled, 2 billing error, 3 no consent to a price increase, 4 product unavailable, 5 other.
    package let expirationIntent: Int64?
    package let isInBillingRetryPeriod: Bool?
    package let gracePeriodExpiresDate: Int64?
    /// 0 not answered yet, 1 consented or notified.
    package let priceIncreaseStatus: Int64?
    /// Of the next period: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package let offerType: Int64?
    package let offerIdentifier: String?
    package let offerDiscountType: String?
    /// An ISO 8601 duration.
    package let offerPeriod: String?
    /// Gaps of up to 60 days do not count.
    package let recentSubscriptionStartDate: Int64?
    package let renewalDate: Int64?
    package let renewalPrice: Int64?
    /// ISO 4217.
    package let currency: String?
    /// The best one first.
    package let eligibleWinBackOfferIds: [String]?
    /// Of the coming renewal.
    package let appAccountToken: String?
    package let appTransactionId: String?
    package let environment: String?
    package let signedDate: Int64?
    /// BILLED_UPFRONT, MONTHLY.
    package let renewalBillingPlanType: String?
    package let commitmentInfo: RenewalCommitment?
    /// The names of members that this version does not know (`Members.others`).
    package let others: String?

    /// Members that are read.
    private static let known: Set<String> = [
        "originalTransactionId", "productId", "autoRenewProductId", "autoRenewStatus", "expirationIntent",
        "isInBillingRetryPeriod", "gracePeriodExpiresDate", "priceIncreaseStatus", "offerType", "offerIdentifier",
        "offerDiscountType", "offerPeriod", "recentSubscriptionStartDate", "renewalDate", "renewalPrice", "currency",
        "eligibleWinBackOfferIds", "appAccountToken", "appTransactionId", "environment", "signedDate",
        "renewalBillingPlanType", "commitmentInfo",
    ]

    package init(_ members: Members) {
        others = members.others(than: Self.known)
        originalTransactionId = members.text("originalTransactionId")
        productId = members.text("productId")
        autoRenewProductId = members.text("autoRenewProductId")
        autoRenewStatus = members.integer("autoRenewStatus")
        expirationIntent = members.integer("expirationIntent")
        isInBillingRetryPeriod = members.flag("isInBillingRetryPeriod")
        gracePeriodExpiresDate = members.integer("gracePeriodExpiresDate")
        priceIncreaseStatus = members.integer("priceIncreaseStatus")
        offerType = members.integer("offerType")
        offerIdentifier = members.text("offerIdentifier")
        offerDiscountType = members.text("offerDiscountType")
        offerPeriod = members.text("offerPeriod")
        recentSubscriptionStartDate = members.integer("recentSubscriptionStartDate")
        renewalDate = members.integer("renewalDate")
        renewalPrice = members.integer("renewalPrice")
        currency = members.text("currency")
        eligibleWinBackOfferIds = members.texts("eligibleWinBackOfferIds")
        appAccountToken = members.text("appAccountToken")
        appTransactionId = members.text("appTransactionId")
        environment = members.text("environment")
        signedDate = members.integer("signedDate")
        renewalBillingPlanType = members.text("renewalBillingPlanType")
        commitmentInfo = members.object("commitmentInfo")
    }
}

/// `commitmentInfo` of a renewal info: how a subscription that is paid in parts goes on after the last one.
package struct RenewalCommitment: WirePayload {
    package let commitmentAutoRenewProductId: String?
    /// 0 off, 1 on.
    package let commitmentAutoRenewStatus: Int64?
    package let commitmentRenewalBillingPlanType: String?
    /// Milliseconds since 1970.
    package let commitmentRenewalDate: Int64?
    /// Thousandths of the currency's unit.
    package let commitmentRenewalPrice: Int64?

    package init(_ members: Members) {
        commitmentAutoRenewProductId = members.text("commitmentAutoRenewProductId")
        commitmentAutoRenewStatus = members.integer("commitmentAutoRenewStatus")
        commitmentRenewalBillingPlanType = members.text("commitmentRenewalBillingPlanType")
        commitmentRenewalDate = members.integer("commitmentRenewalDate")
        commitmentRenewalPrice = members.integer("commitmentRenewalPrice")
    }
}
