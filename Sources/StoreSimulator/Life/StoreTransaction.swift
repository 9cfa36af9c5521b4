import Base

/// What Apple signs about one purchase or one period (JWSTransactionDecodedPayload). Times are milliseconds since 1970.
package struct StoreTransaction: Sendable, Equatable {
    /// What was taken back, and how.
    package struct Revocation: Sendable, Equatable {
        package var date: Int64
        /// 0 other, 1 a fault of the app.
        package var reason: Int64
        /// REFUND_FULL, REFUND_PRORATED or FAMILY_REVOKE.
        package var type: String
        /// Thousandths of a percent; only for refunds.
        package var percentage: Int64?
    }

    package var id: String
    package var originalID: String
    package var orderLineID: String?
    package var app: StoreApp
    package var productID: String
    package var group: String?
    package var purchased: Int64
    package var originallyPurchased: Int64
    package var expires: Int64?
    package var kind: StoreProduct.Kind
    package var account: StoreAccount
    package var isUpgraded = false
    package var offer: StoreOffer?
    package var revocation: Revocation?
    /// PURCHASE or RENEWAL.
    package var reason: String
    /// Thousandths of the currency unit.
    package var price: Int64
    package var hasCommerceInfo = false

    /// The payload, in Apple's order of members.
    package func payload(signedDate: Int64) -> JSON {
        var members = PayloadMembers()
        members.text("transactionId", id)
        members.text("originalTransactionId", originalID)
        members.text("webOrderLineItemId", orderLineID)
        members.text("bundleId", app.bundleID)
        members.text("productId", productID)
        members.text("subscriptionGroupIdentifier", group)
        members.integer("purchaseDate", purchased)
        members.integer("originalPurchaseDate", originallyPurchased)
        members.integer("expiresDate", expires)
        members.integer("quantity", 1)
        members.text("type", kind.rawValue)
        members.text("appAccountToken", account.sharedToken)
        members.text("inAppOwnershipType", account.isFamilyMember ? "FAMILY_SHARED" : "PURCHASED")
        members.integer("signedDate", signedDate)
        members.integer("revocationReason", revocation?.reason)
        members.integer("revocationDate", revocation?.date)
        members.text("revocationType", revocation?.type)
        members.integer("revocationPercentage", revocation?.percentage)
        members.flag("isUpgraded", isUpgraded ? true : nil)
        offer?.add(to: &members)
        members.text("environment", app.environment)
        members.text("transactionReason", reason)
        members.text("storefront", account.storefront)
        members.text("storefrontId", account.storefrontID)
        members.integer("price", account.isFamilyMember ? nil : price)
        members.text("currency", account.isFamilyMember ? nil : account.currency)
        members.text("appTransactionId", account.appTransactionID)
        if hasCommerceInfo {
            members.add("advancedCommerceInfo", StoreTransaction.commerceInfo(productID, price))
        }
        return members.json
    }

    private static func commerceInfo(_ product: String, _ price: Int64) -> JSON {
        var item = PayloadMembers()
        item.text("SKU", product)
        item.text("displayName", "Pro")
        item.text("description", "All of it")
        item.integer("price", price)
        var descriptors = PayloadMembers()
        descriptors.text("description", "All of it")
        descriptors.text("displayName", "Pro")
        var info = PayloadMembers()
        info.add("descriptors", descriptors.json)
        info.integer("estimatedTax", price / 10)
        info.add("items", .array([item.json]))
        info.text("period", "P1M")
        info.text("taxCode", "C003-00-2")
        info.integer("taxExclusivePrice", price - price / 10)
        info.text("taxRate", "0.1")
        return info.json
    }
}
