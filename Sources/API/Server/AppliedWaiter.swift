import Base
import Daemon
import Database
import Postgres

/// Tells when notifications are applied: they leave `pending` in the transaction that changes the records.
package final class AppliedWaiter: Sendable {
    /// A notification that is committed.
    package struct Subject: Sendable, Hashable {
        package let lane: Lane
        package let seq: Int64

        package init(lane: Lane, seq: Int64) {
            self.lane = lane
            self.seq = seq
        }
    }

    private struct Waiting: Sendable {
        var open: Set<Subject>
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
    private let finished = Monitor(false)
    private let session: PostgresSession

    init(session: PostgresSession) {
        self.session = session
    }

    /// Calls `done` once, on a thread of the watch: with true when all are applied, with false at the deadline.
    func wait(
        for subjects: [Subject], until deadline: ContinuousClock.Instant, _ done: @escaping @Sendable (Bool) -> Void
    ) {
        let isStopping = state.change { state in
            if !state.isStopping {
                state.waiting.append(Waiting(open: Set(subjects), deadline: deadline, done: done))
            }
            return state.isStopping
        }
        if isStopping { done(false) }
    }

    func start() {
        _ = ServiceThread("applied-watch") { [self] in
            run()
            finished.change { $0 = true }
        }
    }

    /// Ends whatever waits: every caller is answered that it should come again.
    func stop(until deadline: ContinuousClock.Instant) {
        state.change { $0.isStopping = true }
        let isDone = finished.wait(timeout: max(.zero, deadline - .now)) { $0 ? true : nil } ?? false
        isDone ? session.close() : session.cut()
    }

    private func run() {
        while true {
            let isOver = state.wait { state -> Bool? in
                if !state.waiting.isEmpty { return false }
                return state.isStopping ? true : nil
            }
            if isOver ?? true { return }
            let pause = look()
            // Not for news: only to let time pass, and to end at once.
            _ = state.wait(timeout: pause) { _ in nil as Bool? }
        }
    }

    /// One question for all; how long to wait for the next.
    private func look() -> Duration {
        let open = state.read { $0.waiting.reduce(into: Set<Subject>()) { $0.formUnion($1.open) } }
        let pending = try? session.withConnection { try AppliedWaiter.pending(open, on: $0) }
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
        return pending == nil ? AppliedWaiter.pause : AppliedWaiter.interval
    }

    private static let select = """
        SELECT p.lane, p.seq FROM unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        JOIN entitled.pending p ON p.lane = t.lane AND p.seq = t.seq
        """

    private static func pending(_ subjects: Set<Subject>, on connection: PostgresConnection) throws -> Set<Subject> {
        let all = Array(subjects)
        let rows = try connection.query(select, [.int2s(all.map(\.lane.number)), .int8s(all.map(\.seq))])
        return Set(try rows.map { Subject(lane: Lane(number: Int16(clamping: try $0.int(0))), seq: try $0.int(1)) })
    }
}
