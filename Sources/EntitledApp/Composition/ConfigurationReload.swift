import Base
import Daemon
import Database
import Synchronization

/// What SIGHUP does: the configuration is read again, and the roles of the process work by the new one from then on. What
/// cannot be used changes nothing.
///
/// It is made before any thread, as the signal has to be, and is told of the roles before the process waits for signals.
package final class ConfigurationReload: Sendable {
    /// Has a role work by a configuration. What `apply` returns drains what the role did its work with before; nil where
    /// the process ends.
    package struct Step {
        let role: String
        let apply: () throws -> (@Sendable () -> Void)?

        package init(role: String, apply: @escaping () throws -> (@Sendable () -> Void)?) {
            self.role = role
            self.apply = apply
        }
    }

    /// What has each role work by a configuration, in this order; throws what keeps all of them from it.
    package typealias Prepare = @Sendable (Configuration) throws -> [Step]

    private struct State {
        var reading: ConfigurationSource.Reading
        var prepare: Prepare?
        /// Whether some roles work by another configuration than the one that is in force, which they took while others
        /// could not.
        var isMixed = false
        /// Whether a reload was asked for and has not begun, and whether one is under way.
        var isWanted = false
        var isRunning = false
    }

    private let source: ConfigurationSource
    private let state: Mutex<State>
    private let logger: Logger
    private let metrics: Metrics
    private let notifier: SystemdNotifier

    package init(
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

    /// From now on configurations are applied.
    package func begin(_ prepare: @escaping Prepare) {
        state.withLock { $0.prepare = prepare }
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

    /// Returns once what the roles worked with before has ended.
    package func reload() {
        notifier.reloading()
        defer { notifier.ready() }
        let (former, prepare, isMixed) = state.withLock { ($0.reading, $0.prepare, $0.isMixed) }
        guard let prepare else { return }
        let new: ConfigurationSource.Reading
        do {
            new = try source.read(after: former)
        } catch {
            return refuse(error.all.map(\.description))
        }
        let difference = ConfigurationSource.Difference(from: former, to: new)
        guard isMixed || !difference.isEmpty else {
            metrics.gauge(.configurationReloadFailed, 0)
            logger.notice("configuration unchanged")
            return
        }
        let steps: [Step]
        do {
            steps = try prepare(new.configuration)
        } catch {
            return refuse(["\(error)"])
        }
        guard let (failed, endings) = apply(steps) else { return }
        // All roles work by the new one before the first waits for what it worked with: a key that was taken away must not
        // be good for as long as another role's work takes.
        defer { for end in endings { end() } }
        state.withLock { state in
            if failed.isEmpty {
                (state.reading, state.isMixed) = (new, false)
            } else if failed.count < steps.count {
                // The file that is in force has to be applied, too, when it comes back.
                state.isMixed = true
            }
        }
        metrics.gauge(.configurationReloadFailed, failed.isEmpty ? 0 : 1)
        guard failed.count < max(steps.count, 1) else { return }
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

    private func refuse(_ mistakes: [String]) {
        metrics.gauge(.configurationReloadFailed, 1)
        logger.error("configuration reload failed", ["mistakes": .strings(mistakes)])
    }

    /// The roles that could not work by their configuration, and what drains what the others worked with; nil where the
    /// process ends.
    private func apply(_ steps: [Step]) -> (failed: [String], endings: [@Sendable () -> Void])? {
        var (failed, endings): ([String], [@Sendable () -> Void]) = ([], [])
        for step in steps {
            do {
                guard let end = try step.apply() else {
                    for end in endings { end() }
                    return nil
                }
                endings.append(end)
            } catch {
                failed.append(step.role)
                logger.error("role reload failed", ["role": .string(step.role), "error": .string("\(error)")])
            }
        }
        return (failed, endings)
    }

    private func report(_ configuration: Configuration) {
        metrics.gauge(.configurationHash, Double(ConfigurationKeys.digest(of: configuration).number))
    }
}
