import AppStore
import AppStoreAPI
import Base
import Crypto
import Database

/// A verified payload on its way into the log, and the one place where it becomes a stored notification.
///
/// Apple signs a notification whole. Of a posted transaction and of a status answer it signs the parts only: such a payload
/// is stored in an unsigned notification of a type that Apple does not have. The worker applies it like Apple's own, verifies
/// the parts again and reads nothing else of it.
package enum AdmittedPayload: Sendable {
    /// A notification of Apple's: sent to the endpoint, or found in the notification history.
    case notification(NotificationPayload, VerifiedJWS, NotificationSource)
    /// A transaction that an app posted, as a compact JWS (`text`) and decoded.
    case transaction(
        TransactionPayload, VerifiedJWS, text: String, originalTransactionID: String, NotificationSource = .posted)
    /// Apple's answer about one subscription.
    case status(SubscriptionState, NotificationSource = .status)

    /// The stored `notificationType` of a posted transaction.
    package static let transactionType = "TRANSACTION"
    /// The stored `notificationType` of a status answer.
    package static let statusType = "STATUS"

    /// A payload that the compression refused, which is no fault of the payload.
    package struct PackingError: Error, CustomStringConvertible {
        package let description: String
    }

    /// The notification as it is stored. The same signed content gives the same notification, so that storing it again adds
    /// nothing.
    package func packed(
        in scope: AppScope, by dictionaries: HeaderDictionaries
    ) throws(PackingError) -> NewNotification {
        switch self {
        case .notification(let payload, let jws, let source):
            try pack(
                payload, jws,
                identity: NotificationIdentity(
                    app: scope.app, environment: scope.environment, uuid: payload.notificationUUID),
                source, dictionaries)
        case .transaction(let payload, let jws, let text, let originalTransactionID, let source):
            try pack(
                envelope: [
                    "bundleId": payload.bundleId.map { .string($0) },
                    "environment": .string(scope.environment.rawValue),
                    "signedTransactionInfo": .string(text),
                ],
                header: jws.header, identity: .posted(jws.payload, app: scope.app, environment: scope.environment),
                type: AdmittedPayload.transactionType, originalTransactionID: originalTransactionID,
                signedDate: payload.signedDate ?? payload.purchaseDate, source, dictionaries)
        case .status(let state, let source):
            try pack(
                envelope: [
                    "bundleId": state.transaction.payload.bundleId.map { .string($0) },
                    "environment": .string(scope.environment.rawValue),
                    "signedTransactionInfo": .string(state.transaction.text),
                    "signedRenewalInfo": state.renewal.map { .string($0.text) },
                    "status": .int(state.status.rawValue),
                ],
                header: state.transaction.jws.header,
                identity: NotificationIdentity(
                    app: scope.app, environment: scope.environment, uuid: AdmittedPayload.uuid(of: state)),
                type: AdmittedPayload.statusType, originalTransactionID: state.originalTransactionID,
                // Apple signs both parts when it answers, so the status is as old as the newer one.
                signedDate: [state.transaction.payload.signedDate, state.renewal?.payload.signedDate].compactMap { $0 }
                    .max(),
                source, dictionaries)
        }
    }

    private static func uuid(of state: SubscriptionState) -> String {
        let signed = [state.transaction.text] + (state.renewal.map { [$0.text] } ?? [])
        let words = ["status", "\(state.status.rawValue)"] + signed
        return UUIDText.upper(Array(Digest.sha256(Array(words.joined(separator: "\n").utf8)).prefix(16)))
    }

    private func pack(
        _ payload: NotificationPayload, _ jws: VerifiedJWS, identity: NotificationIdentity,
        _ source: NotificationSource, _ dictionaries: HeaderDictionaries
    ) throws(PackingError) -> NewNotification {
        NewNotification(
            identity: identity, type: payload.notificationType.rawValue, subtype: payload.subtype?.rawValue,
            originalTransactionID: payload.statedOriginalTransactionId, signedDate: payload.signedDate, source: source,
            header: jws.header,
            stored: try stored(jws.payload, header: jws.header, signature: jws.signature, dictionaries))
    }

    private func pack(
        envelope data: KeyValuePairs<String, JSON?>, header: [UInt8], identity: NotificationIdentity, type: String,
        originalTransactionID: String, signedDate: Int64?, _ source: NotificationSource,
        _ dictionaries: HeaderDictionaries
    ) throws(PackingError) -> NewNotification {
        let body = JSON.object([
            "notificationType": .string(type), "notificationUUID": .string(identity.uuid), "data": .object(data),
            "version": .string("2.0"), "signedDate": signedDate.map { .int($0) },
        ]).bytes
        return NewNotification(
            identity: identity, type: type, subtype: nil, originalTransactionID: originalTransactionID,
            signedDate: signedDate, source: source, header: header,
            stored: try stored(body, header: header, signature: [], dictionaries))
    }

    private func stored(
        _ payload: [UInt8], header: [UInt8], signature: [UInt8], _ dictionaries: HeaderDictionaries
    ) throws(PackingError) -> StoredJWS {
        let id = StoredJWS.headerID(header)
        do {
            return StoredJWS(
                headerID: id, payload: try dictionaries.compress(payload, header: header, id: id),
                signature: signature)
        } catch {
            throw PackingError(description: "a payload could not be compressed: \(error)")
        }
    }
}
