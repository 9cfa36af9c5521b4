import Base

/// What Apple signs about the renewals to come (JWSRenewalInfoDecodedPayload). Times are milliseconds since 1970.
package struct StoreRenewal: Sendable, Equatable {
    package var originalID: String
    package var nextProductID: String
    package var productID: String
    package var isOn: Bool
    /// Thousandths of the currency unit, of the next period; told only while renewing is on.
    package var price: Int64
    /// 1 customer, 2 billing, 3 price increase, 4 product not for sale, 5 other.
    package var expirationIntent: Int64?
    package var isInBillingRetry: Bool?
    package var graceEnds: Int64?
    /// 0 asked, 1 agreed or informed.
    package var priceIncreaseStatus: Int64?
    /// The offer of the next period.
    package var offer: StoreOffer?
    package var recentStart: Int64
    package var renews: Int64
    package var winBackOffers: [String] = []

    /// The payload, in Apple's order of members; it names no bundle id.
    package func payload(account: StoreAccount, environment: String, signedDate: Int64) -> JSON {
        var members = PayloadMembers()
        members.integer("expirationIntent", expirationIntent)
        members.text("originalTransactionId", originalID)
        members.text("autoRenewProductId", nextProductID)
        members.text("productId", productID)
        members.integer("autoRenewStatus", isOn ? 1 : 0)
        members.flag("isInBillingRetryPeriod", isInBillingRetry)
        members.integer("priceIncreaseStatus", priceIncreaseStatus)
        members.integer("gracePeriodExpiresDate", graceEnds)
        offer?.add(to: &members)
        members.integer("signedDate", signedDate)
        members.text("environment", environment)
        members.integer("recentSubscriptionStartDate", recentStart)
        members.integer("renewalDate", renews)
        members.integer("renewalPrice", isOn && !account.isFamilyMember ? price : nil)
        members.text("currency", isOn && !account.isFamilyMember ? account.currency : nil)
        members.add("eligibleWinBackOfferIds", winBackOffers.isEmpty ? nil : .strings(winBackOffers))
        members.text("appTransactionId", account.appTransactionID)
        members.text("appAccountToken", account.sharedToken)
        return members.json
    }
}
