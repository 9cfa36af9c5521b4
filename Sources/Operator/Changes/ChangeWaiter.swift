import Base
import Daemon
import Database
import Postgres

/// Waits for what workers make of changes: one connection looks for all that wait, so that no thread stands still for one.
package final class ChangeWaiter: Service {
    package let name = "change-waiter"

    private struct Waiting: Sendable {
        let job: Int64
        let deadline: ContinuousClock.Instant
        /// What became of it, once it is over, and when that may be told. Kept, because the database may be away by then.
        var over: (change: Change, telling: ContinuousClock.Instant)?
        let done: @Sendable (Change?) -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        var isEnding = false
    }

    /// How long a caller waits for the outcome.
    package static let patience = Duration.seconds(5)
    private static let interval = Duration.milliseconds(100)

    private let session: PostgresSession
    private let logger: Logger
    private let failures = RepeatedFailure()
    private let state = Monitor(State())
    private let loop = Loop("change-waiter")

    /// - Parameter session: for this alone; closed at the end.
    package init(session: PostgresSession, logger: Logger) {
        (self.session, self.logger) = (session, logger)
    }

    package func start() {
        loop.start { [self] loop in loop.run { look() } }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isEnding = true }
        if loop.drain(until: min(deadline, .now + .seconds(1))) { session.close() } else { session.cut() }
        let left = state.change { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for one in left { one.done(one.over?.change) }
    }

    /// - Parameter done: gets the change when it is over; nil: it is not, within the patience.
    package func wait(for job: Int64, _ done: @escaping @Sendable (Change?) -> Void) {
        let isAdded = state.change { state in
            guard !state.isEnding else { return false }
            state.waiting.append(Waiting(job: job, deadline: .now + ChangeWaiter.patience, done: done))
            return true
        }
        if isAdded { loop.wake() } else { done(nil) }
    }

    /// Waits on the calling thread, for what must not leave it.
    ///
    /// - Returns: the change when it is over; nil: it is not, within the patience.
    package func outcome(of job: Int64) -> Change? {
        let answer = Monitor<Change??>(nil)
        wait(for: job) { change in answer.change { $0 = .some(change) } }
        // The loop ends the waiting; this is in case that it cannot.
        return answer.wait(timeout: ChangeWaiter.patience + EndpointSecrets.spreading + .seconds(2)) { $0 } ?? nil
    }

    private func look() -> Next {
        let jobs = Set(state.read { $0.waiting.map(\.job) })
        guard !jobs.isEmpty else { return .whenWoken }
        var found: [Int64: Change] = [:]
        do {
            found = try session.withConnection { connection in
                try ChangeTable.ended(among: jobs, on: connection)
            }
        } catch {
            failures.warning("change outcomes not read", error, count: 1, logger)
        }
        let over = state.change { state -> [Waiting] in
            let now = ContinuousClock.now
            for place in state.waiting.indices {
                guard state.waiting[place].over == nil, let change = found[state.waiting[place].job] else {
                    continue
                }
                state.waiting[place].over = (change, now + change.spreading)
            }
            // One that is over is told, however long its caller has waited by then.
            let isOver: (Waiting) -> Bool = { ($0.over?.telling ?? $0.deadline) <= now }
            defer { state.waiting.removeAll(where: isOver) }
            return state.waiting.filter(isOver)
        }
        for one in over { one.done(one.over?.change) }
        return .after(ChangeWaiter.interval, atLeast: ChangeWaiter.interval)
    }
}

extension Change {
    /// How long what was done takes to be so everywhere: once a new secret is told, every webhook is signed with it.
    fileprivate var spreading: Duration {
        kind == .endpointRotateSecret && state == .done ? EndpointSecrets.spreading : .zero
    }
}
