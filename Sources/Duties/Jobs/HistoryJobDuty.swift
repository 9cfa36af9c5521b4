import AppStoreAPI
import Daemon
import Database
import Postgres

/// Drives jobs that read Apple's history, on a thread of their own: a step takes as long as Apple does, and no other job waits
/// for it.
package struct HistoryJobDuty: Duty {
    package static let name = "history-jobs"
    package static let failure = JobDuty.failure
    package static let firstAfter = JobDuty.firstAfter
    package static let retryAfter = JobDuty.retryAfter

    private var jobs: JobDuty
    package let cancellation: Cancellation?

    /// - Parameters:
    ///   - worker: as the driver of jobs is named.
    ///   - cancellation: ends what waits for Apple.
    package init(worker: [UInt8], kinds: [JobKind], cancellation: Cancellation, logger: Logger) {
        jobs = JobDuty(worker: worker, kinds: kinds, logger: logger)
        self.cancellation = cancellation
    }

    package mutating func run(_ run: DutyRun) throws -> Next { try jobs.run(run) }

    package mutating func finish(_ run: DutyRun) throws { try jobs.finish(run) }
}
