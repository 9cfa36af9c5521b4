/// `data` of a notification (https://developer.apple.com/documentation/appstoreservernotifications/data).
package struct NotificationData: WirePayload {
    package let subject: NotificationSubject
    package let bundleVersion: String?
    /// A `TransactionPayload`, signed.
    package let signedTransactionInfo: String?
    /// A `RenewalInfoPayload`, signed. Of auto-renewable subscriptions only.
    package let signedRenewalInfo: String?
    /// Of auto-renewable subscriptions, as of the notification's `signedDate`: 1 active, 2 expired, 3 in billing retry,
    /// 4 in billing grace period, 5 revoked.
    package let status: Int64?
    /// Of CONSUMPTION_REQUEST: UNINTENDED_PURCHASE, FULFILLMENT_ISSUE, UNSATISFIED_WITH_PURCHASE, LEGAL, OTHER.
    package let consumptionRequestReason: String?

    package var bundleId: String? { subject.bundleId }
    package var appAppleId: Int64? { subject.appAppleId }
    package var environment: String? { subject.environment }

    package init(_ members: Members) {
        subject = NotificationSubject(members)
        bundleVersion = members.text("bundleVersion")
        signedTransactionInfo = members.text("signedTransactionInfo")
        signedRenewalInfo = members.text("signedRenewalInfo")
        status = members.integer("status")
        consumptionRequestReason = members.text("consumptionRequestReason")
    }
}
