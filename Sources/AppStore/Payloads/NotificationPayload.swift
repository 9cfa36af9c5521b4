/// The payload of a notification
/// (https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload).
package struct NotificationPayload: WirePayload {
    package let notificationType: NotificationType
    package let subtype: NotificationSubtype?
    /// Apple's key for recognising a notification that comes again.
    package let notificationUUID: String
    /// "2.0".
    package let version: String?
    /// Milliseconds since 1970. Absent in data of early 2022.
    package let signedDate: Int64?
    /// Of the next four there is one, in every kind of notification known.
    package let data: NotificationData?
    package let summary: ExtensionSummary?
    package let externalPurchaseToken: ExternalPurchaseToken?
    package let appData: AppData?
    /// The app and environment it is about; nil if nothing in it says so.
    package let subject: NotificationSubject?

    /// Throws without a type or a UUID: such a thing is no notification.
    package init(_ members: Members) throws {
        guard let type = members.text("notificationType"), !type.isEmpty,
            let uuid = members.text("notificationUUID"), !uuid.isEmpty
        else { throw MissingMember() }
        notificationType = NotificationType(rawValue: type)
        notificationUUID = uuid
        subtype = members.text("subtype").map(NotificationSubtype.init)
        version = members.text("version")
        signedDate = members.integer("signedDate")
        data = members.object("data")
        summary = members.object("summary")
        externalPurchaseToken = members.object("externalPurchaseToken")
        appData = members.object("appData")
        subject =
            data?.subject ?? summary?.subject ?? externalPurchaseToken?.subject ?? appData?.subject
            ?? NotificationPayload.subject(inUnknown: members)
    }

    /// Of a kind of notification that is not known yet: any object that names an app and an environment. The first by
    /// name, so that the same notification always gives the same answer.
    private static func subject(inUnknown members: Members) -> NotificationSubject? {
        for name in members.names.sorted() {
            if let found: NotificationSubject = members.object(MemberName(stringValue: name)),
                found.bundleId != nil, found.environment != nil
            {
                return found
            }
        }
        return nil
    }
}

/// A payload lacks what it cannot do without.
struct MissingMember: Error {}
