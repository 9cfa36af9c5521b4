import Base
import Daemon
import Synchronization

/// Cuts connections with a statement that stays unanswered, whatever the server does: a commit waits without limit for a
/// synchronous standby or for a disk that stalls, and no timeout of the server's ends that. Each statement has its own
/// time. The session connects again with its next work.
///
/// One thread for all sessions that are added, as long as there is one of them: a session keeps its watch.
package final class SessionWatch: Sendable {
    private struct Watched {
        weak var session: PostgresSession?
        let patience: Duration
    }

    private struct State {
        var watched: [Watched] = []
        var isRunning = false
    }

    private static let interval = Duration.milliseconds(500)

    private let state = Mutex(State())
    private let isOver = Monitor(false)
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    deinit {
        isOver.change { $0 = true }
    }

    /// From any thread.
    ///
    /// - Parameter patience: how long one statement may take; longer than the server lets it run.
    package func add(_ session: PostgresSession, patience: Duration) {
        session.isWatched(by: self)
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            state.watched.removeAll { $0.session == nil }
            state.watched.append(Watched(session: session, patience: patience))
            return !state.isRunning
        }
        guard isFirst else { return }
        _ = ServiceThread("session-watch") { [weak self, isOver] in
            while isOver.wait(timeout: SessionWatch.interval, for: { $0 ? true : nil }) == nil {
                guard let self else { return }
                look()
            }
        }
    }

    private func look() {
        let cut = state.withLock(\.watched).filter { $0.session?.cut(ifBusyFor: $0.patience) ?? false }
        guard let longest = cut.map(\.patience).max() else { return }
        logger.warning(
            "unresponsive database connections cut",
            ["count": .int(Int64(cut.count)), "patience_ms": .int(longest.milliseconds)])
    }
}
