import AppStore
import AppStoreAPI
import Base
import CLI
import Daemon
import Duties
import HTTP
import Postgres
import Schemas

/// The process of `entitled ingest`, `worker`, `api`, `console` and `run`, until it is told to end.
struct RoleProcess {
    enum Role: String, Sendable {
        case ingest, worker, api, console, run

        /// Those that must reach the database. `run` does without the console, whose role an older schema lacks.
        var databaseRoles: [DatabaseRole] {
            switch self {
            case .ingest: [.ingest]
            case .worker: [.worker]
            case .api: [.api]
            case .console: [.console]
            case .run: [.ingest, .worker, .api]
            }
        }
    }

    /// For the help of these commands.
    static let ending =
        "Runs until SIGTERM or SIGINT; a second one ends it at once. Log lines are JSON on standard error."

    private let role: Role

    init(_ role: Role) {
        self.role = role
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        // Before any thread: every thread must leave the signals to the one that waits for them.
        Signals.block()
        let logger = Logger(minimum: configuration.log.level)
        let reloads = Reloads(logger: logger)
        Signals.onHangUp { reloads.perform() }
        let metrics = Metrics()
        let watchdog = try startCluster(configuration, metrics, logger)
        defer { stop(watchdog, logger) }
        if let watchdog { try prepare(watchdog.cluster) }
        let watch = PositionWatch(SightingFile(folder: configuration.stateDirectory, logger: logger))
        let database = try DatabaseAccess(configuration, watch: watch)
        if watchdog != nil {
            let left = try MigrateCommand.migrate(database).left
            if !left.isEmpty {
                logger.warning(
                    "public privileges not revoked",
                    ["privileges": .strings(left.map(\.rawValue)), "hint": .string(MigrateCommand.remedy)])
            }
        }
        try database.checkBeforeStart(role.databaseRoles, logger: logger)
        return try serve(configuration, database, watch, hasCluster: watchdog != nil, reloads, metrics, logger)
    }

    private func serve(
        _ configuration: Configuration, _ database: DatabaseAccess, _ watch: PositionWatch, hasCluster: Bool,
        _ reloads: Reloads, _ metrics: Metrics, _ logger: Logger
    ) throws -> Int32 {
        let refusals = FatalConditions()
        let revocation =
            role == .console
            ? nil
            : try RevocationServices(
                configuration.trust.ocsp,
                file: "\(configuration.stateDirectory)/revocation-\(role.rawValue).json", logger: logger,
                metrics: metrics)
        let verifier = SignedDataVerifier(
            trust: try configuration.trustAnchors(), revocation: revocation?.policyOfAdmission)
        let process = Composition(
            configuration: configuration, database: database, logger: logger, metrics: metrics, revocation: revocation,
            apple: AppleAccesses(configuration, verifier: verifier, logger: logger, metrics: metrics),
            watch: watch,
            refused: { refusals.tell($0) })
        var parts: [Composition.Part] = []
        if role == .ingest || role == .run { parts.append(try process.ingest()) }
        if role == .worker || role == .run { parts.append(try process.worker()) }
        if role == .api || role == .run { parts.append(try process.api()) }
        if role == .console { parts.append(try process.console()) }
        if role == .run, let part = process.optionalConsole() { parts.append(part) }
        parts.compactMap(\.reloading).forEach(reloads.add)
        let asking = revocation.map { [$0.services] } ?? []
        // A worker has a duty for it.
        let position =
            role == .worker || role == .run ? [] : [try role.databaseRoles.map { try process.positionReader($0) }]
        let chains = asking + position + parts.map(\.services) + [[process.admin(parts)]]
        let timeout = configuration.drainTimeout - (hasCluster ? RoleProcess.clusterTimeout : .zero)
        let group = ServiceGroup(
            chains, drainTimeout: max(timeout, configuration.drainTimeout * 0.5), logger: logger)
        refusals.listen { group.fail($0) }
        return group.run()
    }

    /// The private Postgres, where `run` has no other.
    private func startCluster(
        _ configuration: Configuration, _ metrics: Metrics, _ logger: Logger
    ) throws -> ClusterWatchdog? {
        guard role == .run, configuration.database.isPrivateCluster else { return nil }
        let cluster = try PrivateCluster(stateDirectory: configuration.stateDirectory, logger: logger)
        metrics.count(.privateDatabaseRestarts, by: 0)
        let watchdog = ClusterWatchdog(cluster, logger: logger) { metrics.count(.privateDatabaseRestarts) }
        try watchdog.start()
        return watchdog
    }

    /// What takes a superuser, since the login of the private Postgres is none: the roles, and what Postgres gives to all of them.
    private func prepare(_ cluster: PrivateCluster) throws {
        let connection = try PostgresConnection(PostgresTarget(url: cluster.url()))
        if try RoleMaking.isDone(for: nil, on: connection), try PublicPrivileges.left(on: connection).isEmpty { return }
        try cluster.asSuperuser { superuser in
            try RoleMaking.make(for: PrivateCluster.owner, on: superuser)
            try PublicPrivileges.withdraw(on: superuser)
        }
    }

    /// A fast stop takes a fraction of a second; it is what is left of the drain's own reserve.
    private static let clusterTimeout = Duration.seconds(5)

    private func stop(_ watchdog: ClusterWatchdog?, _ logger: Logger) {
        do {
            try watchdog?.stop(timeout: RoleProcess.clusterTimeout)
        } catch {
            logger.error("private database stop failed", ["error": .string("\(error)")])
        }
    }
}

/// Conditions that no waiting mends, passed from services to the command that ends the process.
private final class FatalConditions: Sendable {
    private let state = Monitor<(told: String?, listener: (@Sendable (String) -> Void)?)>((nil, nil))

    func tell(_ reason: String) {
        let listener = state.change { state in
            state.told = state.told ?? reason
            return state.listener
        }
        listener?(reason)
    }

    func listen(_ listener: @escaping @Sendable (String) -> Void) {
        let told = state.change { state in
            state.listener = listener
            return state.told
        }
        if let told { listener(told) }
    }
}
