import AppStoreAPI
import Base
import Daemon
import Database
import Postgres

/// The thread of a duty, from its start to its orderly end.
///
/// What fails is tried again after a while. A database that is away is reported by the session, not once more by each
/// duty; so is what the end of the process cancels. A worker that is not the leader any more has nothing to report.
package final class DutyService<D: Duty>: Service {
    package var name: String { D.name }

    /// Held by the thread as long as it runs.
    private let duty: Monitor<D>
    private let cancellation: Cancellation?
    private let session: PostgresSession
    private let leadership: Leadership
    private let logger: Logger
    private let metrics: Metrics
    private let loop = Loop(D.name)
    private let failures = RepeatedFailure()

    /// - Parameter session: for this duty alone; closed at the end.
    package init(_ duty: sending D, session: PostgresSession, leadership: Leadership, logger: Logger, metrics: Metrics)
    {
        cancellation = duty.cancellation
        self.duty = Monitor(duty)
        self.session = session
        self.leadership = leadership
        self.logger = logger
        self.metrics = metrics
        // An alarm reads them from the first scrape on.
        for outcome in ["done", "lost", "failed", "away"] {
            metrics.begin(.dutyRuns, ["duty": D.name, "outcome": outcome])
        }
    }

    private func count(_ outcome: String) { metrics.count(.dutyRuns, ["duty": D.name, "outcome": outcome]) }

    package func start() {
        loop.start { [self] loop in
            let run = DutyRun(session: session, leadership: leadership, isDraining: { loop.isDraining })
            duty.change { duty in
                loop.run(firstAfter: D.firstAfter) { next(&duty, run) }
                // Leases end by themselves.
                try? duty.finish(run)
            }
            session.close()
        }
    }

    /// Cancels the statement that is running; the next leader does it again.
    package func drain(until deadline: ContinuousClock.Instant) {
        loop.beginDraining()
        cancellation?.cancel()
        session.cancel()
        loop.join(until: deadline)
    }

    private func next(_ duty: inout D, _ run: DutyRun) -> Next {
        do {
            let next = try duty.run(run)
            count("done")
            return next
        } catch is Leadership.Lost {
            count("lost")
        } catch  where loop.isDraining {
            // It was cancelled.
        } catch {
            // A server that takes no writes is connected to, and said to be away by nothing else.
            let isAway = error.fault == .away && error.isConnectionLost
            count(isAway ? "away" : "failed")
            // The session says that the database is away.
            if !isAway { failures.warning(D.failure, error, count: 1, logger) }
        }
        return .after(D.retryAfter)
    }
}
