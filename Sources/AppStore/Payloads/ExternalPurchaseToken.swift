/// `externalPurchaseToken` of EXTERNAL_PURCHASE_TOKEN
/// (https://developer.apple.com/documentation/appstoreservernotifications/externalpurchasetoken).
package struct ExternalPurchaseToken: WirePayload {
    package let subject: NotificationSubject
    package let externalPurchaseId: String?
    /// Milliseconds since 1970.
    package let tokenCreationDate: Int64?
    /// SERVICES or ACQUISITION.
    package let tokenType: String?
    /// Milliseconds since 1970.
    package let tokenExpirationDate: Int64?

    /// It names no environment: the identifiers of the sandbox begin with "SANDBOX".
    package init(_ members: Members) {
        let identifier = members.text("externalPurchaseId")
        subject = NotificationSubject(
            bundleId: members.text("bundleId"), appAppleId: members.integer("appAppleId"),
            environment: identifier?.hasPrefix("SANDBOX") == true ? "Sandbox" : "Production")
        externalPurchaseId = identifier
        tokenCreationDate = members.integer("tokenCreationDate")
        tokenType = members.text("tokenType")
        tokenExpirationDate = members.integer("tokenExpirationDate")
    }
}
