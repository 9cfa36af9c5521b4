import Base
import Daemon
import Synchronization

/// Cuts connections with a statement that stays unanswered, whatever the server does: a commit waits without limit for a
/// synchronous standby or for a disk that stalls, and no timeout of the server's ends that. Each statement has its own
/// time. The session connects again with its next work.
///
/// Once one session has found the primary on another host, the others do not wait that long for the former one, if that does
/// not answer or takes no writes: a host that hangs keeps its connections open.
///
/// One thread for all sessions that are added, as long as there is one of them: a session keeps its watch.
package final class SessionWatch: Sendable {
    private struct Watched {
        weak var session: PostgresSession?
        let patience: @Sendable () -> Duration
    }

    private struct State {
        var watched: [Watched] = []
        var isRunning = false
        var primary: FoundPrimary?
        var former: [ServerAddress: Former] = [:]
    }

    /// What is known of a server that was the primary before.
    private enum Former {
        case isAsked(PostgresCanceller, since: ContinuousClock.Instant)
        case takesWrites(until: ContinuousClock.Instant)
        case isGone(until: ContinuousClock.Instant)
    }

    /// A server that accepted writes.
    struct FoundPrimary: Sendable {
        let server: ServerAddress
        /// Before it was asked.
        let moment: ContinuousClock.Instant
    }

    private static let interval = Duration.milliseconds(500)
    /// For a statement at a server that is not the primary any more.
    private static let patienceWithFormer = Duration.seconds(1)
    /// How long the former primary may take to answer, and for how long an answer counts.
    private static let formerTimeout = Duration.seconds(2)
    private static let formerKept = Duration.seconds(5)

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
    /// - Parameter patience: how long one statement may take; longer than the server lets it run. Asked for at each look.
    package func add(_ session: PostgresSession, patience: @escaping @autoclosure @Sendable () -> Duration) {
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

    /// A session has connected to the primary.
    ///
    /// - Parameter moment: before it began to.
    func found(primary server: ServerAddress, at moment: ContinuousClock.Instant) {
        state.withLock { state in
            if state.primary.map({ $0.moment < moment }) ?? true {
                state.primary = FoundPrimary(server: server, moment: moment)
            }
        }
    }

    private func look() {
        cutOverdueQuestions()
        let (watched, primary) = state.withLock { ($0.watched, $0.primary) }
        var cut: [Duration] = []
        for one in watched {
            guard let session = one.session else { continue }
            let patience =
                if session.isBusy(longerThan: SessionWatch.patienceWithFormer), let primary,
                    let former = session.former(of: primary), isGone(former.server, former.target)
                { SessionWatch.patienceWithFormer } else { one.patience() }
            if session.cut(ifBusyFor: patience) { cut.append(patience) }
        }
        guard let longest = cut.max() else { return }
        logger.warning(
            "unresponsive database connections cut",
            ["count": .int(Int64(cut.count)), "patience_ms": .int(longest.milliseconds)])
    }

    /// Whether a server is known not to answer, or to take no writes. Asks it on a thread of its own.
    private func isGone(_ server: ServerAddress, _ target: PostgresTarget) -> Bool {
        let now = ContinuousClock.now
        let canceller = PostgresCanceller()
        let known = state.withLock { state -> Bool? in
            switch state.former[server] {
            case .isAsked(_, _): return false
            case .takesWrites(let until) where until > now: return false
            case .isGone(let until) where until > now: return true
            default:
                state.former[server] = .isAsked(canceller, since: now)
                return nil
            }
        }
        if let known { return known }
        let asked = ServiceThread(orNil: "former-primary") { [weak self] in
            let takesWrites = SessionWatch.takesWrites(target, canceller)
            let until = ContinuousClock.now + SessionWatch.formerKept
            self?.state.withLock {
                $0.former[server] = takesWrites ? .takesWrites(until: until) : .isGone(until: until)
            }
        }
        if asked == nil { state.withLock { $0.former[server] = nil } }
        return false
    }

    /// A server may let a client in, and hang then.
    private func cutOverdueQuestions() {
        let now = ContinuousClock.now
        let overdue = state.withLock { state in
            state.former.values.compactMap { former -> PostgresCanceller? in
                guard case .isAsked(let canceller, let since) = former, now - since > SessionWatch.formerTimeout * 2
                else { return nil }
                return canceller
            }
        }
        for canceller in overdue { canceller.cut() }
    }

    private static func takesWrites(_ target: PostgresTarget, _ canceller: PostgresCanceller) -> Bool {
        let connection: PostgresConnection
        do {
            connection = try PostgresConnection(target.with(connectTimeout: formerTimeout), canceller: canceller)
        } catch {
            // A server that answers with a refusal, because it has no connection left for example, does not hang.
            return error.message.contains("FATAL:")
        }
        return (try? connection.query("SHOW transaction_read_only").one().text("transaction_read_only")) == "off"
    }
}
