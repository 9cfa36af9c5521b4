import Base

/// What one purchase is known by: everything that happens to a subscription keeps its original transaction id.
package struct PurchaseKey: Sendable, Hashable {
    /// The id of the app in the configuration.
    package let app: String
    package let environment: StoreEnvironment
    package let originalTransactionID: String

    package init(app: String, environment: StoreEnvironment, originalTransactionID: String) {
        self.app = app
        self.environment = environment
        self.originalTransactionID = originalTransactionID
    }
}
