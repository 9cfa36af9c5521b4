import API
import Base
import Daemon
import Subscriptions

extension Configuration {
    /// Reads a whole configuration: what the file says, with the environment laid over it. Reads no file but those that
    /// the configuration names, and those through `surroundings`. Throws all mistakes at once.
    package static func parse(
        _ document: JSON, _ surroundings: ConfigurationContext
    ) throws(ConfigurationMistakes) -> Configuration {
        var reader = ConfigurationReader(document: document, surroundings: surroundings)
        let stateDirectory = reader.value(
            ConfigurationKeys.stateDirectory, default: surroundings.isSuperuser ? .string("/var/lib/entitled") : nil)
        let database = readDatabase(&reader)
        let ingest = readIngest(&reader)
        let worker = readWorker(&reader)
        let retention = readRetention(&reader)
        let reconcile = readReconcile(&reader)
        let sandbox = reader.value(ConfigurationKeys.entitlementsFromSandbox)
        let defaultGracePeriod = reader.value(ConfigurationKeys.defaultGracePeriod)
        let restoreBehavior = reader.value(ConfigurationKeys.restoreBehavior)
        let privacy = Privacy(
            deletion: reader.value(ConfigurationKeys.Privacy.deletion, in: reader.section("privacy")))
        let api = readAPI(&reader)
        let admin = Admin(listen: reader.value(ConfigurationKeys.adminListen, in: reader.section("admin")))
        let trust = readTrust(&reader)
        let apps = reader.sections("apps").map { readApp(&reader, $0) }
        let entitlements = reader.value(ConfigurationKeys.entitlements)
        let productDurations = reader.value(ConfigurationKeys.products)
        let offerings = readOfferings(&reader)
        let reports = Reports(tax: reader.value(ConfigurationKeys.Reports.tax, in: reader.section("reports")))
        let webhooks = readWebhooks(&reader)
        let drainTimeout = reader.value(ConfigurationKeys.drainTimeout)
        let log = Log(level: reader.value(ConfigurationKeys.logLevel, in: reader.section("log")))
        let configuration = Configuration(
            stateDirectory: stateDirectory, database: database, ingest: ingest, worker: worker,
            retention: retention, reconcile: reconcile, entitlementsFromSandbox: sandbox,
            defaultGracePeriod: defaultGracePeriod, restoreBehavior: restoreBehavior, privacy: privacy, api: api,
            admin: admin,
            trust: trust, apps: apps,
            entitlements: entitlements, productDurations: productDurations, offerings: offerings, reports: reports,
            webhooks: webhooks, drainTimeout: drainTimeout, log: log, settings: reader.settings)
        ConfigurationRules.check(configuration, &reader)
        guard reader.mistakes.isEmpty else { throw ConfigurationMistakes(all: reader.mistakes) }
        return configuration
    }

    private static func readDatabase(_ reader: inout ConfigurationReader) -> Database {
        typealias Keys = ConfigurationKeys.Database
        let section = reader.section("database")
        return Database(
            url: reader.value(Keys.url, in: section), ingestURL: reader.value(Keys.ingestURL, in: section),
            workerURL: reader.value(Keys.workerURL, in: section), apiURL: reader.value(Keys.apiURL, in: section))
    }

    private static func readIngest(_ reader: inout ConfigurationReader) -> Ingest {
        typealias Keys = ConfigurationKeys.Ingest
        let section = reader.section("ingest")
        let certificate = reader.value(Keys.tlsCertificateFile, in: section)
        let key = reader.value(Keys.tlsKeyFile, in: section)
        ConfigurationRules.checkTLS(certificate, key, &reader)
        return Ingest(
            listen: reader.value(Keys.listen, in: section),
            maxBodyBytes: Int(reader.value(Keys.maxBodyBytes, in: section)),
            headerTimeout: reader.value(Keys.headerTimeout, in: section),
            bodyTimeout: reader.value(Keys.bodyTimeout, in: section),
            idleTimeout: reader.value(Keys.idleTimeout, in: section),
            maxConnections: Int(reader.value(Keys.maxConnections, in: section)),
            maxConnectionsPerAddress: Int(reader.value(Keys.maxConnectionsPerAddress, in: section)),
            tls: certificate.flatMap { certificate in key.map { TLSFiles(certificate: certificate, key: $0) } })
    }

