/// One signed version of one transaction (Apple: JWSTransactionDecodedPayload).
///
/// Instants are milliseconds since 1970, prices milliunits of the currency. What Apple spells as text stays text:
/// unknown values must not be lost.
@dynamicMemberLookup
package struct TransactionFact: Sendable, Hashable {
    /// What it says, whenever it was signed.
    package struct Content: Sendable, Hashable {
        package var transactionID: String
        package var originalTransactionID: String
        package var webOrderLineItemID: String?
        package var productID: String
        package var subscriptionGroup: String?
        package var purchaseDate: Int64
        package var originalPurchaseDate: Int64
        /// Nil for what is bought once.
        package var expiresDate: Int64?
        /// `type`: "Auto-Renewable Subscription", "Non-Consumable", "Consumable", "Non-Renewing Subscription".
        package var kind: String
        /// `inAppOwnershipType`: "PURCHASED", "FAMILY_SHARED".
        package var ownership: String
        /// `transactionReason`: "PURCHASE" (also an upgrade), "RENEWAL".
        package var reason: String
        /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
        package var offerType: Int?
        package var offerIdentifier: String?
        /// "FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME".
        package var offerDiscountType: String?
        /// Milliunits of `currency`; nil for a family member.
        package var price: Int64?
        package var currency: String?
        /// False where an app posted the price, and the currency, of a transaction that Apple signed none of.
        package var isPriceSigned = true
        package var revocationDate: Int64?
        package var revocationReason: Int?
        /// "REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE".
        package var revocationType: String?
        /// Thousandths of a per cent of the price that went back, 0 to 100000; nil where nothing did, and in what was signed
        /// before there was such a member.
        package var revocationPercentage: Int?
        package var isUpgraded: Bool
        /// ISO 3166 alpha-3.
        package var storefront: String?
        package var quantity: Int
        package var appAccountToken: String?
        package var appTransactionID: String?
        /// `previousOriginalTransactionId`: the purchase that this one continues under a new original id.
        package var previousOriginalTransactionID: String?
        /// The names of members that this version does not know: with others a payload says something else.
        package var others: String?
        /// `billingPlanType`: "BILLED_UPFRONT", "MONTHLY"; nil in what was signed before there was such a member.
        package var billingPlan: String?
        /// Of a subscription that is committed to for a year and paid by the month.
        package var commitment: Commitment?
        /// Nil for all that Apple signed.
        package var grant: GrantMark?
    }

    @usableFromInline package var content: Shared<Content>
    package var signedDate: Int64
    /// The signed bytes: of two versions signed in the same millisecond the greater one counts.
    package var tie: [UInt8]
    package var id = FactID.none

    package init(
        transactionID: String, originalTransactionID: String, webOrderLineItemID: String? = nil, productID: String,
        subscriptionGroup: String? = nil, purchaseDate: Int64, originalPurchaseDate: Int64, expiresDate: Int64? = nil,
        signedDate: Int64, kind: String, ownership: String = "PURCHASED", reason: String = "PURCHASE",
        offerType: Int? = nil, offerIdentifier: String? = nil, offerDiscountType: String? = nil, price: Int64? = nil,
        currency: String? = nil, revocationDate: Int64? = nil, revocationReason: Int? = nil,
        revocationType: String? = nil, revocationPercentage: Int? = nil, isUpgraded: Bool = false,
        storefront: String? = nil, quantity: Int = 1, appAccountToken: String? = nil, appTransactionID: String? = nil,
        tie: [UInt8]
    ) {
        content = Shared(
            Content(
                transactionID: transactionID, originalTransactionID: originalTransactionID,
                webOrderLineItemID: webOrderLineItemID, productID: productID, subscriptionGroup: subscriptionGroup,
                purchaseDate: purchaseDate, originalPurchaseDate: originalPurchaseDate, expiresDate: expiresDate,
                kind: kind, ownership: ownership, reason: reason, offerType: offerType,
                offerIdentifier: offerIdentifier, offerDiscountType: offerDiscountType, price: price,
                currency: currency, revocationDate: revocationDate, revocationReason: revocationReason,
                revocationType: revocationType, revocationPercentage: revocationPercentage, isUpgraded: isUpgraded,
                storefront: storefront, quantity: quantity, appAccountToken: appAccountToken,
                appTransactionID: appTransactionID))
        self.signedDate = signedDate
        self.tie = tie
    }

    @inlinable
    package subscript<Member>(dynamicMember member: WritableKeyPath<Content, Member>) -> Member {
        get { content.value[keyPath: member] }
        set { content.value[keyPath: member] = newValue }
    }
}

extension TransactionFact {
    /// `commitmentInfo` (Apple: TransactionCommitmentInfo). Access follows `expiresDate` of the transaction alone.
    package struct Commitment: Sendable, Hashable {
        /// From 1 on.
        package var billingPeriod: Int64?
        package var billingPeriods: Int64?
        /// ms. A charge that is made good late moves it.
        package var expiresDate: Int64?
        /// Milliunits of the transaction's currency, for all of it.
        package var price: Int64?

        package init(
            billingPeriod: Int64? = nil, billingPeriods: Int64? = nil, expiresDate: Int64? = nil, price: Int64? = nil
        ) {
            (self.billingPeriod, self.billingPeriods) = (billingPeriod, billingPeriods)
            (self.expiresDate, self.price) = (expiresDate, price)
        }
    }

    package static let autoRenewable = "Auto-Renewable Subscription"
    /// The kinds that Apple signs no end of.
    private static let boughtOnce: Set<String> = ["Non-Consumable", "Consumable", "Non-Renewing Subscription"]

    /// Renews by itself. An unknown kind is judged by having an end.
    package var isRenewable: Bool {
        if self.kind == TransactionFact.autoRenewable { return true }
        return self.expiresDate != nil && !isBoughtOnce && self.grant == nil
    }

    /// One of Apple's kinds that do not renew by themselves.
    package var isBoughtOnce: Bool { TransactionFact.boughtOnce.contains(self.kind) }

    /// Whether it must have an end and has none: such a transaction gives no access at all.
    package var lacksEnd: Bool { self.expiresDate == nil && !isBoughtOnce && self.grant == nil }

    package var isFamilyShare: Bool { self.ownership == "FAMILY_SHARED" }
}
