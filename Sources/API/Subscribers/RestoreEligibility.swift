import AppStore
import Base
import Customers
import Ingest
import Postgres
import Subscriptions

/// Whether a customer who has a transaction on their device could restore it, before they try.
package struct RestoreEligibility: Sendable {
    private let apps: AppRegistry
    private let verifier: SignedDataVerifier
    private let settings: RestoreSettings
    private let clock: any WallClock

    package init(
        apps: AppRegistry, verifier: SignedDataVerifier, settings: RestoreSettings, clock: any WallClock
    ) {
        self.apps = apps
        self.verifier = verifier
        self.settings = settings
        self.clock = clock
    }

    /// - Parameter token: a transaction that Apple signed. What is in a receipt of StoreKit 1 is Apple's to say, so that is
    ///   not judged.
    /// - Parameter app: the app whose key came with it; nil: any of ours.
    /// - Throws: `APIError`.
    package func isAllowed(
        _ token: String, of app: String?, to id: String, _ actions: CustomerActions, on connection: PostgresConnection
    ) throws -> Bool {
        try actions.mayRestore(
            try purchase(of: token, app), by: id, settings: settings, now: clock.now(), on: connection)
    }

    private func purchase(of token: String, _ app: String?) throws -> PurchaseKey {
        let text = Array(token.utf8)
        guard text.count(where: { $0 == UInt8(ascii: ".") }) == 2 else {
            throw APIError(
                400, code: 7662,
                "Only a StoreKit 2 transaction can be checked; the content of an app receipt is known to Apple only.")
        }
        guard case .success(let jws) = verifier.verify(text),
            let transaction = TransactionPayload(payload: jws.payload),
            let original = transaction.originalTransactionId
        else { throw APIError(400, code: 7103, "The receipt is not valid.") }
        guard
            let place = apps.place(bundleID: transaction.bundleId, environment: transaction.environment)
        else { throw APIError(400, code: 7103, "The receipt belongs to an app that is not configured here.") }
        guard app == nil || app == place.app else { throw APIError(TransactionAdmission.Rejection.otherApp) }
        return PurchaseKey(app: place.app, environment: place.environment, originalTransactionID: original)
    }
}
