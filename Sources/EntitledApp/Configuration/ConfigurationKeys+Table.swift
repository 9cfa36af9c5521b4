import Base
import Daemon

extension ConfigurationKeys {
    /// All keys in the order of the example file.
    package static let all: [ConfigurationEntry] = [
        stateDirectory.entry,
        Database.url.entry, Database.ingestURL.entry, Database.workerURL.entry, Database.apiURL.entry,
        Ingest.listen.entry, Ingest.maxBodyBytes.entry, Ingest.headerTimeout.entry, Ingest.bodyTimeout.entry,
        Ingest.idleTimeout.entry, Ingest.maxConnections.entry, Ingest.maxConnectionsPerAddress.entry,
        Ingest.tlsCertificateFile.entry, Ingest.tlsKeyFile.entry,
        Worker.lease.entry, Worker.expiryPatience.entry,
        Retention.notifications.entry, Retention.attempts.entry, Retention.events.entry,
        Retention.emptyCustomers.entry,
        Reconcile.enabled.entry, Reconcile.interval.entry, Reconcile.statusCallsPerHour.entry,
        entitlementsFromSandbox.entry, defaultGracePeriod.entry, restoreBehavior.entry,
        Privacy.deletion.entry,
        API.listen.entry, API.publicKeys.entry, API.secretKeys.entry, API.applyTimeout.entry,
        API.maxConnectionsPerAddress.entry, API.corsOrigins.entry,
        API.trustedProxies.entry,
        Limits.address.entry, Limits.appUserID.entry, Limits.appleAccount.entry, Limits.publicKey.entry,
        Limits.secretKey.entry,
        adminListen.entry,
        Trust.rootSHA256.entry, Trust.rootFiles.entry, Trust.receiptRootSHA256.entry, Trust.ocsp.entry,
        App.id.entry, App.bundleID.entry, App.appleAppID.entry, App.environments.entry,
        App.publicKeys.entry, App.restoreBehavior.entry, App.sandboxRestoreBehavior.entry, App.ownerWait.entry,
        App.accountTokens.entry,
        App.commission.entry,
        App.issuerID.entry, App.keyID.entry, App.privateKeyFile.entry, App.baseURL.entry,
        App.sandboxBaseURL.entry, App.Previous.issuerID.entry, App.Previous.keyID.entry,
        App.Previous.privateKeyFile.entry,
        App.SubscriptionOffers.keyID.entry, App.SubscriptionOffers.privateKeyFile.entry,
        App.Refunds.policy.entry, App.Refunds.preference.entry, App.Refunds.consent.entry,
        App.Refunds.sampleContent.entry,
        entitlements.entry, products.entry, offerings.entry, currentOffering.entry,
        userInterface.entry, Placements.offerings.entry, Placements.fallback.entry,
        Reports.tax.entry,
        Webhooks.retrySchedule.entry, Webhooks.timeout.entry,
        Webhooks.maxInFlightPerEndpoint.entry, Webhooks.maxInFlight.entry, Webhooks.disableAfter.entry,
        Webhooks.operationsURL.entry, Webhooks.allowPrivateNetworks.entry, Webhooks.proxy.entry,
        Webhooks.http2.entry, Webhooks.keepResponseBodies.entry,
        Webhooks.usdRates.entry,
        Webhooks.secretKeys.entry,
        drainTimeout.entry,
        logLevel.entry,
    ]

    /// The list of apps is an entry of its own only for the environment: its elements have keys.
    static let appsVariable = "ENTITLED_APPS"
    /// Apps have keys of their own, which are secret.
    static let appsFileVariable = "ENTITLED_APPS_FILE"

    private static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })

    /// Objects with known keys, and `apps[]` for the elements of a list; comments for those who read the schema.
    static let sections: [String: String] = [
        "": "The configuration of entitled.",
        "database": "Where Postgres is, and as whom to connect.",
        "ingest": "The store's endpoint.",
        "worker": "Applying what was taken, and sending webhooks.",
        "retention": "What is kept for a time. The worker drops it by the day.",
        "reconcile": "What Apple sent and we missed: it is fetched from Apple's history.",
        "privacy": "What becomes of the data of customers.",
        "api": "REST for apps and backends, and the operators' part of it.",
        "api.limits": "What callers may cost, as POINTS/TIME, or off. Beyond it they are told to come again.",
        "admin": "Health and metrics.",
        "trust": "The roots that Apple's certificate chains may end in, and whether certificates are revoked.",
        "apps[]": "One app.",
        "apps[].refunds": "What Apple is told before it decides on a refund.",
        "apps[].server_api": "Apple's Server API, for what was missed; without it nothing is fetched.",
        "apps[].server_api.previous":
            "Another key, tried where Apple refuses the first: while a new key replaces an old one.",
        "apps[].subscription_offers":
            "What signs promotional offers; without it the key of server_api does.",
        "placements": "Which offering each place in an app shows.",
        "reports": "What is not signed and matters to money.",
        "webhooks": "Sending events.",
        "log": "Log lines.",
    ]

    static func entry(_ path: String) -> ConfigurationEntry? { byPath[path] }

    /// What a section may contain, by name, in the order of the table.
    static func names(in section: String) -> [String] {
        let prefix = section.isEmpty ? "" : section + "."
        var names: [String] = []
        for entry in all where entry.path.hasPrefix(prefix) {
            let name = String(entry.path.dropFirst(prefix.count).prefix { $0 != "." && $0 != "[" })
            if !names.contains(name) {
                names.append(name)
            }
        }
        return names
    }
}
