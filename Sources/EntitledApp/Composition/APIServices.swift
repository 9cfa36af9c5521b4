import API
import AppStore
import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import Schemas
import Subscriptions

/// What the api process is made of.
package struct APIServices {
    let configuration: Configuration
    let database: DatabaseAccess
    /// What decides about what Apple signs in its answers.
    let verifier: SignedDataVerifier
    let apple: AppleAccesses
    let logger: Logger
    let metrics: Metrics
    let refused: @Sendable (String) -> Void

    /// - Parameter apple: what all that ask Apple in this process share; nil: only these services do.
    init(
        configuration: Configuration, database: DatabaseAccess, verifier: SignedDataVerifier,
        apple: AppleAccesses? = nil, logger: Logger, metrics: Metrics, refused: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.database = database
        self.verifier = verifier
        self.apple =
            apple ?? AppleAccesses(configuration, verifier: verifier, logger: logger, metrics: metrics)
        self.logger = logger
        self.metrics = metrics
        self.refused = refused
    }

    /// With the database of the configuration, for who has a listener of their own.
    package init(_ configuration: Configuration, logger: Logger) throws {
        self.init(
            configuration: configuration, database: try DatabaseAccess(configuration),
            verifier: SignedDataVerifier(trust: try configuration.trustAnchors()), logger: logger, metrics: Metrics(),
            refused: { _ in })
    }

    private let clock = SystemClock()
    /// Connections, each with a thread of its own.
    private static let threads = 8

    func part() throws -> Composition.Part {
        let made = try make()
        var settings = HTTPServerConfiguration(role: "api", listen: configuration.api.listen.description)
        // RevenueCat's clients post without a body and without its length where there is nothing to say.
        settings.needsLength = false
        settings.maxConnectionsPerAddress = configuration.api.maxConnectionsPerAddress
        let server = HTTPServer(settings, handler: made.handler, logger: logger, metrics: metrics)
        let keeper = made.keeper
        return Composition.Part(services: [server] + made.services) {
            keeper.isReady ? [] : ["the database is away"]
        }
    }

    /// Every route, and the services that it needs running.
    package func handler() throws -> (handler: APIRoutes, services: [any Service]) {
        let made = try make()
        return (made.handler, made.services)
    }

    private struct Made {
        let handler: APIRoutes
        let keeper: KeyRefresher
        /// In the order in which they drain.
        let services: [any Service]
    }

    private func make() throws -> Made {
        let watch = ConnectionWatchdog(logger: logger)
        func session() throws -> PostgresSession {
            let session = try database.session(.api, logger: logger, refused: refused)
            watch.add(session)
            return session
        }
        let (accesses, transports) = apple.use()
        let answers = answers
        let desk = try SubscriberBatcher(answers: answers, sessions: session, clock: clock, logger: logger)
        let engine = try RequestExecutor(
            threads: APIServices.threads, sessions: session, patience: configuration.api.applyTimeout, logger: logger)
        let keys = KeyTable(
            publicKeys: configuration.api.publicKeys, secretKeys: configuration.api.secretKeys,
            appKeys: configuration.apps.reduce(into: [:]) { $0[$1.id] = $1.publicKeys })
        let keeper = KeyRefresher(keys, session: try session(), logger: logger)
        let calls = AppleCalls()
        let handler = APIRoutes(
            try routes(answers, desk, accesses, calls.cancellation), keys: keys, keeper: keeper,
            cors: CORSPolicy(configuration.api.corsOrigins), engine: engine,
            limiter: RequestLimiter(configuration.api.limits, logger: logger, metrics: metrics), metrics: metrics)
        return Made(
            handler: handler, keeper: keeper,
            services: [keeper, desk, calls, engine, transports, watch])
    }

    private var document: SubscriberDocument { configuration.subscriberDocument }

    private var answers: SubscriberResponses {
        SubscriberResponses(document: document, foldSettings: configuration.foldSettings, clock: clock)
    }

    private func routes(
        _ answers: SubscriberResponses, _ desk: SubscriberBatcher, _ accesses: [String: ServerAPIAccess],
        _ cancellation: Cancellation
    ) throws -> [APIRoute] {
        let foldSettings = configuration.foldSettings
        let grants = GrantRoutes(
            answers: answers, entitlements: Set(configuration.catalogue.products.keys), foldSettings: foldSettings)
        let extensions = ExtensionRoutes(answers: answers, foldSettings: foldSettings, clock: clock) {
            accesses[$0]?.client
        }
        let catalogue = CatalogueRoutes(
            offerings: configuration.offerings, entitlements: configuration.catalogue, answers: answers, clock: clock)
        let offers = PromotionalOfferRoutes(
            apps: try OfferKeys.apps(configuration, readFile: FileReading.read, logger), clock: clock)
        let posting = posting(accesses, cancellation)
        let receipts = ReceiptRoutes(
            posting, receipts: ReceiptVerifier(trust: try configuration.receiptAnchors()), answers: answers)
        let transactions = AppleTransactionRoutes(
            posting, answers: answers, document: document, foldSettings: foldSettings)
        let restoring = RestoreEligibility(
            apps: configuration.appRegistry, verifier: verifier, settings: configuration.restoreSettings, clock: clock)
        let identities = IdentityRoutes(
            answers: answers, restoring: restoring, deletion: configuration.privacy.deletion, foldSettings: foldSettings
        )
        let attributes = AttributeRoutes(answers: answers, foldSettings: foldSettings)
        let groups: [[APIRoute]] = [
            HealthRoutes().routes, SubscriberRoutes(desk: desk).routes, identities.routes, attributes.routes,
            receipts.routes, transactions.routes, grants.routes, extensions.routes, OtherStoreRoutes().routes,
            catalogue.routes, IntroductoryOfferRoutes().routes, offers.routes, PrivacyRoutes(clock: clock).routes,
            DocumentRoutes(openAPI: OpenAPIDocument.bytes).routes, UnsupportedRoutes().routes,
        ]
        return groups.flatMap { $0 }
    }

    /// What keeping something that an app posted needs.
    private func posting(
        _ accesses: [String: ServerAPIAccess], _ cancellation: Cancellation
    ) -> PostingSettings {
        let door = TransactionAdmission(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        let lookup = AppleLookup(
            apps: configuration.apps.map(\.id).filter { accesses[$0] != nil }, door: door,
            cancellation: cancellation, client: { accesses[$0]?.client })
        return PostingSettings(
            apps: configuration.appRegistry, door: door, lookup: lookup,
            actions: CustomerActions(
                origin: ActionTable.Origin(actor: "api"), foldSettings: configuration.foldSettings),
            sequence: SequenceGenerator(clock: clock, node: UInt16.random(in: 0...UInt16.max)), clock: clock,
            restoring: configuration.restoreSettings)
    }
}

/// Ends calls that wait for Apple once no new requests come: their callers are answered that they should ask again.
private struct AppleCalls: Service {
    let name = "apple-calls"
    let cancellation = Cancellation()

    func start() {}
    func drain(until deadline: ContinuousClock.Instant) { cancellation.cancel() }
}
