import Base
import Daemon
import Database
import Postgres

/// Looks again and again how far the primary is, so that standbys can be judged.
final class PrimarySampler: Service {
    let name = "primary-sampler"
    private let freshness: ReplicaFreshness
    private let session: PostgresSession
    private let logger: Logger
    private let failures = RepeatedFailure()
    private let loop = Loop("replica-bound")

    init(_ freshness: ReplicaFreshness, session: PostgresSession, logger: Logger) {
        (self.freshness, self.session, self.logger) = (freshness, session, logger)
    }

    func start() {
        loop.start { [self] loop in loop.run { sample() } }
    }

    func drain(until deadline: ContinuousClock.Instant) {
        if loop.drain(until: min(deadline, .now + .seconds(1))) { session.close() } else { session.cut() }
    }

    private func sample() -> Next {
        do {
            try session.withConnection { connection in
                let began = ContinuousClock.now
                freshness.add(try PrimaryState.read(on: connection), askedAt: began)
            }
        } catch {
            // Without samples the primary answers, or says why it cannot.
            if error.fault != .away, !loop.isDraining {
                failures.warning("primary position not read", error, count: 1, logger)
            }
        }
        return .after(freshness.interval)
    }
}

/// A standby that answers reads of public keys.
package struct ReplicaReading: Sendable {
    /// How old an answer may be.
    package let lag: Duration
    /// The recent writes of the process: of this role, and of the former one in the place of which it works.
    package let writes: RecentWrites
    /// Makes the standby's sessions.
    package let process: ProcessContext

    package init(lag: Duration, writes: RecentWrites = RecentWrites(), process: ProcessContext) {
        self.lag = lag
        self.writes = writes
        self.process = process
    }
}
