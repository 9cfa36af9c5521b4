import API
import AppStore
import Base
import Daemon
import Postgres
import Schemas
import Subscriptions

extension APISettings {
    init(_ configuration: Configuration, logger: Logger) throws {
        self.init(
            apps: configuration.appRegistry, appIDs: configuration.apps.map(\.id),
            foldSettings: configuration.foldSettings, catalogue: configuration.catalogue,
            sandboxRule: configuration.sandboxRule, rates: configuration.eventBodies.rates,
            terms: configuration.eventBodies.terms, offerings: configuration.offerings,
            offerApps: try OfferKeys.apps(configuration, readFile: FileReading.read, logger),
            restoring: configuration.restoreSettings, deletion: configuration.privacy.deletion,
            receiptTrust: try configuration.receiptAnchors(), publicKeys: configuration.api.publicKeys,
            secretKeys: configuration.api.secretKeys,
            appKeys: configuration.apps.reduce(into: [:]) { $0[$1.id] = $1.publicKeys },
            corsOrigins: configuration.api.corsOrigins, limits: configuration.api.limits,
            applyTimeout: configuration.api.applyTimeout, openAPI: OpenAPIDocument.bytes)
    }
}

extension APIRole {
    /// The role without a listener and without Apple, for callers that ask it directly or list its routes. Nothing
    /// connects before the services start.
    package init(_ configuration: Configuration, url: String) throws {
        let process = ProcessContext(clock: SystemClock(), logger: .silent, metrics: Metrics()) { _ in
            PostgresSession(
                PostgresTarget(url: url, role: DatabaseRole.api.rawValue, applicationName: "entitled api"))
        }
        try self.init(
            APISettings(configuration, logger: .silent), process,
            verifier: SignedDataVerifier(trust: try configuration.trustAnchors()), apple: [:])
    }
}
