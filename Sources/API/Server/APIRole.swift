import AppStore
import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import Subscriptions

/// What the api role needs to know.
package struct APISettings: Sendable {
    package var apps: AppRegistry
    /// In the order in which Apple is asked about what may be any app's.
    package var appIDs: [String]
    package var foldSettings: FoldSettings
    package var catalogue: EntitlementCatalogue
    package var sandboxRule: SandboxRule
    /// What currencies are worth, and who gets which part of prices: for the revenue of REST v2.
    package var rates: DollarRates
    package var terms: SellerTerms
    package var offerings: OfferingCatalogue
    /// What signs promotional offers.
    package var offerApps: [PromotionalOfferRoutes.App]
    package var restoring: RestoreSettings
    package var deletion: DeletionPolicy
    /// Of app receipts.
    package var receiptTrust: TrustAnchors
    package var publicKeys: [Redacted<String>]
    package var secretKeys: [Redacted<String>]
    /// Public keys of one app, by its id.
    package var appKeys: [String: [Redacted<String>]]
    package var corsOrigins: [String]
    package var limits: LimitSettings
    /// How long the application of a posted transaction is waited for.
    package var applyTimeout: Duration
    /// What `/openapi.yaml` gives.
    package var openAPI: [UInt8]

    package init(
        apps: AppRegistry, appIDs: [String] = [], foldSettings: FoldSettings = FoldSettings(),
        catalogue: EntitlementCatalogue = EntitlementCatalogue([:]), sandboxRule: SandboxRule = .all,
        rates: DollarRates = DollarRates(), terms: SellerTerms = SellerTerms(),
        offerings: OfferingCatalogue = OfferingCatalogue(), offerApps: [PromotionalOfferRoutes.App] = [],
        restoring: RestoreSettings = RestoreSettings(general: .transfer), deletion: DeletionPolicy = .pseudonymise,
        receiptTrust: TrustAnchors = TrustAnchors(), publicKeys: [Redacted<String>] = [],
        secretKeys: [Redacted<String>] = [], appKeys: [String: [Redacted<String>]] = [:], corsOrigins: [String] = [],
        limits: LimitSettings = LimitSettings(), applyTimeout: Duration = .seconds(10), openAPI: [UInt8] = []
    ) {
        self.apps = apps
        self.appIDs = appIDs
        self.foldSettings = foldSettings
        self.catalogue = catalogue
        self.sandboxRule = sandboxRule
        self.rates = rates
        self.terms = terms
        self.offerings = offerings
        self.offerApps = offerApps
        self.restoring = restoring
        self.deletion = deletion
        self.receiptTrust = receiptTrust
        self.publicKeys = publicKeys
        self.secretKeys = secretKeys
        self.appKeys = appKeys
        self.corsOrigins = corsOrigins
        self.limits = limits
        self.applyTimeout = applyTimeout
        self.openAPI = openAPI
    }
}

/// What works behind the REST listener; the program and the tests make it the same way.
package struct APIRole: Sendable {
    package let handler: APIRoutes
    /// In the order in which they drain, once the listener has.
    package let services: [any Service]
    private let refresher: KeyRefresher
    private let probe: DatabaseProbe

    /// Connections, each with a thread of its own.
    private static let threads = 8
    /// How long one statement may stay unanswered; longer than the statement timeout of the role.
    private static let patience = Duration.seconds(35)

    /// How long a statement may take on a cluster. A server that hangs must not keep the customers of the others waiting, and there the
    /// connection is cut a moment later: the coordinator waits for the server to confirm that a statement is cancelled.
    private static let (longestRead, longestRequest) = (Duration.seconds(3), Duration.seconds(8))

    private static func session(_ process: ProcessContext, onCluster limit: Duration) throws -> PostgresSession {
        let isCluster = Monitor(false)
        return try process.session(patience: isCluster.read { $0 } ? limit + .seconds(1) : patience) { connection in
            isCluster.change { $0 = connection.isCluster }
            guard connection.isCluster else { return }
            try connection.query(
                "SELECT set_config('statement_timeout', $1, false)", [.text("\(limit.milliseconds)ms")])
        }
    }

    /// How long a request may stay unanswered: apps give up after 30 s.
    ///
    /// - Parameter applyTimeout: how long an answer waits for the worker.
    private static func answerTimeout(_ applyTimeout: Duration) -> Duration {
        max(.seconds(25), applyTimeout + .seconds(5))
    }

    /// - Parameters:
    ///   - verifier: what decides about what Apple signed.
    ///   - apple: asks Apple about an app; those without a key have none.
    ///   - replica: a standby that answers reads of public keys; nil: there is none.
    package init(
        _ settings: APISettings, _ process: ProcessContext, verifier: SignedDataVerifier,
        apple: [String: ServerAPIClient], replica: ReplicaReading? = nil
    ) throws {
        let (clock, logger, metrics) = (process.clock, process.logger, process.metrics)
        func session() throws -> PostgresSession { try APIRole.session(process, onCluster: APIRole.longestRequest) }
        let groups = RouteGroups(settings: settings, verifier: verifier, apple: apple, clock: clock)
        let answerTimeout = APIRole.answerTimeout(settings.applyTimeout)
        let batcher = try SubscriberBatcher(
            answers: groups.answers, sessions: { try APIRole.session(process, onCluster: APIRole.longestRead) },
            replica: replica, answerTimeout: answerTimeout, clock: clock, logger: logger, metrics: metrics)
        let cancellation = Cancellation()
        let engine = try RequestExecutor(
            threads: APIRole.threads, sessions: session, cancellation: cancellation, patience: settings.applyTimeout,
            answerTimeout: answerTimeout, logger: logger)
        let keys = KeyTable(
            publicKeys: settings.publicKeys, secretKeys: settings.secretKeys, appKeys: settings.appKeys, clock: clock)
        refresher = KeyRefresher(keys, session: try session(), logger: logger)
        let written: (@Sendable (Set<String>) -> Void)? =
            batcher.hasStandby ? { @Sendable ids in batcher.wrote(ids) } : nil
        let overview = OverviewReader(
            session: try process.session(patience: ReportOverview.patience + APIRole.patience), clock: clock,
            logger: logger)
        handler = APIRoutes(
            groups.routes(batcher, cancellation) + V2MetricsRoutes(reader: overview).routes, keys: keys,
            refresher: refresher,
            cors: CORSPolicy(settings.corsOrigins), engine: engine,
            limiter: RequestLimiter(settings.limits, logger: logger, metrics: metrics), metrics: metrics,
            tracer: process.tracer,
            written: written)
        probe = DatabaseProbe(name: "api-probe", session: try process.session(patience: DatabaseProbe.patience))
        services = [refresher, batcher, engine, overview, probe]
    }

    package func unreadyReasons() -> [String] {
        refresher.isReady ? probe.obstacle.map { [$0] } ?? [] : ["the database is unavailable"]
    }

    /// The listener that fits: RevenueCat's clients post without a body and without its length where there is nothing to say.
    ///
    /// - Parameter applyTimeout: how long an answer waits for the worker.
    package static func listener(on address: String, applyTimeout: Duration) -> HTTPServerConfiguration {
        var settings = HTTPServerConfiguration(role: "api", listen: address)
        settings.needsLength = false
        settings.answerTimeout = answerTimeout(applyTimeout)
        return settings
    }
}

