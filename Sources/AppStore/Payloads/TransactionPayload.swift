/// A transaction (https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload).
/// Dates are milliseconds since 1970, prices thousandths of the currency's unit.
package struct TransactionPayload: WirePayload {
    package let transactionId: String?
    package let originalTransactionId: String?
    /// One per period of a subscription.
    package let webOrderLineItemId: String?
    package let bundleId: String?
    package let productId: String?
    package let subscriptionGroupIdentifier: String?
    package let purchaseDate: Int64?
    package let originalPurchaseDate: Int64?
    /// Of subscriptions only.
    package let expiresDate: Int64?
    package let signedDate: Int64?
    package let revocationDate: Int64?
    /// 0 another reason, 1 an issue in the app.
    package let revocationReason: Int64?
    /// REFUND_FULL, REFUND_PRORATED, FAMILY_REVOKE.
    package let revocationType: String?
    /// Thousandths of a per cent.
    package let revocationPercentage: Int64?
    package let quantity: Int64?
    /// "Auto-Renewable Subscription", "Non-Consumable", "Consumable", "Non-Renewing Subscription".
    package let type: String?
    /// A UUID of the app's own.
    package let appAccountToken: String?
    /// PURCHASED, FAMILY_SHARED.
    package let inAppOwnershipType: String?
    package let isUpgraded: Bool?
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package let offerType: Int64?
    package let offerIdentifier: String?
    /// FREE_TRIAL, PAY_AS_YOU_GO, PAY_UP_FRONT, ONE_TIME.
    package let offerDiscountType: String?
    /// An ISO 8601 duration.
    package let offerPeriod: String?
    package let environment: String?
    /// A three-letter code.
    package let storefront: String?
    package let storefrontId: String?
    /// PURCHASE, RENEWAL.
    package let transactionReason: String?
    /// Absent if the purchase is shared by the family.
    package let price: Int64?
    /// ISO 4217.
    package let currency: String?
    /// The same in all purchases of one Apple account in one app.
    package let appTransactionId: String?
    /// Where a migration came from.
    package let previousOriginalTransactionId: String?
    /// BILLED_UPFRONT, MONTHLY.
    package let billingPlanType: String?
    package let commitmentInfo: TransactionCommitment?
    /// Members that decide on access and are of another type than documented, in the order of their names. Such a
    /// transaction must give no access: a revocation date that reads as nil would take a revocation back.
    package let unreadable: [String]
    /// The names of members that this version does not know (`Members.others`).
    package let others: String?

    /// Members that are read, and what a device adds for itself, which differs each time.
    private static let known: Set<String> = [
        "transactionId", "originalTransactionId", "webOrderLineItemId", "bundleId", "productId",
        "subscriptionGroupIdentifier", "purchaseDate", "originalPurchaseDate", "expiresDate", "signedDate",
        "revocationDate", "revocationReason", "revocationType", "revocationPercentage", "quantity", "type",
        "appAccountToken", "inAppOwnershipType", "isUpgraded", "offerType", "offerIdentifier", "offerDiscountType",
        "offerPeriod", "environment", "storefront", "storefrontId", "transactionReason", "price", "currency",
        "appTransactionId", "previousOriginalTransactionId", "billingPlanType", "commitmentInfo",
        "deviceVerification", "deviceVerificationNonce",
    ]

    package init(_ members: Members) {
        others = members.others(than: Self.known)
        transactionId = members.text("transactionId")
        originalTransactionId = members.text("originalTransactionId")
        webOrderLineItemId = members.text("webOrderLineItemId")
        bundleId = members.text("bundleId")
        productId = members.text("productId")
        subscriptionGroupIdentifier = members.text("subscriptionGroupIdentifier")
        purchaseDate = members.integer("purchaseDate")
        originalPurchaseDate = members.integer("originalPurchaseDate")
        expiresDate = members.integer("expiresDate")
        signedDate = members.integer("signedDate")
        revocationDate = members.integer("revocationDate")
        revocationReason = members.integer("revocationReason")
        revocationType = members.text("revocationType")
        revocationPercentage = members.integer("revocationPercentage")
        quantity = members.integer("quantity")
        type = members.text("type")
        appAccountToken = members.text("appAccountToken")
        inAppOwnershipType = members.text("inAppOwnershipType")
        isUpgraded = members.flag("isUpgraded")
        offerType = members.integer("offerType")
        offerIdentifier = members.text("offerIdentifier")
        offerDiscountType = members.text("offerDiscountType")
        offerPeriod = members.text("offerPeriod")
        environment = members.text("environment")
        storefront = members.text("storefront")
        storefrontId = members.text("storefrontId")
        transactionReason = members.text("transactionReason")
        price = members.integer("price")
        currency = members.text("currency")
        appTransactionId = members.text("appTransactionId")
        previousOriginalTransactionId = members.text("previousOriginalTransactionId")
        billingPlanType = members.text("billingPlanType")
        commitmentInfo = members.object("commitmentInfo")
        let read: [(name: MemberName, isRead: Bool)] = [
            ("expiresDate", expiresDate != nil), ("inAppOwnershipType", inAppOwnershipType != nil),
            ("isUpgraded", isUpgraded != nil), ("revocationDate", revocationDate != nil),
            ("signedDate", signedDate != nil), ("type", type != nil),
        ]
        unreadable = read.filter { !$0.isRead && members.isThere($0.name) }.map(\.name.stringValue)
    }
}

/// `commitmentInfo` of a transaction: a subscription that is paid in parts.
package struct TransactionCommitment: WirePayload {
    package let billingPeriodNumber: Int64?
    package let totalBillingPeriods: Int64?
    /// Milliseconds since 1970.
    package let commitmentExpiresDate: Int64?
    /// Thousandths of the currency's unit.
    package let commitmentPrice: Int64?

    package init(_ members: Members) {
        billingPeriodNumber = members.integer("billingPeriodNumber")
        totalBillingPeriods = members.integer("totalBillingPeriods")
        commitmentExpiresDate = members.integer("commitmentExpiresDate")
        commitmentPrice = members.integer("commitmentPrice")
    }
}
