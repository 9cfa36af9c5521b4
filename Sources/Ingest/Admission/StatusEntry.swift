import AppStore
import AppStoreAPI
import Base
import Crypto
import Database

/// An answer of Apple about one subscription, as an entry of the log.
///
/// Apple signs the two parts of it and not the whole, so the entry is an unsigned notification around them, of a type of
/// our own. It is applied like those that Apple sends, which verifies the parts again.
package enum StatusEntry {
    /// A `notificationType` that Apple does not have.
    package static let type = "STATUS"

    /// The same answer gives the same entry.
    ///
    /// - Throws: when it cannot be packed.
    package static func notification(
        _ state: SubscriptionState, of place: AppScope, _ dictionaries: HeaderDictionaries
    ) throws -> NewNotification {
        let signed = [state.transaction.text] + (state.renewal.map { [$0.text] } ?? [])
        let words = ["status", "\(state.status.rawValue)"] + signed
        let digest = Crypto.Digest.sha256(Array(words.joined(separator: "\n").utf8))
        let uuid = UUIDText.upper(Array(digest.prefix(16)))
        // Apple signs both when it answers; the status is as old as the newer one.
        let date = [state.transaction.payload.signedDate, state.renewal?.payload.signedDate].compactMap { $0 }.max()
        let payload = JSON.object([
            "notificationType": .string(type), "notificationUUID": .string(uuid),
            "data": .object([
                "bundleId": state.transaction.payload.bundleId.map { .string($0) },
                "environment": .string(place.environment.rawValue),
                "signedTransactionInfo": .string(state.transaction.text),
                "signedRenewalInfo": state.renewal.map { .string($0.text) },
                "status": .int(state.status.rawValue),
            ]),
            "version": .string("2.0"), "signedDate": date.map { .int($0) },
        ]).bytes
        let header = state.transaction.jws.header
        let headerID = StoredJWS.headerID(header)
        return NewNotification(
            identity: NotificationIdentity(app: place.app, environment: place.environment, uuid: uuid), type: type,
            subtype: nil, originalTransactionID: state.originalTransactionID, signedDate: date, source: .status,
            header: header,
            stored: StoredJWS(
                headerID: headerID, payload: try dictionaries.compress(payload, header: header, id: headerID),
                signature: []))
    }
}
