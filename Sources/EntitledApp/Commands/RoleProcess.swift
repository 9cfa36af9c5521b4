import AppStore
import AppStoreAPI
import Base
import CLI
import Daemon
import Duties
import HTTP
import Postgres
import Schemas

/// A command that serves until it is told to end, and writes a log.
protocol ServingCommand: Command {}

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

        /// The roles in one process.
        var parts: [Composition.Role] { Composition.Role(rawValue: rawValue).map { [$0] } ?? Composition.Role.allCases }

        /// Those that a socket unit may have, the one of the role first.
        var listeners: [String] { parts.filter { $0 != .worker }.map(\.rawValue) + ["admin"] }

        /// Whether the process does without this one of its roles.
        func isOptional(_ part: Composition.Role) -> Bool { self == .run && part == .console }
    }

    /// For the help of these commands.
    static let ending =
        "Runs until SIGTERM or SIGINT; a second one ends it at once. Log lines are JSON on standard error."

    private let role: Role

    /// Every second of systemd's watchdog has some of these.
    private static let aliveWithin = Duration.seconds(10)

    init(_ role: Role) {
        self.role = role
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let source = context.configurationSource
        let reading = try source.read()
        let configuration = reading.configuration
        let sockets = try inheritedSockets(context.environment)
        let notifier = SystemdNotifier(environment: context.environment)
        // Before any thread: every thread must leave the signals to the one that waits for them.
        SystemdNotifier.clearEnvironment()
        InheritedSockets.clearEnvironment()
        Signals.block()
        let logger = Logger(minimum: configuration.log.level)
        let metrics = Metrics()
        let reload = ConfigurationReload(source, reading, notifier: notifier, logger: logger, metrics: metrics)
        Signals.onHangUp { reload.perform() }
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
        let parts = Parts(
            configuration: configuration, database: database, watch: watch, hasCluster: watchdog != nil,
            sockets: sockets, notifier: notifier, reload: reload, metrics: metrics, logger: logger)
        return try serve(parts)
    }

    /// The sockets that systemd passes, by listener.
    private func inheritedSockets(_ environment: [String: String]) throws -> [String: Int32] {
        do throws(InheritedSockets.Unusable) {
            return try InheritedSockets(environment: environment).assigned(to: role.listeners)
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// What a process has before it composes its roles.
    private struct Parts {
        let configuration: Configuration
        let database: DatabaseAccess
        let watch: PositionWatch
        let hasCluster: Bool
        /// That systemd passed, by listener.
        let sockets: [String: Int32]
        let notifier: SystemdNotifier
        let reload: ConfigurationReload
        let metrics: Metrics
        let logger: Logger

        /// For the services; a private cluster is stopped after them.
        var drainTimeout: Duration {
            max(
                configuration.drainTimeout - (hasCluster ? RoleProcess.clusterTimeout : .zero),
                configuration.drainTimeout * 0.5)
        }
    }

    private func serve(_ parts: Parts) throws -> Int32 {
        let refusals = FatalConditions()
        let telemetry = try TelemetryServices(
            parts.configuration.telemetry, role.rawValue, parts.logger, parts.metrics)
        let revocation = try revocation(parts)
        let compose = composer(parts, telemetry, revocation, refusals)
        let process = try compose(parts.configuration)
        let roles = try roles(of: process, parts)
        // A worker has a duty for it.
        let position =
            role == .worker || role == .run ? [] : [try role.databaseRoles.map { try process.positionReader($0) }]
        let group = group(
            of: roles, process, parts, first: (revocation.map { [$0.services] } ?? []) + position)
        reload(roles, by: compose, parts.reload)
        refusals.listen { group.fail($0) }
        // Beside the group: it is there before the first span, and after the last.
        telemetry.exporter?.start()
        defer { telemetry.exporter?.drain(until: .now + SpanExporter.patienceAtEnd) }
        return group.run()
    }

    private func revocation(_ parts: Parts) throws -> RevocationServices? {
        guard role != .console else { return nil }
        return try RevocationServices(
            parts.configuration.trust.ocsp,
            file: "\(parts.configuration.stateDirectory)/revocation-\(role.rawValue).json", logger: parts.logger,
            metrics: parts.metrics)
    }

    private typealias Compose = @Sendable (Configuration) throws -> Composition

    /// What composes the process, at its start and at each reload.
    private func composer(
        _ parts: Parts, _ telemetry: TelemetryServices, _ revocation: RevocationServices?, _ refusals: FatalConditions
    ) -> Compose {
        let (database, watch, logger, metrics) = (parts.database, parts.watch, parts.logger, parts.metrics)
        let sessionWatch = SessionWatch(logger: logger)
        return { configuration in
            let verifier = SignedDataVerifier(
                trust: try configuration.trustAnchors(), revocation: revocation?.policyOfAdmission)
            return Composition(
                configuration: configuration, database: database, logger: logger, metrics: metrics,
                tracer: telemetry.tracer, revocation: revocation,
                apple: AppleAccesses(configuration, verifier: verifier, logger: logger, metrics: metrics),
                watch: watch, sessionWatch: sessionWatch,
                refused: { refusals.tell($0) })
        }
    }

    /// The roles of the process, without an optional one that cannot be.
    private func roles(of process: Composition, _ parts: Parts) throws -> [RunningRole] {
        var roles: [RunningRole] = []
        for part in role.parts {
            do {
                roles.append(
                    RunningRole(
                        part, try process.parts(of: part, isOptional: role.isOptional(part)),
                        isOptional: role.isOptional(part), inherited: parts.sockets[part.rawValue],
                        drainTimeout: parts.drainTimeout, logger: parts.logger, metrics: parts.metrics))
            } catch  where role.isOptional(part) {
                OptionalService.warn("\(error)", parts.logger)
            }
        }
        return roles
    }

    /// The services of the process, with what tells how they are: the admin listener, and the reporter to systemd.
    ///
    /// - Parameter first: chains that start before those of the roles.
    private func group(
        of roles: [RunningRole], _ process: Composition, _ parts: Parts, first: [[any Service]]
    ) -> ServiceGroup {
        let isLeaving = Monitor(false)
        let (watch, notifier) = (parts.watch, parts.notifier)
        let conditions: @Sendable () -> [String] = {
            if isLeaving.read({ $0 }) { return ["the process is ending"] }
            let reasons = roles.flatMap { role in role.notReady().map { "\(role.role.rawValue): \($0)" } }
            return reasons.isEmpty ? [] : reasons + [watch.refusal].compactMap { $0 }
        }
        let admin = process.admin(inherited: parts.sockets["admin"], notReady: conditions)
        let servers = roles.compactMap(\.server) + [admin]
        let reporter = SystemdReporter(notifier, reasons: conditions) {
            servers.allSatisfy { $0.isAlive(within: RoleProcess.aliveWithin) }
        }
        return ServiceGroup(
            first + roles.map(\.services) + [[admin], [reporter]], drainTimeout: parts.drainTimeout,
            drainDelay: parts.configuration.drainDelay, logger: parts.logger
        ) {
            isLeaving.change { $0 = true }
            notifier.stopping()
            servers.forEach { $0.announceEnd() }
        }
    }

    /// From now on a reload replaces what the roles run with.
    private func reload(_ roles: [RunningRole], by compose: @escaping Compose, _ reload: ConfigurationReload) {
        reload.begin { [role] configuration in
            // Once for all: roles of one process keep to Apple's rates together.
            let composition = try compose(configuration)
            return roles.map { running in
                ConfigurationReload.Step(role: running.role.rawValue) {
                    try running.replace(
                        with: composition.parts(of: running.role, isOptional: role.isOptional(running.role)))
                }
            }
        }
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
