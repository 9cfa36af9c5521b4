import Base
import Daemon
import Subscriptions

/// Everything an operator can set, checked: its users need not check again.
///
/// A key is declared where it is read, in the initializer of its section. `ConfigurationKeys` lists what the initializers
/// read; the JSON Schema, the example file and the help of `check-config` follow from that list.
package struct Configuration: Sendable {
    /// Absolute path of the directory with everything that is kept outside the database.
    package let stateDirectory: String
    /// Absolute path of the directory whose files give secret keys; nil: there is none.
    package let secretsDirectory: String?
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
    package let console: Console
    package let admin: Admin
    package let trust: Trust
    package let apps: [App]
    /// Product ids by the entitlement that they give.
    package let entitlements: [String: [String]]
    /// How long products that do not renew give access; without end where none is set.
    package let productDurations: [String: ProductDuration]
    package let offerings: OfferingCatalogue
    package let reports: Reports
    package let webhooks: Webhooks
    /// How long a process may take to end in order.
    package let drainTimeout: Duration
    /// From SIGTERM to the beginning of the drain.
    package let drainDelay: Duration
    package let log: Log
    package let telemetry: Telemetry
    /// Every value in force and where it was set, secrets hidden: for `check-config`.
    package let settings: [EffectiveSetting]
    /// SHA-256 of every value in force, secrets included, by its key.
    let fingerprints: [String: [UInt8]]

    init(_ section: ConfigurationSection) {
        stateDirectory = section.value(
            "state_dir", .path, default: section.context.isSuperuser ? "/var/lib/entitled" : "./.entitled",
            "Directory for the private Postgres cluster and the key that encrypts stored secrets. Started by root, the"
                + " default is /var/lib/entitled. A path that does not begin with a slash begins at the current directory."
        )
        secretsDirectory = section.value(
            "secrets_dir", .optional(.path), default: nil, example: #""/etc/entitled/secrets""#,
            "Directory with files that give secret keys which are set nowhere else, named after the key:"
                + " database.worker_url stands in database_worker_url. A file that this user may not read counts as not there."
                + " `entitled setup` writes them.")
        database = section.section("database", "Connections to Postgres.", Database.init)
        ingest = section.section("ingest", "The listener for the App Store's notifications.", Ingest.init)
        worker = section.section("worker", "Applying notifications and sending webhooks.", Worker.init)
        retention = section.section(
            "retention",
            "How long stored data is kept; workers delete older data by the day. What Apple said of purchases, and what was"
                + " done with customers, is kept unless a deletion erases it. What is pending or held stays longer, and the"
                + " metrics say so.", Retention.init)
        reconcile = section.section(
            "reconcile",
            "Notifications that were missed: the worker fetches them from Apple's history, for every app with server_api.",
            Reconcile.init)
        entitlementsFromSandbox = section.value(
            "entitlements_from_sandbox", .sandboxAccess, default: .all,
            "Customers whose sandbox purchases give entitlements. App Review and TestFlight buy in the sandbox.")
        defaultGracePeriod = section.value(
            "default_grace_period", .duration(.zero...(.seconds(28 * 86400))), default: .seconds(3 * 86400),
            "How long access continues after an unpaid period if Apple reports a grace period without its end."
                + " Apple's own grace periods last 3, 16 or 28 days.")
        restoreBehavior = section.value(
            "restore_behavior", .word, default: .transfer,
            "What happens to a purchase that one customer owns and another restores. transfer: it moves to the customer who"
                + " restores it. transfer_if_no_active_subs: it moves only if no subscription of the owner is active. error:"
                + " it stays with the owner. share: both become one customer. A purchase of an anonymous customer always"
                + " joins the two.")
        privacy = section.section("privacy", "Personal data of customers.", Privacy.init)
        api = section.section("api", "The REST API for apps, backends and operators.", API.init)
        console = section.section("console", "The operator API, by the keys of `entitled users key`.", Console.init)
        admin = section.section("admin", "Health and metrics.", Admin.init)
        trust = section.section(
            "trust",
            "The roots that Apple's certificate chains may end in, and whether certificates are revoked. A list replaces the"
                + " default; at least one root is needed.", Trust.init)
        apps = section.list(
            "apps", "Apps whose notifications are accepted. What is signed for another bundle is refused.", App.init)
        entitlements = section.value(
            "entitlements",
            .map("an object of entitlements, each with a list of product ids", of: .list(of: .name("a product id"))),
            default: [:], example: #"{ pro: ["pro_monthly", "pro_yearly", "pro_lifetime"] }"#,
            "Entitlements and the products that give them.")
        productDurations = section.value(
            "products", .productDurations, default: [:], example: #"{ season_pass: { duration: "P3M" } }"#,
            "Durations of products that do not renew: how long access lasts, from each purchase on, and twice as long for a"
                + " quantity of two. In hours or days, or in ISO 8601; months and years are calendar ones, in UTC."
                + " Not set:"
                + " forever. A change counts for earlier purchases too; run `entitled rebuild` then.")
        offerings = Configuration.offerings(section)
        reports = section.section("reports", "What reports need and Apple does not sign.", Reports.init)
        webhooks = section.section(
            "webhooks", "Sending events. The consumers are not configuration: see `entitled endpoints --help`.",
            Webhooks.init)
        drainTimeout = section.value(
            "drain_timeout", .duration(.milliseconds(100)...(.seconds(600))), default: .seconds(20),
            "How long a process may take to end in order, from SIGTERM and `drain_delay` on.")
        drainDelay = section.value(
            "drain_delay", .duration(.zero...(.seconds(600))), default: .zero,
            "How long a process goes on after SIGTERM before it drains: it is not ready, closes each connection with its"
                + " answer, and still accepts and answers everything. Set it to a little more than your load balancer takes"
                + " to notice that a server is not ready.")
        log = section.section("log", "Log lines.", Log.init)
        telemetry = section.section("telemetry", "Traces, by OpenTelemetry's protocol.", Telemetry.init)
        settings = section.reader.settings
        fingerprints = section.reader.fingerprints
    }

    package var foldSettings: FoldSettings {
        FoldSettings(defaultGrace: defaultGracePeriod, durations: productDurations)
    }
}

extension Configuration {
    /// Reads a whole configuration: the document of the file, with the environment laid over it. Reads no file but those
    /// that the configuration names, and those through `context`. Throws all mistakes at once.
    package static func parse(
        _ document: JSON, _ context: ConfigurationContext
    ) throws(ConfigurationMistakes) -> Configuration {
        let reader = ConfigurationReader(document: document, context: context)
        let configuration = Configuration(reader.root)
        ConfigurationRules.check(configuration, reader)
        guard reader.mistakes.isEmpty else { throw ConfigurationMistakes(all: reader.mistakes) }
        return configuration
    }
}
