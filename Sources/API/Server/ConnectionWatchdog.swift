import Base
import Daemon
import Postgres
import Synchronization

/// Cuts connections that answer nothing any more: a database that hangs must not hold all threads. They
/// connect again with their next work.
package final class ConnectionWatchdog: Service {
    package let name = "session-watch"

    /// Longer than the statement timeout of the role: a server that lives ends a statement itself.
    package static let patience = Duration.seconds(35)
    private static let interval = Duration.seconds(1)

    private let sessions = Mutex<[PostgresSession]>([])
    private let loop = Loop("api-watch")
    private let patience: Duration
    private let logger: Logger

    package init(patience: Duration = ConnectionWatchdog.patience, logger: Logger) {
        self.patience = patience
        self.logger = logger
    }

    /// From any thread.
    package func add(_ session: PostgresSession) {
        sessions.withLock { $0.append(session) }
    }

    package func start() {
        loop.start { [self] loop in
            loop.run(firstAfter: ConnectionWatchdog.interval) {
                look()
                return .after(ConnectionWatchdog.interval)
            }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        loop.drain(until: deadline)
    }

    private func look() {
        let cut = sessions.withLock { $0 }.filter { $0.cut(ifBusyFor: patience) }.count
        guard cut > 0 else { return }
        logger.warning(
            "unresponsive database connections cut",
            ["count": .int(Int64(cut)), "patience_ms": .int(patience.milliseconds)])
    }
}
