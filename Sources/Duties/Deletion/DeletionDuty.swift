import Base
import Customers
import Daemon
import Database
import Postgres

/// Finishes deletions beside a worker, on a thread and a connection of its own: those that the api wrote down, those
/// whose command was cut off, and what was on its way when they were made.
package final class DeletionDuty: Service {
    package let name = "deletions"

    private let state = Monitor((isDraining: false, isFinished: false))
    private let worker: [UInt8]
    private let sweep: CustomerErasure
    private let session: PostgresSession
    private let rest: Duration
    private let logger: Logger
    private let failures = RepeatedFailure()

    /// - Parameters:
    ///   - worker: as the owner of lanes of this process is named.
    ///   - rest: between two looks.
    package init(
        worker: [UInt8], sweep: CustomerErasure, session: PostgresSession, rest: Duration = .seconds(3), logger: Logger
    ) {
        self.worker = worker
        self.sweep = sweep
        self.session = session
        self.rest = rest
        self.logger = logger
    }

    package func start() {
        _ = ServiceThread("deletions") { [self] in
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

    private static let isOwner = """
        SELECT EXISTS (SELECT 1 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp())
        """

    private func run() {
        var pause = rest
        while state.wait(timeout: pause, for: { $0.isDraining ? true : nil }) == nil {
            pause = rest
            do {
                let hasMore = try session.withConnection { connection in
                    let owner = try connection.query(
                        DeletionDuty.isOwner, [.int2(Lane.first.number), .uuid(worker)])
                    return try owner.one().bool(0) && sweep.step(on: connection)
                }
                if hasMore { pause = .zero }
            } catch {
                guard (error as? PostgresError)?.kind != .connection, !state.read({ $0.isDraining }) else { continue }
                failures.note("customer erasure failed", error, count: 1, logger)
            }
        }
        session.close()
    }
}
