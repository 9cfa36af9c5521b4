import Base
import Daemon
import Postgres

/// Keeps retention going beside a worker, on a thread and a connection of its own.
package final class RetentionDuty: Service {
    package let name = "retention"

    private let state = Monitor((isDraining: false, isFinished: false))
    private let session: PostgresSession
    private let makeRound: @Sendable () -> RetentionRound
    private let logger: Logger
    private let failures = RepeatedFailure()

    /// Soon after the start, when the lanes have found their owners.
    private static let firstRest = Duration.seconds(2)
    private static let shortRest = Duration.seconds(5)
    private static let longRest = Duration.seconds(60)

    /// - Parameter worker: as the owner of lanes of this process is named.
    package init(
        worker: [UInt8], times: RetentionTimes, session: PostgresSession, clock: any WallClock, logger: Logger,
        metrics: Metrics
    ) {
        self.session = session
        self.logger = logger
        makeRound = {
            RetentionRound(worker: worker, times: times, clock: clock, logger: logger, metrics: metrics)
        }
    }

    package func start() {
        _ = ServiceThread("retention") { [self] in
            run()
            state.change { $0.isFinished = true }
        }
    }

    /// What is cut off is begun again by the next leader.
    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isDraining = true }
        session.cancel()
        _ = state.wait(timeout: max(.zero, deadline - ContinuousClock.now)) { $0.isFinished ? true : nil }
    }

    private func run() {
        var round = makeRound()
        var rest = RetentionDuty.firstRest
        while state.wait(timeout: rest, for: { $0.isDraining ? true : nil }) == nil {
            do {
                let hasMore = try session.withConnection { connection in try round.take(on: connection) }
                rest = hasMore ? RetentionDuty.shortRest : RetentionDuty.longRest
            } catch {
                rest = RetentionDuty.longRest
                // A database that is away is told by its session; the end cancels what is running.
                guard (error as? PostgresError)?.kind != .connection, !state.read({ $0.isDraining }) else { continue }
                failures.note("retention run failed", error, count: 1, logger)
            }
        }
        session.close()
    }
}
