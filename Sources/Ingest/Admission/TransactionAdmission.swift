import AppStore
import AppStoreAPI
import Base
import Database

/// The way in for what apps have from Apple and post: transactions, and the purchase of the app itself.
///
/// The sibling of `NotificationAdmission`: signature and chain at the date of signing, then whose it is, by the same rules. Data
/// of Xcode and of local tests never passes. Touches no database.
package struct TransactionAdmission: Sendable {
    private let apps: AppRegistry
    private let verifier: SignedDataVerifier
    private let dictionaries: HeaderDictionaries

    /// Why something is not taken. Waiting mends none but `unready`.
    package enum Rejection: Error, Sendable {
        /// No JWS, no chain to a trusted root, a bad signature.
        case unverified(VerificationFailure)
        /// Signed, and something else.
        case notWanted(String)
        case unknownApp(String)
        /// Of another app than the key.
        case otherApp
        case environmentNotAllowed(String)
        /// It could not be made ready, which is no fault of its own.
        case unready(String)
    }

    package init(apps: AppRegistry, verifier: SignedDataVerifier, dictionaries: HeaderDictionaries) {
        self.apps = apps
        self.verifier = verifier
        self.dictionaries = dictionaries
    }

    /// A transaction that may be stored.
    package struct Admitted: Sendable {
        package let place: AppScope
        package let originalTransactionID: String
        package let payload: TransactionPayload
        package let jws: VerifiedJWS
        /// What goes into the log; nil: nothing of it is new.
        package var entry: NewNotification?
    }

    /// The JWS of a transaction.
    ///
    /// - Parameters:
    ///   - app: the app whose key came with it; nil: any of ours.
    ///   - source: what brings it.
    package func admit(
        _ text: String, of app: String?, from source: NotificationSource = .posted
    ) -> Result<Admitted, Rejection> {
        let jws: VerifiedJWS
        switch verifier.verify(Array(text.utf8)) {
        case .success(let data): jws = data
        case .failure(let failure): return .failure(.unverified(failure))
        }
        guard SignedDataKind.detect(jws.payload) == .transaction,
            let payload = TransactionPayload(payload: jws.payload), let id = payload.originalTransactionId,
            payload.transactionId != nil, payload.productId != nil, payload.purchaseDate != nil
        else { return .failure(.notWanted("it is not a transaction")) }
        return place(apps.admit(bundleID: payload.bundleId, environment: payload.environment), app).flatMap { place in
            pack(.transaction(payload, jws, text: text, originalTransactionID: id, source), in: place).map { entry in
                Admitted(place: place, originalTransactionID: id, payload: payload, jws: jws, entry: entry)
            }
        }
    }

    /// An answer of Apple's about a subscription, which was verified when it came, as an entry of the log.
    package func admit(
        _ state: SubscriptionState, of place: AppScope, from source: NotificationSource = .status
    ) -> Result<NewNotification, Rejection> {
        pack(.status(state, source), in: place)
    }

    private func pack(_ payload: AdmittedPayload, in place: AppScope) -> Result<NewNotification, Rejection> {
        do throws(AdmittedPayload.PackingError) {
            return .success(try payload.packed(in: place, by: dictionaries))
        } catch {
            return .failure(.unready("\(error)"))
        }
    }

    /// The JWS of an app transaction. That it is of this device is the app's to check.
    package func admitAppTransaction(_ text: String, of app: String?) -> Result<AppTransactionPayload, Rejection> {
        let jws: VerifiedJWS
        switch verifier.verify(Array(text.utf8)) {
        case .success(let data): jws = data
        case .failure(let failure): return .failure(.unverified(failure))
        }
        guard SignedDataKind.detect(jws.payload) == .appTransaction,
            let payload = AppTransactionPayload(payload: jws.payload)
        else { return .failure(.notWanted("it is not an app transaction")) }
        return place(apps.admit(payload.subject), app).map { _ in payload }
    }

    private func place(_ admission: AppRegistry.Admission, _ wanted: String?) -> Result<AppScope, Rejection> {
        switch admission {
        case .unknownApp(let message): return .failure(.unknownApp(message))
        case .environmentNotAllowed(let message): return .failure(.environmentNotAllowed(message))
        case .admitted(let app, let environment):
            guard wanted == nil || wanted == app.id else {
                return .failure(.otherApp)
            }
            return .success(AppScope(app: app.id, environment: environment))
        }
    }
}
