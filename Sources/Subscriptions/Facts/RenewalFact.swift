/// One signed version of what is to come for a subscription (Apple: JWSRenewalInfoDecodedPayload).
///
/// Instants are milliseconds since 1970, prices milliunits of the currency.
@dynamicMemberLookup
package struct RenewalFact: Sendable, Hashable {
    /// What it says, whenever it was signed.
    package struct Content: Sendable, Hashable {
        package var originalTransactionID: String
        package var productID: String?
        package var autoRenewProductID: String?
        /// 0 off, 1 on.
        package var autoRenewStatus: Int?
        /// 1 the customer cancelled, 2 billing error, 3 no consent to a price increase, 4 product not for sale, 5 other.
        package var expirationIntent: Int?
        package var isInBillingRetryPeriod: Bool?
        package var gracePeriodExpiresDate: Int64?
        /// 0 not answered, 1 consented or merely told.
        package var priceIncreaseStatus: Int?
        package var renewalPrice: Int64?
        package var currency: String?
        package var renewalDate: Int64?
        package var recentSubscriptionStartDate: Int64?
        package var offerType: Int?
        package var offerIdentifier: String?
        package var offerDiscountType: String?
        package var appAccountToken: String?
        package var appTransactionID: String?
        /// The names of members that this version does not know: with others a payload says something else.
        package var others: String?
        /// `renewalBillingPlanType`: "BILLED_UPFRONT", "MONTHLY".
        package var billingPlan: String?
        /// How a commitment goes on after its last billing period.
        package var commitment: Commitment?
    }

    @usableFromInline package var content: Shared<Content>
    package var signedDate: Int64
    /// The signed bytes: of two versions signed in the same millisecond the greater one counts.
    package var tie: [UInt8]
    package var id = FactID.none

    package init(
        originalTransactionID: String, productID: String? = nil, autoRenewProductID: String? = nil,
        autoRenewStatus: Int? = nil, expirationIntent: Int? = nil, isInBillingRetryPeriod: Bool? = nil,
        gracePeriodExpiresDate: Int64? = nil, priceIncreaseStatus: Int? = nil, renewalPrice: Int64? = nil,
        currency: String? = nil, renewalDate: Int64? = nil, recentSubscriptionStartDate: Int64? = nil,
        offerType: Int? = nil, offerIdentifier: String? = nil, offerDiscountType: String? = nil,
        appAccountToken: String? = nil, appTransactionID: String? = nil, signedDate: Int64, tie: [UInt8]
    ) {
        content = Shared(
            Content(
                originalTransactionID: originalTransactionID, productID: productID,
                autoRenewProductID: autoRenewProductID, autoRenewStatus: autoRenewStatus,
                expirationIntent: expirationIntent, isInBillingRetryPeriod: isInBillingRetryPeriod,
                gracePeriodExpiresDate: gracePeriodExpiresDate, priceIncreaseStatus: priceIncreaseStatus,
                renewalPrice: renewalPrice, currency: currency, renewalDate: renewalDate,
                recentSubscriptionStartDate: recentSubscriptionStartDate, offerType: offerType,
                offerIdentifier: offerIdentifier, offerDiscountType: offerDiscountType,
                appAccountToken: appAccountToken, appTransactionID: appTransactionID))
        self.signedDate = signedDate
        self.tie = tie
    }

    @inlinable
    package subscript<Member>(dynamicMember member: WritableKeyPath<Content, Member>) -> Member {
        get { content.value[keyPath: member] }
        set { content.value[keyPath: member] = newValue }
    }
}

extension RenewalFact {
    /// `commitmentInfo` (Apple: RenewalCommitmentInfo). Prices are milliunits, instants ms.
    package struct Commitment: Sendable, Hashable {
        /// 0 off, 1 on: whether the commitment renews. `autoRenewStatus` beside it speaks of the next billing period.
        package var autoRenewStatus: Int?
        package var autoRenewProductID: String?
        package var billingPlan: String?
        package var renewalDate: Int64?
        package var renewalPrice: Int64?

        package init(
            autoRenewStatus: Int? = nil, autoRenewProductID: String? = nil, billingPlan: String? = nil,
            renewalDate: Int64? = nil, renewalPrice: Int64? = nil
        ) {
            (self.autoRenewStatus, self.autoRenewProductID) = (autoRenewStatus, autoRenewProductID)
            (self.billingPlan, self.renewalDate, self.renewalPrice) = (billingPlan, renewalDate, renewalPrice)
        }
    }

    /// Says that a charge failed and, as of its signing, had not been made good.
    var tellsBillingFailure: Bool {
        self.isInBillingRetryPeriod == true || self.gracePeriodExpiresDate != nil || self.expirationIntent == 2
    }

    /// Says nothing of an end or a failure.
    var isHealthy: Bool { !tellsBillingFailure && self.expirationIntent == nil }

    /// Says that the subscription is over, and not being retried.
    var tellsEnd: Bool {
        self.expirationIntent != nil && self.isInBillingRetryPeriod != true && self.gracePeriodExpiresDate == nil
    }
}