    private static func readWorker(_ reader: inout ConfigurationReader) -> Worker {
        typealias Keys = ConfigurationKeys.Worker
        let section = reader.section("worker")
        return Worker(
            lease: reader.value(Keys.lease, in: section),
            expiryPatience: reader.value(Keys.expiryPatience, in: section))
    }

    private static func readRetention(_ reader: inout ConfigurationReader) -> Retention {
        typealias Keys = ConfigurationKeys.Retention
        let section = reader.section("retention")
        return Retention(
            notifications: reader.value(Keys.notifications, in: section),
            attempts: reader.value(Keys.attempts, in: section), events: reader.value(Keys.events, in: section),
            emptyCustomers: reader.value(Keys.emptyCustomers, in: section))
    }

    private static func readReconcile(_ reader: inout ConfigurationReader) -> Reconcile {
        typealias Keys = ConfigurationKeys.Reconcile
        let section = reader.section("reconcile")
        return Reconcile(
            isEnabled: reader.value(Keys.enabled, in: section), interval: reader.value(Keys.interval, in: section),
            statusCallsPerHour: reader.value(Keys.statusCallsPerHour, in: section))
    }

    private static func readAPI(_ reader: inout ConfigurationReader) -> API {
        typealias Keys = ConfigurationKeys.API
        let section = reader.section("api")
        return API(
            listen: reader.value(Keys.listen, in: section), publicKeys: reader.value(Keys.publicKeys, in: section),
            secretKeys: reader.value(Keys.secretKeys, in: section),
            applyTimeout: reader.value(Keys.applyTimeout, in: section),
            maxConnectionsPerAddress: Int(reader.value(Keys.maxConnectionsPerAddress, in: section)),
            corsOrigins: reader.value(Keys.corsOrigins, in: section),
            limits: readLimits(
                &reader, reader.section("limits", in: section),
                TrustedProxies(reader.value(Keys.trustedProxies, in: section))))
    }

    private static func readLimits(
        _ reader: inout ConfigurationReader, _ section: ConfigurationReader.Section, _ proxies: TrustedProxies
    ) -> LimitSettings {
        typealias Keys = ConfigurationKeys.Limits
        var limits = LimitSettings()
        limits.address = reader.value(Keys.address, in: section)
        limits.appUserID = reader.value(Keys.appUserID, in: section)
        limits.appleAccount = reader.value(Keys.appleAccount, in: section)
        limits.publicKey = reader.value(Keys.publicKey, in: section)
        limits.secretKey = reader.value(Keys.secretKey, in: section)
        limits.proxies = proxies
        return limits
    }

    private static func readOfferings(_ reader: inout ConfigurationReader) -> OfferingCatalogue {
        let offerings = reader.value(ConfigurationKeys.offerings)
        let chosen = reader.value(ConfigurationKeys.currentOffering)
        let usual = offerings.first { $0.identifier == "default" } ?? (offerings.count == 1 ? offerings.first : nil)
        let section = reader.section("placements")
        let places = reader.value(ConfigurationKeys.Placements.offerings, in: section)
        let fallback = reader.value(ConfigurationKeys.Placements.fallback, in: section)
        let isPlaced = !places.isEmpty || fallback != nil
        return OfferingCatalogue(
            offerings: offerings, current: chosen ?? usual?.identifier,
            userInterface: reader.value(ConfigurationKeys.userInterface),
            placements: isPlaced ? OfferingCatalogue.Placements(offerings: places, fallback: fallback) : nil)
    }

    private static func readTrust(_ reader: inout ConfigurationReader) -> Trust {
        typealias Keys = ConfigurationKeys.Trust
        let section = reader.section("trust")
        return Trust(
            rootSHA256: reader.value(Keys.rootSHA256, in: section),
            rootCertificates: reader.value(Keys.rootFiles, in: section).flatMap { $0 },
            receiptRootSHA256: reader.value(Keys.receiptRootSHA256, in: section),
            ocsp: reader.value(Keys.ocsp, in: section))
    }

