import Base
import Daemon
import Postgres

/// Keeps the desk for refunds open beside a worker, on a thread and a connection of its own.
package final class RefundAnswerDuty: Service {
    package let name = "refunds"

    private let state = Monitor((isDraining: false, isFinished: false))
    private let session: PostgresSession
    private let desk: RefundDesk
    private let rest: Duration
    private let logger: Logger
    private let failures = RepeatedFailure()

    /// - Parameter rest: between two looks.
    package init(desk: RefundDesk, session: PostgresSession, rest: Duration = .seconds(5), logger: Logger) {
        self.desk = desk
        self.session = session
        self.rest = rest
        self.logger = logger
    }

    package func start() {
        _ = ServiceThread("refunds") { [self] in
            run()
            state.change { $0.isFinished = true }
        }
    }

    /// An answer that is under way is sent again by the next leader.
    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isDraining = true }
        session.cancel()
        _ = state.wait(timeout: max(.zero, deadline - ContinuousClock.now)) { $0.isFinished ? true : nil }
    }

    private func run() {
        var pause = rest
        while state.wait(timeout: pause, for: { $0.isDraining ? true : nil }) == nil {
            pause = rest
            do {
                if try desk.take(session, isEnding: { state.read { $0.isDraining } }) { pause = .zero }
            } catch {
                guard (error as? PostgresError)?.kind != .connection, !state.read({ $0.isDraining }) else { continue }
                failures.note("refund answer run failed", error, count: 1, logger)
            }
        }
        session.close()
    }
}
