import AppStore
import Base
import Database

/// The one way in for notifications, whether Apple posts them to the endpoint or they are fetched from its history.
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
            do throws(AdmittedPayload.PackingError) {
                return .success(
                    try AdmittedPayload.notification(payload, verified, source).packed(
                        in: AppScope(app: app.id, environment: environment), by: dictionaries))
            } catch {
                return .failure(.unready("\(error)"))
            }
        }
    }
}