    private static func readWebhooks(_ reader: inout ConfigurationReader) -> Webhooks {
        typealias Keys = ConfigurationKeys.Webhooks
        let section = reader.section("webhooks")
        return Webhooks(
            retrySchedule: reader.value(Keys.retrySchedule, in: section),
            timeout: reader.value(Keys.timeout, in: section),
            maxInFlightPerEndpoint: Int(reader.value(Keys.maxInFlightPerEndpoint, in: section)),
            maxInFlight: Int(reader.value(Keys.maxInFlight, in: section)),
            disableAfter: reader.value(Keys.disableAfter, in: section),
            operationsURL: reader.value(Keys.operationsURL, in: section),
            allowPrivateNetworks: reader.value(Keys.allowPrivateNetworks, in: section),
            proxy: reader.value(Keys.proxy, in: section), http2: reader.value(Keys.http2, in: section),
            keepResponseBodies: reader.value(Keys.keepResponseBodies, in: section),
            usdRates: reader.value(Keys.usdRates, in: section),
            secretKeys: reader.value(Keys.secretKeys, in: section))
    }

    private static func readApp(
        _ reader: inout ConfigurationReader, _ section: ConfigurationReader.Section
    ) -> App {
        typealias Keys = ConfigurationKeys.App
        return App(
            id: reader.value(Keys.id, in: section), bundleID: reader.value(Keys.bundleID, in: section),
            appleAppID: reader.value(Keys.appleAppID, in: section),
            environments: reader.value(Keys.environments, in: section).reduce(into: []) { list, next in
                if !list.contains(next) { list.append(next) }
            },
            publicKeys: reader.value(Keys.publicKeys, in: section),
            restoreBehavior: reader.value(Keys.restoreBehavior, in: section),
            sandboxRestoreBehavior: reader.value(Keys.sandboxRestoreBehavior, in: section),
            ownerWait: reader.value(Keys.ownerWait, in: section),
            accountTokens: reader.value(Keys.accountTokens, in: section),
            commission: reader.value(Keys.commission, in: section),
            serverAPI: reader.has("server_api", in: section)
                ? readServerAPI(&reader, reader.section("server_api", in: section)) : nil,
            subscriptionOffers: reader.has("subscription_offers", in: section)
                ? readSubscriptionOffers(&reader, reader.section("subscription_offers", in: section)) : nil,
            refunds: readRefunds(&reader, reader.section("refunds", in: section)))
    }

    private static func readSubscriptionOffers(
        _ reader: inout ConfigurationReader, _ section: ConfigurationReader.Section
    ) -> SubscriptionOffers {
        typealias Keys = ConfigurationKeys.App.SubscriptionOffers
        return SubscriptionOffers(
            keyID: reader.value(Keys.keyID, in: section), privateKeyFile: reader.value(Keys.privateKeyFile, in: section)
        )
    }

    private static func readRefunds(
        _ reader: inout ConfigurationReader, _ section: ConfigurationReader.Section
    ) -> Refunds {
        typealias Keys = ConfigurationKeys.App.Refunds
        return Refunds(
            policy: reader.value(Keys.policy, in: section), preference: reader.value(Keys.preference, in: section),
            hasConsent: reader.value(Keys.consent, in: section),
            providesSamples: reader.value(Keys.sampleContent, in: section))
    }

    private static func readServerAPI(
        _ reader: inout ConfigurationReader, _ section: ConfigurationReader.Section
    ) -> ServerAPI {
        typealias Keys = ConfigurationKeys.App
        let issuerID = reader.value(Keys.issuerID, in: section)
        return ServerAPI(
            issuerID: issuerID, keyID: reader.value(Keys.keyID, in: section),
            privateKeyFile: reader.value(Keys.privateKeyFile, in: section),
            baseURL: reader.value(Keys.baseURL, in: section),
            sandboxBaseURL: reader.value(Keys.sandboxBaseURL, in: section),
            previous: reader.has("previous", in: section)
                ? readPreviousKey(&reader, reader.section("previous", in: section), issuerID) : nil)
    }

    /// Nearly always of the same issuer.
    private static func readPreviousKey(
        _ reader: inout ConfigurationReader, _ section: ConfigurationReader.Section, _ issuerID: String
    ) -> PreviousKey {
        typealias Keys = ConfigurationKeys.App.Previous
        return PreviousKey(
            issuerID: reader.value(Keys.issuerID, in: section) ?? issuerID,
            keyID: reader.value(Keys.keyID, in: section),
            privateKeyFile: reader.value(Keys.privateKeyFile, in: section))
    }
}
