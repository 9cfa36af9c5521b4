import Base
import Daemon
import Database

extension Configuration {
    package struct Worker: Sendable {
        /// How long a lane stays with a worker that does not renew it.
        package let lease: Duration
        /// How long after its expiry a subscription that should renew is believed to have ended.
        package let expiryPatience: Duration

        init(_ section: ConfigurationSection) {
            lease = section.value(
                "lease", .duration(.seconds(2)...(.seconds(300))), default: .seconds(10),
                "How long a lane stays with a worker that is gone, before another worker takes it; renewed at a third of it."
            )
            expiryPatience = section.value(
                "expiry_patience", .duration(.zero...(.seconds(30 * 86400))), default: .seconds(86400),
                "How long after its expiry a subscription that should renew is believed to have ended, if Apple says nothing;"
                    + " six hours at most where Apple's history was looked through since (apps[].server_api) and holds no"
                    + " news of it.")
        }
    }

    /// Retention of everything that is not kept without end.
    package struct Retention: Sendable {
        package let notifications: Duration
        package let attempts: Duration
        package let events: Duration
        /// Zero: without end.
        package let emptyCustomers: Duration

        private static let longest = Duration.seconds(3650 * 86400)
        /// As far back as Apple's history reaches: what is in it may come again.
        private static let history = Duration.seconds(180 * 86400)

        init(_ section: ConfigurationSection) {
            notifications = section.value(
                "notifications", .duration(Retention.history...Retention.longest), default: .seconds(400 * 86400),
                "How long notifications are kept as Apple sent them, for `notifications show` and `reprocess`; what they said"
                    + " of purchases is kept forever. A copy that comes later than this, or than 180 days, counts as new and"
                    + " changes nothing.")
            attempts = section.value(
                "attempts", .duration(.seconds(7 * 86400)...Retention.longest), default: .seconds(90 * 86400),
                "How long the outcome of each attempt to deliver a webhook is kept; not longer than retention.events.")
            events = section.value(
                "events", .duration(Retention.history...Retention.longest), default: .seconds(400 * 86400),
                "How long bodies of events and their finished deliveries are kept, from the last thing that happened to them."
                    + " An event's id is never used again.")
            emptyCustomers = section.value(
                "empty_customers", .durationOrNever(.seconds(86400)...Retention.longest), default: .seconds(90 * 86400),
                "How long a customer with nothing but an id is kept after the last request for it: no attributes, purchases"
                    + " or aliases. A later request with the id creates the customer again. 0s or never keeps it without end."
            )
        }
    }

    /// Looking into Apple's notification history.
    package struct Reconcile: Sendable {
        package let isEnabled: Bool
        package let interval: Duration
        /// Of each app; 0: never.
        package let statusCallsPerHour: Int64

        init(_ section: ConfigurationSection) {
            isEnabled = section.value(
                "enabled", .flag, default: true,
                "Whether the worker looks into Apple's notification history by itself, for every app with server_api. Off:"
                    + " only `entitled replay history` does.")
            interval = section.value(
                "interval", .duration(.seconds(60)...(.seconds(86400))), default: .seconds(3600),
                "How often it looks. What Apple could not deliver is found so soon, all else within a day.")
            statusCallsPerHour = section.value(
                "status_calls_per_hour", .integer(0...36000, unit: "(calls)"), default: 600,
                "How often at most, for each app, Apple is asked for the status of subscriptions that ended without a word or"
                    + " are in billing retry. 0: never.")
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
