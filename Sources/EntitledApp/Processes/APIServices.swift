import API
import Base
import Crypto
import HTTPServer
import Lifecycle
import Schemas
import Subscriptions
import Telemetry

/// What the api process is made of.
struct APIServices {
    let configuration: Configuration
    let database: DatabaseAccess
    let logger: Logger
    let refused: @Sendable (String) -> Void

    /// Connections, each with a thread of its own.
    private static let threads = 8
    /// How long an answer waits for what was posted to be applied.
    private static let patience = Duration.seconds(10)

    func part() throws -> ProcessServices.Part {
        let engine = try APIEngine(
            threads: APIServices.threads,
            sessions: { try database.session(.api, logger: logger, refused: refused) },
            patience: APIServices.patience, logger: logger)
        let keys = KeyTable(publicKeys: configuration.api.publicKeys, secretKeys: configuration.api.secretKeys)
        let server = HTTPServer(
            HTTPServerConfiguration(role: "api", listen: configuration.api.listen.description),
            handler: APIRoutes(routes, keys: keys, engine: engine), logger: logger)
        return ProcessServices.Part(services: [server, engine], notReady: { [] })
    }

    var routes: [APIRoute] {
        let clock = SystemClock()
        let answers = SubscriberAnswers(
            document: SubscriberDocument(
                catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule,
                digest: { Digest.sha256(Array($0.utf8)) }),
            defaultGrace: configuration.defaultGracePeriod, clock: clock)
        return HealthRoutes().routes + SubscriberRoutes(answers: answers, clock: clock).routes
    }
}