/// The routes, by groups.
private struct RouteGroups {
    let settings: APISettings
    let verifier: SignedDataVerifier
    let apple: [String: ServerAPIClient]
    let clock: any WallClock

    private var document: SubscriberDocument {
        SubscriberDocument(catalogue: settings.catalogue, sandboxRule: settings.sandboxRule)
    }

    var answers: SubscriberResponses {
        SubscriberResponses(document: document, foldSettings: settings.foldSettings, clock: clock)
    }

    func routes(_ batcher: SubscriberBatcher, _ cancellation: Cancellation) -> [APIRoute] {
        let (answers, foldSettings) = (answers, settings.foldSettings)
        let grants = GrantRoutes(
            answers: answers, entitlements: Set(settings.catalogue.products.keys), foldSettings: foldSettings)
        let extensions = ExtensionRoutes(answers: answers, foldSettings: foldSettings, clock: clock) { [apple] in
            apple[$0]
        }
        let catalogue = CatalogueRoutes(
            offerings: settings.offerings, entitlements: settings.catalogue, answers: answers, clock: clock)
        let offers = PromotionalOfferRoutes(apps: settings.offerApps, clock: clock)
        let posting = posting(cancellation)
        let receipts = ReceiptRoutes(
            posting, receipts: ReceiptVerifier(trust: settings.receiptTrust), answers: answers)
        let transactions = AppleTransactionRoutes(
            posting, answers: answers, document: document, foldSettings: foldSettings)
        let restoring = RestoreEligibility(
            apps: settings.apps, verifier: verifier, settings: settings.restoring, clock: clock)
        let identities = IdentityRoutes(
            answers: answers, restoring: restoring, deletion: settings.deletion, foldSettings: foldSettings)
        let attributes = AttributeRoutes(answers: answers, foldSettings: foldSettings)
        let second = V2Answers(
            document: V2Document(document, rates: settings.rates, terms: settings.terms), responses: answers,
            foldSettings: foldSettings, clock: clock)
        let actions = V2ActionRoutes(
            answers: second, entitlements: Set(settings.catalogue.products.keys), apps: Set(settings.appIDs))
        let groups: [[APIRoute]] = [
            HealthRoutes().routes, SubscriberRoutes(batcher: batcher).routes, identities.routes, attributes.routes,
            receipts.routes, transactions.routes, grants.routes, extensions.routes, OtherStoreRoutes().routes,
            catalogue.routes, IntroductoryOfferRoutes().routes, offers.routes, PrivacyRoutes(clock: clock).routes,
            DocumentRoutes(openAPI: settings.openAPI).routes, UnsupportedRoutes().routes,
            V2ProjectRoutes(document: second.document, offerings: settings.offerings).routes,
            V2CustomerRoutes(answers: second, deletion: settings.deletion).routes, actions.routes,
        ]
        return groups.flatMap { $0 }
    }

    /// What keeping something that an app posted needs.
    private func posting(_ cancellation: Cancellation) -> PostingSettings {
        let admission = TransactionAdmission(
            apps: settings.apps, verifier: verifier, dictionaries: HeaderDictionaries())
        let lookup = AppleLookup(
            apps: settings.appIDs.filter { apple[$0] != nil }, admission: admission, cancellation: cancellation,
            client: { [apple] in apple[$0] })
        return PostingSettings(
            apps: settings.apps, admission: admission, lookup: lookup,
            actions: CustomerActions(
                origin: ActionTable.Origin(actor: "api"), foldSettings: settings.foldSettings),
            sequence: SequenceGenerator(clock: clock, node: UInt16.random(in: 0...UInt16.max)), clock: clock,
            restoring: settings.restoring)
    }
}
