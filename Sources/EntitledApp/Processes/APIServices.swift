import API
import Admission
import AppStore
import AppStoreAPI
import Base
import Crypto
import Customers
import HTTPServer
import Lifecycle
import Queue
import Records
import Schemas
import Subscriptions
import Telemetry

/// What the api process is made of.
struct APIServices {
    let configuration: Configuration
    let database: DatabaseAccess
    let logger: Logger
    let metrics: Metrics
    /// As the store's endpoint has it.
    let verifier: SignedDataVerifier
    let refused: @Sendable (String) -> Void

    /// Connections, each with a thread of its own.
    private static let threads = 8

    func part() throws -> ProcessServices.Part {
        let engine = try APIEngine(
            threads: APIServices.threads,
            sessions: { try database.session(.api, logger: logger, refused: refused) },
            patience: configuration.api.applyTimeout, logger: logger)
        let keys = KeyTable(publicKeys: configuration.api.publicKeys, secretKeys: configuration.api.secretKeys)
        let apple = HistoryServices(configuration, verifier: verifier, logger: logger, metrics: metrics)
        let routes = try routes(apple)
        let server = HTTPServer(
            HTTPServerConfiguration(role: "api", listen: configuration.api.listen.description),
            handler: APIRoutes(routes, keys: keys, engine: engine), logger: logger)
        return ProcessServices.Part(
            services: [server, AppleCalls(apple: apple), engine, apple.transports], notReady: { [] })
    }

    private func routes(_ apple: HistoryServices) throws -> [APIRoute] {
        let clock = SystemClock()
        let document = SubscriberDocument(
            catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule,
            digest: { Digest.sha256(Array($0.utf8)) })
        let answers = SubscriberAnswers(
            document: document, defaultGrace: configuration.defaultGracePeriod, clock: clock)
        let posting = posting(apple, clock)
        let receipts = ReceiptVerifier(trust: try configuration.receiptAnchors())
        return HealthRoutes().routes + SubscriberRoutes(answers: answers, clock: clock).routes
            + ReceiptRoutes(posting, receipts: receipts, answers: answers).routes
            + AppleTransactionRoutes(
                posting, answers: answers, document: document, defaultGrace: configuration.defaultGracePeriod
            ).routes
    }

    private func posting(_ apple: HistoryServices, _ clock: any WallClock) -> PostingSettings {
        let door = TransactionDoor(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        let accesses = apple.accesses
        let lookup = AppleLookup(
            apps: configuration.apps.map(\.id).filter { accesses[$0] != nil }, door: door,
            cancellation: apple.cancellation, client: { accesses[$0]?.client })
        return PostingSettings(
            apps: configuration.appRegistry, door: door, lookup: lookup,
            actions: CustomerActions(
                origin: ActionLog.Origin(actor: "api"), defaultGrace: configuration.defaultGracePeriod),
            sequence: SequenceGenerator(clock: clock, node: UInt16.random(in: 0...UInt16.max)), clock: clock,
            restoring: RestoreSettings(general: configuration.restoreBehavior))
    }

    /// Ends what waits for Apple once nobody new comes.
    private struct AppleCalls: Service {
        let name = "apple-calls"
        let apple: HistoryServices

        func start() {}
        func drain(until deadline: ContinuousClock.Instant) {
            // Who asks has ten seconds of their own; what is left of the time is for the rest.
            apple.cancellation.cancel()
        }
    }
}
