/// `appData` of RESCIND_CONSENT (https://developer.apple.com/documentation/appstoreservernotifications/appdata).
package struct AppData: WirePayload {
    package let subject: NotificationSubject
    /// An `AppTransactionPayload`, signed.
    package let signedAppTransactionInfo: String?

    package init(_ members: Members) {
        subject = NotificationSubject(members)
        signedAppTransactionInfo = members.text("signedAppTransactionInfo")
    }
}
