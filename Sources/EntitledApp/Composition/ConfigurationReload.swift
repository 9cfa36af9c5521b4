import Base
import Daemon
import Synchronization

/// What SIGHUP does: the configuration is read again, and the roles of the process work by the new one from then on. What
/// cannot be used changes nothing.
///
/// It is made before any thread, as the signal has to be, and is told of the roles before the process waits for signals.
final class ConfigurationReload: Sendable {
    /// Has a role work by a configuration; false where the process ends.
    typealias Apply = @Sendable (Configuration) throws -> Bool

    private struct State {
        var reading: ConfigurationSource.Reading
        var roles: [(name: String, apply: Apply)] = []
        /// Whether a reload was asked for and has not begun, and whether one is under way.
        var isWanted = false
        var isRunning = false
    }

    private let source: ConfigurationSource
    private let state: Mutex<State>
    private let logger: Logger
    private let metrics: Metrics
    private let notifier: SystemdNotifier

    init(
        _ source: ConfigurationSource, _ reading: ConfigurationSource.Reading, notifier: SystemdNotifier,
        logger: Logger, metrics: Metrics
    ) {
        self.source = source
        self.notifier = notifier
        self.logger = logger
        self.metrics = metrics
        state = Mutex(State(reading: reading))
        report(reading.configuration)
        metrics.gauge(.configurationReloadFailed, 0)
    }

    /// - Parameter roles: what is told of a new configuration, in this order.
    func apply(to roles: [(name: String, apply: Apply)]) {
        state.withLock { $0.roles = roles }
    }

    /// On a thread of its own, one at a time: a file on a dead mount must not keep SIGTERM from being heard.
    func perform() {
        let begins = state.withLock { state in
            state.isWanted = true
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard begins else { return }
        let thread = ServiceThread(orNil: "reload") { [self] in
            while takeRequest() { reload() }
        }
        guard thread == nil else { return }
        state.withLock { $0.isRunning = false }
        logger.error("reload thread not started", ["reason": .string("the system has no more threads")])
    }

    /// False when no reload was requested since; then nothing is under way any more.
    private func takeRequest() -> Bool {
        state.withLock { state in
            state.isRunning = state.isWanted
            state.isWanted = false
            return state.isRunning
        }
    }

    private func reload() {
        notifier.reloading()
        defer { notifier.ready() }
        let (former, roles) = state.withLock { ($0.reading, $0.roles) }
        let new: ConfigurationSource.Reading
        do {
            new = try source.read()
        } catch {
            metrics.gauge(.configurationReloadFailed, 1)
            logger.error("configuration reload failed", ["mistakes": .strings(error.all.map(\.description))])
            return
        }
        let difference = ConfigurationSource.Difference(from: former, to: new)
        guard !difference.isEmpty else {
            metrics.gauge(.configurationReloadFailed, 0)
            logger.notice("configuration unchanged")
            return
        }
        var failed: [String] = []
        for (name, apply) in roles {
            do {
                guard try apply(new.configuration) else { return }
            } catch {
                failed.append(name)
                logger.error(
                    "role reload failed", ["role": .string(name), "error": .string("\(error)")])
            }
        }
        // Read again next time, too, where a role could not take it.
        if failed.isEmpty { state.withLock { $0.reading = new } }
        metrics.gauge(.configurationReloadFailed, failed.isEmpty ? 0 : 1)
        guard failed.count < max(roles.count, 1) else { return }
        logger.setMinimum(new.configuration.log.level)
        report(new.configuration)
        var fixed = difference.keys.filter(ConfigurationKeys.needsRestart)
        // A listener speaks TLS from its start on, or never.
        if (former.configuration.ingest.tls == nil) != (new.configuration.ingest.tls == nil) {
            fixed.append("ingest.tls_certificate_file")
        }
        logger.notice(
            "configuration reloaded",
            [
                "changed": .strings(difference.keys), "changed_files": .strings(difference.files),
                "failed_roles": failed.isEmpty ? nil : .strings(failed),
            ])
        if !fixed.isEmpty { logger.warning("configuration needs restart", ["keys": .strings(fixed)]) }
    }

    private func report(_ configuration: Configuration) {
        metrics.gauge(.configurationHash, Double(ConfigurationKeys.hash(of: configuration)))
    }
}
