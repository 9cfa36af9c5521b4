import Base
import Daemon
import Database
import Postgres

/// Tells when notifications are applied: they leave `pending` in the transaction that changes the records.
package final class AppliedWaiter: Sendable {
    private struct Waiting: Sendable {
        var open: Set<LogPosition>
        let deadline: ContinuousClock.Instant
        let done: @Sendable (Bool) -> Void
    }

    private struct State {
        var waiting: [Waiting] = []
        var isStopping = false
    }

    /// Between two queries, while a request waits. Most are applied within a few milliseconds.
    private static let interval = Duration.milliseconds(4)
    /// After a look that failed.
    private static let pause = Duration.milliseconds(100)

    private let state = Monitor(State())
    private let loop = Loop("applied-watch")
    private let session: PostgresSession

    init(session: PostgresSession) {
        self.session = session
    }

    /// Calls `done` once, on a thread of the watch: with true when all are applied, with false at the deadline.
    func wait(
        for subjects: [LogPosition], until deadline: ContinuousClock.Instant, _ done: @escaping @Sendable (Bool) -> Void
    ) {
        let isStopping = state.change { state in
            if !state.isStopping {
                state.waiting.append(Waiting(open: Set(subjects), deadline: deadline, done: done))
            }
            return state.isStopping
        }
        isStopping ? done(false) : loop.wake()
    }

    func start() {
        loop.start { [self] loop in
            loop.run { look() }
            // Answers those that came since the last look; no more come.
            _ = look()
        }
    }

    /// Ends whatever waits: every caller is answered that it should come again.
    func stop(until deadline: ContinuousClock.Instant) {
        state.change { $0.isStopping = true }
        loop.drain(until: deadline) ? session.close() : session.cut()
    }

    /// One question for all; when the next one follows.
    private func look() -> Next {
        let (open, isIdle) = state.read { state in
            (state.waiting.reduce(into: Set<LogPosition>()) { $0.formUnion($1.open) }, state.waiting.isEmpty)
        }
        guard !isIdle else { return .whenWoken }
        // A request that posted nothing new waits for nothing, and is answered at once.
        let pending = open.isEmpty ? [] : try? session.withConnection { try AppliedWaiter.pending(open, on: $0) }
        let ended = state.change { state -> [(done: @Sendable (Bool) -> Void, isApplied: Bool)] in
            var ended: [(done: @Sendable (Bool) -> Void, isApplied: Bool)] = []
            state.waiting = state.waiting.compactMap { waiting in
                var waiting = waiting
                // What came while we looked was not looked for.
                if let pending { waiting.open.subtract(open.subtracting(pending)) }
                if waiting.open.isEmpty {
                    ended.append((waiting.done, true))
                    return nil
                }
                if waiting.deadline <= .now || state.isStopping {
                    ended.append((waiting.done, false))
                    return nil
                }
                return waiting
            }
            return ended
        }
        for (done, isApplied) in ended { done(isApplied) }
        let pause = pending == nil ? AppliedWaiter.pause : AppliedWaiter.interval
        // Requests that come meanwhile wait for the next question like the others.
        return .after(pause, atLeast: pause)
    }

    private static let select = """
        SELECT p.lane, p.seq FROM unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        JOIN entitled.pending p ON p.lane = t.lane /* cluster: AND p.lane = ANY($1::int2[]) */ AND p.seq = t.seq
        """

    private static func pending(
        _ positions: Set<LogPosition>, on connection: PostgresConnection
    ) throws -> Set<LogPosition> {
        let all = Array(positions)
        let rows = try connection.query(select, [.int2s(all.map(\.lane.number)), .int8s(all.map(\.seq))])
        return Set(try rows.map { try LogPosition($0) })
    }
}
