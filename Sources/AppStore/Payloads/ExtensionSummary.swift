/// `summary` of RENEWAL_EXTENSION/SUMMARY
/// (https://developer.apple.com/documentation/appstoreservernotifications/summary).
package struct ExtensionSummary: WirePayload {
    package let subject: NotificationSubject
    package let requestIdentifier: String?
    package let productId: String?
    /// Three-letter codes; absent if the request was for all storefronts.
    package let storefrontCountryCodes: [String]?
    package let succeededCount: Int64?
    package let failedCount: Int64?

    package init(_ members: Members) {
        subject = NotificationSubject(members)
        requestIdentifier = members.text("requestIdentifier")
        productId = members.text("productId")
        storefrontCountryCodes = members.texts("storefrontCountryCodes")
        succeededCount = members.integer("succeededCount")
        failedCount = members.integer("failedCount")
    }
}
