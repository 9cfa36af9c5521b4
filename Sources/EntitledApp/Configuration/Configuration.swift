import API
import AppStore
import Base
import Daemon
import Database
import Subscriptions
import Worker

/// Everything an operator can set, checked: its users need not check again.
///
/// Where each value comes from, and what it may be, is in `ConfigurationKeys`.
package struct Configuration: Sendable {
    /// Absolute path of what is kept outside the database.
    package let stateDirectory: String
    package let database: Database
    package let ingest: Ingest
    package let worker: Worker
    package let retention: Retention
    package let reconcile: Reconcile
    package let entitlementsFromSandbox: SandboxAccess
    /// How long grace lasts where Apple says that there is some and gives no end.
    package let defaultGracePeriod: Duration
    package let restoreBehavior: RestoreBehavior
    package let privacy: Privacy
    package let api: API
    package let admin: Admin
    package let trust: Trust
    package let apps: [App]
    /// Entitlement to the product ids that give it, by name.
    package let entitlements: [String: [String]]
    /// How long what does not renew gives access, by product; without end where none is set.
    package let productDurations: [String: ProductDuration]
    package let offerings: OfferingCatalogue
    package let reports: Reports
    package let webhooks: Webhooks
    /// How long a process may take to end in order.
    package let drainTimeout: Duration
    package let log: Log
    /// Every value in force and where it was set, secrets hidden: for `check-config`.
    package let settings: [EffectiveSetting]

    package var foldSettings: FoldSettings {
        FoldSettings(defaultGrace: defaultGracePeriod, durations: productDurations)
    }

    /// Where Postgres is. Without any URL a private cluster in the state directory serves.
    package struct Database: Sendable {
        package enum Role: String, Sendable, CaseIterable {
            case ingest, worker, api
        }

        /// The owner's: `migrate` uses it, and every role without a URL of its own.
        package let url: Redacted<String>?
        package let ingestURL: Redacted<String>?
        package let workerURL: Redacted<String>?
        package let apiURL: Redacted<String>?

        /// What the role connects with; nil means the private cluster.
        package func url(for role: Role) -> Redacted<String>? { ownURL(of: role) ?? url }

        /// The role's own, if it was given: then the role need not be taken after connecting.
        package func ownURL(of role: Role) -> Redacted<String>? {
            switch role {
            case .ingest: ingestURL
            case .worker: workerURL
            case .api: apiURL
            }
        }

        /// Whether no URL at all was given.
        package var isPrivateCluster: Bool {
            url == nil && ingestURL == nil && workerURL == nil && apiURL == nil
        }
    }

    /// The store's endpoint.
    package struct Ingest: Sendable {
        package let listen: ListenAddress
        package let maxBodyBytes: Int
        package let headerTimeout: Duration
        package let bodyTimeout: Duration
        package let idleTimeout: Duration
        package let maxConnections: Int
        package let maxConnectionsPerAddress: Int
        /// nil: plain HTTP, behind a proxy.
        package let tls: TLSFiles?
    }

    package struct Worker: Sendable {
        /// How long a lane stays with a worker that does not renew it.
        package let lease: Duration
        /// How long after its expiry a subscription that should renew is believed to have ended.
        package let expiryPatience: Duration
    }

    /// Retention of everything that is not kept without end.
    package struct Retention: Sendable {
        package let notifications: Duration
        package let attempts: Duration
        package let events: Duration
        /// Zero: without end.
        package let emptyCustomers: Duration
    }

    /// Looking into Apple's notification history.
    package struct Reconcile: Sendable {
        package let isEnabled: Bool
        package let interval: Duration
        /// Of each app; 0: never.
        package let statusCallsPerHour: Int64
    }

    /// What becomes of the data of customers.
    package struct Privacy: Sendable {
        package let deletion: DeletionPolicy
    }

    /// Whose sandbox purchases give entitlements.
    package enum SandboxAccess: Sendable, Equatable {
        case all
        case none
        /// These app user ids only.
        case customers([String])
    }

    package struct API: Sendable {
        package let listen: ListenAddress
        package let publicKeys: [Redacted<String>]
        package let secretKeys: [Redacted<String>]
        package let applyTimeout: Duration
        package let maxConnectionsPerAddress: Int
        /// `*` for any.
        package let corsOrigins: [String]
        /// What callers may cost, and the proxies that say who they are.
        package let limits: LimitSettings
    }

    package struct Admin: Sendable {
        package let listen: ListenAddress
    }

    /// The roots that a chain may end in: by digest, or as a certificate from a file.
    package struct Trust: Sendable {
        /// 32 bytes each.
        package let rootSHA256: [[UInt8]]
        /// DER, from all of `root_files`.
        package let rootCertificates: [[UInt8]]
        /// 32 bytes each, for app receipts.
        package let receiptRootSHA256: [[UInt8]]
        /// How much it counts whether certificates are revoked.
        package let ocsp: RevocationMode
    }

    package struct App: Sendable {
        /// What app account tokens are.
        package enum AccountTokens: String, Sendable, CaseIterable {
            case appUserIDs = "app_user_ids"
            case ignored
        }

        package let id: String
        package let bundleID: String
        /// Never nil where `environments` has production.
        package let appleAppID: Int64?
        /// In the order of the configuration, each once.
        package let environments: [StoreEnvironment]
        /// What this app alone carries.
        package let publicKeys: [Redacted<String>]
        /// In place of the general one; nil: that counts.
        package let restoreBehavior: RestoreBehavior?
        /// The same for the sandbox alone.
        package let sandboxRestoreBehavior: RestoreBehavior?
        /// How long the first event of a purchase waits for the name of its buyer.
        package let ownerWait: OwnerWait.Setting
        package let accountTokens: AccountTokens
        /// What Apple keeps of prices; never empty.
        package let commission: [SellerTerms.Commission]
        package let serverAPI: ServerAPI?
        package let subscriptionOffers: SubscriptionOffers?
        package let refunds: Refunds
    }

    /// What is done where Apple asks before it decides on a refund.
    package struct Refunds: Sendable {
        package enum Policy: String, Sendable, CaseIterable {
            case never, auto, ask
        }

        package enum Preference: String, Sendable, CaseIterable {
            case decline
            case grantFull = "grant_full"
        }

        package let policy: Policy
        package let preference: Preference?
        /// Whether all customers have agreed that Apple is told of their use.
        package let hasConsent: Bool
        package let providesSamples: Bool
    }

    /// Credentials for Apple's App Store Server API.
    package struct ServerAPI: Sendable {
        package let issuerID: String
        package let keyID: String
        /// Absolute path; its content is read by the processes that sign with it, and by no other.
        package let privateKeyFile: String
        /// Without a slash at its end; nil for Apple's own.
        package let baseURL: String?
        /// In place of `baseURL` for the sandbox.
        package let sandboxBaseURL: String?
        /// Another key, which serves where Apple refuses the first: while one replaces the other.
        package let previous: PreviousKey?
    }

    /// The key that signs promotional offers.
    package struct SubscriptionOffers: Sendable {
        package let keyID: String
        /// Absolute path.
        package let privateKeyFile: String
    }

    /// The other key for Apple's Server API.
    package struct PreviousKey: Sendable {
        package let issuerID: String
        package let keyID: String
        /// Absolute path.
        package let privateKeyFile: String
    }

    /// What is not signed and matters to money.
    package struct Reports: Sendable {
        /// Share of the price by country (ISO 3166 alpha-2).
        package let tax: [String: Share]
    }

    package struct Webhooks: Sendable {
        /// The waits after the end of the previous attempt; one attempt more than these.
        package let retrySchedule: [Duration]
        package let timeout: Duration
        /// Requests to one endpoint at the same time, of all workers together.
        package let maxInFlightPerEndpoint: Int
        /// Requests of one worker at the same time.
        package let maxInFlight: Int
        /// How long an endpoint may fail; zero: without end.
        package let disableAfter: Duration
        /// Where operators are told of endpoints.
        package let operationsURL: String?
        /// CIDR ranges of private addresses that consumers may have.
        package let allowPrivateNetworks: [String]
        /// Nil: consumers are connected to directly.
        package let proxy: Redacted<String>?
        package let http2: Bool
        package let keepResponseBodies: Bool
        /// Millionths of a US dollar per unit, by currency.
        package let usdRates: [String: Int64]
        /// 32 bytes each, the newest first; empty: the key in the state directory.
        package let secretKeys: [Redacted<[UInt8]>]
    }

    package struct Log: Sendable {
        package let level: Logger.Level
    }
}

/// One value in force, as `check-config` shows it.
package struct EffectiveSetting: Sendable, Equatable {
    package enum Origin: Sendable, Equatable {
        case standard, file
        case variable(String)

        package var text: String {
            switch self {
            case .standard: "default"
            case .file: "file"
            case .variable(let name): name
            }
        }
    }

    /// Dotted, with indices: `apps[0].bundle_id`.
    package let key: String
    /// As the file would say it; a text that hides it for secrets.
    package let value: JSON
    package let origin: Origin
}
