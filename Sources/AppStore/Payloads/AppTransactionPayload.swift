/// The purchase of an app itself (https://developer.apple.com/documentation/storekit/apptransaction).
/// Dates are milliseconds since 1970.
package struct AppTransactionPayload: WirePayload {
    /// The environment.
    package let receiptType: String?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let applicationVersion: String?
    package let versionExternalIdentifier: Int64?
    /// The date of signing.
    package let receiptCreationDate: Int64?
    package let originalPurchaseDate: Int64?
    package let originalApplicationVersion: String?
    package let deviceVerification: String?
    package let deviceVerificationNonce: String?
    package let preorderDate: Int64?
    package let appTransactionId: String?
    /// iOS, macOS, tvOS, visionOS.
    package let originalPlatform: String?

    package var subject: NotificationSubject {
        NotificationSubject(bundleId: bundleId, appAppleId: appAppleId, environment: receiptType)
    }

    package init(_ members: Members) {
        receiptType = members.text("receiptType")
        appAppleId = members.integer("appAppleId")
        bundleId = members.text("bundleId")
        applicationVersion = members.text("applicationVersion")
        versionExternalIdentifier = members.integer("versionExternalIdentifier")
        receiptCreationDate = members.integer("receiptCreationDate")
        originalPurchaseDate = members.integer("originalPurchaseDate")
        originalApplicationVersion = members.text("originalApplicationVersion")
        deviceVerification = members.text("deviceVerification")
        deviceVerificationNonce = members.text("deviceVerificationNonce")
        preorderDate = members.integer("preorderDate")
        appTransactionId = members.text("appTransactionId")
        originalPlatform = members.text("originalPlatform")
    }
}
