import Base
import Daemon
import Database
import Postgres

/// Brings the keys of the database into the table: every two seconds, so that a revoked one ends soon, and at once when
/// a request has an unknown one, so that a new one works.
package final class KeyRefresher: Service {
    package let name = "api-keys"

    /// What came of a look for an unfamiliar key.
    enum Look: Sendable {
        case done
        /// The database did not answer: it is unknown whether there is such a key.
        case failed
    }

    private struct State {
        var waiting: [@Sendable (Look) -> Void] = []
        var isStopping = false
    }

    /// From one query to the next when no request waits for one.
    private static let interval = Duration.seconds(2)
    /// At least, whatever keys come: keys that are tried out cost ten statements a second at most.
    private static let shortest = Duration.milliseconds(100)
    /// Who waits for a look at the same time; beyond, they come again.
    private static let waitingLimit = 256

    private let table: KeyTable
    private let session: PostgresSession
    private let logger: Logger
    private let state = Monitor(State())
    private let loop = Loop("api-keys")
    private let isReachable = Monitor(false)

    /// Whether the database answered last time.
    package var isReady: Bool { isReachable.read { $0 } }

    package init(_ table: KeyTable, session: PostgresSession, logger: Logger) {
        self.table = table
        self.session = session
        self.logger = logger
    }

    package func start() {
        loop.start { [self] loop in
            loop.run {
                look()
                return .after(KeyRefresher.interval, atLeast: KeyRefresher.shortest)
            }
            // For requests that came since the last look; no more come.
            look()
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isStopping = true }
        loop.drain(until: deadline) ? session.close() : session.cut()
    }

    /// Whether no more can wait for a look.
    var isFull: Bool { state.read { $0.waiting.count >= KeyRefresher.waitingLimit } }

    /// Calls `done` once, after a look that begins from now on, on the refresher's thread; false: too many wait.
    func look(_ done: @escaping @Sendable (Look) -> Void) -> Bool {
        let isTaken = state.change { state in
            guard !state.isStopping, state.waiting.count < KeyRefresher.waitingLimit else { return false }
            state.waiting.append(done)
            return true
        }
        if isTaken { loop.wake() }
        return isTaken
    }

    private func look() {
        let waiting = state.change { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        let look = refresh()
        isReachable.change { $0 = look == .done }
        for done in waiting { done(look) }
    }

    private func refresh() -> Look {
        do {
            try session.withConnection { table.replace(try APIKeyTable.list(live: true, on: $0)) }
        } catch {
            // Said once by the session where it is away.
            logger.debug("API key refresh failed", ["error": .string("\(error)")])
            return .failed
        }
        let uses = table.takeUses()
        do {
            try session.withConnection { try APIKeyTable.note(uses, on: $0) }
        } catch {
            table.giveBack(uses)
            logger.warning("API key usage recording failed", ["error": .string("\(error)")])
        }
        return .done
    }
}
