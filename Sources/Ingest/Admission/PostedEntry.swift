import AppStore
import Base
import Database

/// A transaction that an app posted, as an entry of the log.
///
/// Apple signed the transaction and nobody what is around it: an unsigned notification of a type of our own. It is applied
/// like those that Apple sends, which verifies the transaction again and takes nothing else.
package enum PostedEntry {
    /// A `notificationType` that Apple does not have.
    package static let type = "TRANSACTION"

    /// The same signed words give the same entry.
    ///
    /// - Parameter text: the compact JWS.
    /// - Throws: when it cannot be packed.
    static func notification(
        _ text: String, _ jws: VerifiedJWS, _ payload: TransactionPayload, _ originalTransactionID: String,
        of place: AppScope, _ dictionaries: HeaderDictionaries
    ) throws -> NewNotification {
        let identity = NotificationIdentity.posted(jws.payload, app: place.app, environment: place.environment)
        let date = payload.signedDate ?? payload.purchaseDate
        let envelope = JSON.object([
            "notificationType": .string(type), "notificationUUID": .string(identity.uuid),
            "data": .object([
                "bundleId": payload.bundleId.map { .string($0) }, "environment": .string(place.environment.rawValue),
                "signedTransactionInfo": .string(text),
            ]),
            "version": .string("2.0"), "signedDate": date.map { .int($0) },
        ]).bytes
        let headerID = StoredJWS.headerID(jws.header)
        return NewNotification(
            identity: identity, type: type, subtype: nil, originalTransactionID: originalTransactionID,
            signedDate: date, source: .posted,
            header: jws.header,
            stored: StoredJWS(
                headerID: headerID, payload: try dictionaries.compress(envelope, header: jws.header, id: headerID),
                signature: []))
    }
}
