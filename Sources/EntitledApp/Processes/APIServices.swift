import API
import Base
import Crypto
import HTTPServer
import Lifecycle
import Schemas
import Subscriptions
import Telemetry

/// What the api process is made of.
package struct APIServices {
    let configuration: Configuration
    let database: DatabaseAccess
    let logger: Logger
    let refused: @Sendable (String) -> Void

    init(
        configuration: Configuration, database: DatabaseAccess, logger: Logger,
        refused: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.database = database
        self.logger = logger
        self.refused = refused
    }

    /// With the database of the configuration, for who has a listener of their own.
    package init(_ configuration: Configuration, logger: Logger) throws {
        self.init(
            configuration: configuration, database: try DatabaseAccess(configuration), logger: logger, refused: { _ in }
        )
    }

    /// Connections, each with a thread of its own.
    private static let threads = 8
    /// How long an answer waits for what was posted to be applied.
    private static let patience = Duration.seconds(10)

    func part() throws -> ProcessServices.Part {
        let (handler, services) = try handler()
        let server = HTTPServer(
            HTTPServerConfiguration(role: "api", listen: configuration.api.listen.description),
            handler: handler, logger: logger)
        return ProcessServices.Part(services: [server] + services, notReady: { [] })
    }

    /// Every route, and the services that it needs running.
    package func handler() throws -> (handler: APIRoutes, services: [any Service]) {
        let engine = try APIEngine(
            threads: APIServices.threads,
            sessions: { try database.session(.api, logger: logger, refused: refused) },
            patience: APIServices.patience, logger: logger)
        let keys = KeyTable(
            publicKeys: configuration.api.publicKeys, secretKeys: configuration.api.secretKeys,
            appKeys: configuration.apps.reduce(into: [:]) { $0[$1.id] = $1.publicKeys })
        let keeper = KeyKeeper(
            keys, session: try database.session(.api, logger: logger, refused: refused), logger: logger)
        let handler = APIRoutes(
            try routes(), keys: keys, keeper: keeper, cors: CORSPolicy(configuration.api.corsOrigins), engine: engine)
        return (handler, [keeper, engine])
    }

    func routes() throws -> [APIRoute] {
        let clock = SystemClock()
        let answers = SubscriberAnswers(
            document: SubscriberDocument(
                catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule,
                digest: { Digest.sha256(Array($0.utf8)) }),
            defaultGrace: configuration.defaultGracePeriod, clock: clock)
        return HealthRoutes().routes + SubscriberRoutes(answers: answers, clock: clock).routes
            + CatalogueRoutes(
                offerings: configuration.offerings, entitlements: configuration.catalogue, answers: answers
            ).routes
            + IntroductoryOfferRoutes().routes
            + PromotionalOfferRoutes(
                apps: try OfferKeys.apps(configuration, readFile: FileReading.read, logger), clock: clock
            ).routes
            + UnsupportedRoutes().routes
    }
}
