import Base
import Daemon
import Database

extension Configuration {
    package struct Worker: Sendable {
        /// How long a lane stays with a worker that does not renew it.
        package let lease: Duration
        /// How long after its expiry a subscription that should renew is confirmed to have ended.
        package let expiryPatience: Duration

        init(_ section: ConfigurationSection) {
            lease = section.value(
                "lease", .duration(.seconds(2)...(.seconds(300))), default: .seconds(10),
                "Time after which another worker takes over a lane whose worker is gone; renewed at a third of it."
            )
            expiryPatience = section.value(
                "expiry_patience", .duration(.zero...(.seconds(30 * 86400))), default: .seconds(86400),
                "How long after its expiry a subscription that should renew waits for a notification before EXPIRATION is"
                    + " sent; six hours at most if a scan of Apple's history since then (apps[].server_api) found"
                    + " nothing. Access ends at the expiry.")
        }
    }

    /// Retention of everything that is not kept without end.
    package struct Retention: Sendable {
        package let notifications: Duration
        package let attempts: Duration
        package let events: Duration
        /// Zero: without end.
        package let emptyCustomers: Duration
        package let audit: Duration

        private static let longest = Duration.seconds(3650 * 86400)
        /// As far back as Apple's history reaches: what is in it may come again.
        private static let history = Duration.seconds(180 * 86400)

        init(_ section: ConfigurationSection) {
            notifications = section.value(
                "notifications", .duration(Retention.history...Retention.longest), default: .seconds(400 * 86400),
                "How long notifications are stored as Apple sent them, for `notifications show` and `reprocess`; their facts"
                    + " are stored forever. A copy that arrives later than this, or than 180 days, counts as new and"
                    + " changes nothing.")
            attempts = section.value(
                "attempts", .duration(.seconds(7 * 86400)...Retention.longest), default: .seconds(90 * 86400),
                "How long outcomes of attempts are stored; not longer than retention.events.")
            events = section.value(
                "events", .duration(Retention.history...Retention.longest), default: .seconds(400 * 86400),
                "How long bodies of events and their finished deliveries are stored, from their last change."
                    + " An event's id is never used again.")
            emptyCustomers = section.value(
                "empty_customers", .durationOrNever(.seconds(86400)...Retention.longest), default: .seconds(90 * 86400),
                "How long a customer with nothing but an id is kept after the last request for it: no attributes, purchases"
                    + " or aliases. A later request with the id creates the customer again. 0s or never: it is kept"
                    + " forever."
            )
            audit = section.value(
                "audit", .duration(.seconds(30 * 86400)...Retention.longest), default: .seconds(400 * 86400),
                "How long the audit is stored: which operator changed what, and which requests of whom were rejected.")
        }
    }

    /// Looking into Apple's notification history.
    package struct Reconcile: Sendable {
        package let isEnabled: Bool
        package let interval: Duration
        /// Of each app; 0 disables it.
        package let statusCallsPerHour: Int64

        init(_ section: ConfigurationSection) {
            isEnabled = section.value(
                "enabled", .flag, default: true,
                "Whether a worker scans Apple's notification history by itself, for every app with server_api. Off:"
                    + " only `entitled replay history` does.")
            interval = section.value(
                "interval", .duration(.seconds(60)...(.seconds(86400))), default: .seconds(3600),
                "Time between two scans. Notifications that Apple could not deliver are found within it, all others within a day."
            )
            statusCallsPerHour = section.value(
                "status_calls_per_hour", .integer(0...36000, unit: "(calls)"), default: 600,
                "Maximum status polls per app and hour, of subscriptions that ended without a notification or are in billing"
                    + " retry. 0 disables them.")
        }
    }

    /// Customers whose sandbox purchases give entitlements.
    package enum SandboxAccess: Sendable, Equatable {
        case all
        case none
        /// These app user ids only.
        case customers([String])
    }

    /// Personal data of customers.
    package struct Privacy: Sendable {
        package let deletion: DeletionPolicy

        init(_ section: ConfigurationSection) {
            deletion = section.value(
                "deletion", .word, default: .pseudonymise,
                "What happens to stored data when a customer is deleted. pseudonymise: purchases, events and the log stay, and"
                    + " name no person. erase: everything about their purchases goes too.")
        }
    }
}
