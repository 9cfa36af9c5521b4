import Base

/// Which restore behaviour counts for a purchase (`restore_behavior`).
package struct RestoreSettings: Sendable, Equatable {
    private let general: RestoreBehavior

    package init(general: RestoreBehavior) {
        self.general = general
    }

    /// - Parameter override: what is set for the customer who owns the purchase.
    package func behavior(
        app: String, environment: StoreEnvironment, override: RestoreBehavior?
    ) -> RestoreBehavior {
        override ?? general
    }
}
