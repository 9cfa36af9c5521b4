import AppStore
import Base
import Database

/// The one way in for notifications, whoever brings them: Apple to the endpoint, or we from its history.
///
/// Cheap checks first, then signature and chain at the date of signing, then whose it is. Touches no database.
package struct NotificationAdmission: Sendable {
    private let apps: AppRegistry
    private let verifier: SignedDataVerifier
    private let dictionaries: HeaderDictionaries

    /// Why a notification is not taken.
    package enum Rejection: Error, Sendable {
        /// No JWS, no chain to a trusted root, a bad signature.
        case unverified(VerificationFailure)
        /// Signed, and something else.
        case noNotification
        case unknownApp(NotificationSubject?, String)
        case environmentNotAllowed(NotificationSubject?, String)
        /// It could not be made ready, which is no fault of its own.
        case unready(String)
    }

    package init(apps: AppRegistry, verifier: SignedDataVerifier, dictionaries: HeaderDictionaries) {
        self.apps = apps
        self.verifier = verifier
        self.dictionaries = dictionaries
    }

    /// A compact JWS as a notification that may be stored.
    package func admit(_ jws: [UInt8], from source: NotificationSource) -> Result<NewNotification, Rejection> {
        let verified: VerifiedJWS
        switch verifier.verify(jws) {
        case .success(let data): verified = data
        case .failure(let failure): return .failure(.unverified(failure))
        }
        guard let payload = NotificationPayload(payload: verified.payload) else { return .failure(.noNotification) }
        switch apps.admit(payload.subject) {
        case .unknownApp(let message): return .failure(.unknownApp(payload.subject, message))
        case .environmentNotAllowed(let message): return .failure(.environmentNotAllowed(payload.subject, message))
        case .admitted(let app, let environment):
            return notification(payload, verified, app.id, environment, source)
        }
    }

    private func notification(
        _ payload: NotificationPayload, _ verified: VerifiedJWS, _ app: String, _ environment: StoreEnvironment,
        _ source: NotificationSource
    ) -> Result<NewNotification, Rejection> {
        let headerID = StoredJWS.headerID(verified.header)
        let packed: [UInt8]
        do {
            packed = try dictionaries.compress(verified.payload, header: verified.header, id: headerID)
        } catch {
            return .failure(.unready("a payload could not be compressed: \(error)"))
        }
        return .success(
            NewNotification(
                identity: NotificationIdentity(app: app, environment: environment, uuid: payload.notificationUUID),
                type: payload.notificationType.rawValue, subtype: payload.subtype?.rawValue,
                originalTransactionID: payload.statedOriginalTransactionId, signedDate: payload.signedDate,
                source: source, header: verified.header,
                stored: StoredJWS(headerID: headerID, payload: packed, signature: verified.signature)))
    }
}
