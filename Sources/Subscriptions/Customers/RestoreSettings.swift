import Base

/// Which restore behaviour counts for a purchase (`restore_behavior`): what is set for the customer who owns it, else for
/// its app and environment, else for all.
///
/// The owner's, because it says what may be taken from them: the customer who restores must not be able to bring a laxer rule.
package struct RestoreSettings: Sendable, Equatable {
    /// What is set for one app; nil: nothing of its own.
    package struct App: Sendable, Equatable {
        package let behavior: RestoreBehavior?
        /// For its sandbox, in place of the other.
        package let sandboxBehavior: RestoreBehavior?

        package init(behavior: RestoreBehavior?, sandboxBehavior: RestoreBehavior?) {
            self.behavior = behavior
            self.sandboxBehavior = sandboxBehavior
        }
    }

    private let general: RestoreBehavior
    private let apps: [String: App]

    /// - Parameter apps: by their ids.
    package init(general: RestoreBehavior, apps: [String: App] = [:]) {
        self.general = general
        self.apps = apps
    }

    /// - Parameter override: what is set for the customer who owns the purchase.
    package func behavior(
        app: String, environment: StoreEnvironment, override: RestoreBehavior?
    ) -> RestoreBehavior {
        let own = apps[app]
        let sandbox = environment == .sandbox ? own?.sandboxBehavior : nil
        return override ?? sandbox ?? own?.behavior ?? general
    }
}
