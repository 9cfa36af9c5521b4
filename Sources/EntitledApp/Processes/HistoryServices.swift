import Admission
import AppStore
import AppStoreAPI
import Base
import Lifecycle
import Postgres
import Queue
import Reconcile
import Replay
import Telemetry

/// Apple's notification history for every app with a key: who reads it, and who compares it with ours.
struct HistoryServices: Sendable {
    /// Ends what waits for Apple when the process ends.
    let cancellation = Cancellation()
    private let configuration: Configuration
    /// One for each app with a key, for all who ask Apple in this process: they share its rates.
    let accesses: [String: ServerAPIAccess]
    private let door: NotificationDoor

    /// An app whose key cannot be read or used is told and left out: what Apple sends goes on.
    ///
    /// - Parameter verifier: as the store's endpoint has it.
    init(_ configuration: Configuration, verifier: SignedDataVerifier, logger: Logger, metrics: Metrics) {
        self.configuration = configuration
        door = NotificationDoor(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        var accesses: [String: ServerAPIAccess] = [:]
        for app in configuration.apps where app.serverAPI != nil {
            do {
                accesses[app.id] = try ServerAPIAccess(
                    app, verifier: verifier, readFile: FileReading.read, logger: logger, metrics: metrics)
            } catch {
                logger.error("nothing is fetched from Apple", ["app": .string(app.id), "error": .string("\(error)")])
            }
        }
        self.accesses = accesses
    }

    private func reader(_ app: String) -> HistoryReader? {
        accesses[app].map { HistoryReader(client: $0.client, door: door) }
    }

    /// Goes on with what was asked for and nobody attends to.
    var jobs: JobKind { HistoryReplayWork.kind(reader, cancellation: cancellation) }

    /// Nil where nobody compares.
    var reconciliation: (places: Set<AppEnvironment>, interval: Duration)? {
        guard configuration.reconcile.isEnabled, !accesses.isEmpty else { return nil }
        return (Set(duties.map(\.place)), configuration.reconcile.interval)
    }

    private var duties: [(place: AppEnvironment, reader: HistoryReader)] {
        configuration.apps.flatMap { app in
            app.environments.compactMap { environment in
                reader(app.id).map { (AppEnvironment(app: app.id, environment: environment), $0) }
            }
        }
    }

    func reconciler(
        worker: [UInt8], session: PostgresSession, clock: any WallClock, logger: Logger, metrics: Metrics
    ) -> Reconciler {
        Reconciler(
            ReconcilerConfiguration(
                worker: worker, lease: configuration.worker.lease, interval: configuration.reconcile.interval,
                clock: clock, duties: reconciliation == nil ? [] : duties,
                statusCallsPerHour: configuration.reconcile.statusCallsPerHour,
                foldSettings: configuration.foldSettings),
            session: session, cancellation: cancellation, logger: logger, metrics: metrics)
    }

    /// Ends the transports, after everybody who uses them.
    var transports: any Service { Transports(accesses: Array(accesses.values)) }

    private struct Transports: Service {
        let name = "server-api"
        let accesses: [ServerAPIAccess]

        func start() {}

        func drain(until deadline: ContinuousClock.Instant) {
            accesses.forEach { $0.close() }
        }
    }
}

extension Configuration {
    /// The apps whose notifications are taken.
    var appRegistry: AppRegistry {
        AppRegistry(
            apps.map { app in
                AppRegistry.App(
                    id: app.id, bundleID: app.bundleID, appleAppID: app.appleAppID, environments: app.environments)
            })
    }
}
