import Base
import Daemon
import Database
import Postgres

/// Drives jobs of some kinds that no other process drives.
///
/// The leader does it. Running jobs take turns, a step each, so that one whose consumer is slow keeps none of the others
/// waiting. A step that is cut off is run again by the next leader.
package struct JobDuty: Duty {
    package static let name = "jobs"
    package static let failure: StaticString = "job run failed"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(1)

    private struct Attended {
        let lease: JobLease
        let kind: JobKind
        var work: any JobRunner
        var next: ContinuousClock.Instant
        /// Whether failures may be counted in the job's row; a former driver may have counted some.
        var hasFailures = true
        /// Where the job was after the step before.
        var cursor: [String]?
    }

    private let worker: [UInt8]
    private let kinds: [JobKind]
    private let logger: Logger
    private let failures = RepeatedFailure()
    private var attended: [Int64: Attended] = [:]
    private var nextLook = ContinuousClock.now

    private static let lookInterval = Duration.seconds(1)
    /// Steps that may fail one after the other before the job is given up, and such that may take too long.
    private static let (patience, timeoutPatience): (Int64, Int64) = (10, 20)
    /// Less than the lease's.
    private static let longestRest: Int64 = 5

    /// - Parameter worker: as the driver of jobs is named.
    package init(worker: [UInt8], kinds: [JobKind], logger: Logger) {
        self.worker = worker
        self.kinds = kinds
        self.logger = logger
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        do {
            try run.session.withConnection { connection in
                if ContinuousClock.now >= nextLook {
                    nextLook = ContinuousClock.now + JobDuty.lookInterval
                    try look(run.leadership, on: connection)
                }
                try step(run, on: connection)
            }
        } catch {
            attended = [:]
            throw error
        }
        let next = attended.values.map(\.next).reduce(nextLook, min)
        return .after(max(.milliseconds(1), next - ContinuousClock.now))
    }

    package mutating func finish(_ run: DutyRun) throws {
        try run.session.withConnection { connection in
            for attended in attended.values { try attended.lease.release(on: connection) }
        }
    }

    private mutating func look(_ leadership: Leadership, on connection: PostgresConnection) throws {
        guard try leadership.isLeader(on: connection) else {
            for attended in attended.values { try attended.lease.release(on: connection) }
            attended = [:]
            return
        }
        let free = try JobTable.unattended(
            kinds: kinds.map(\.name), driver: worker, besides: Array(attended.keys), on: connection)
        for (id, name) in free {
            guard let kind = kinds.first(where: { $0.name == name }),
                let lease = try JobLease.take(id, driver: worker, on: connection)
            else { continue }
            logger.info("job resumed", ["job": .int(id), "kind": .string(name)])
            attended[id] = Attended(lease: lease, kind: kind, work: kind.make(), next: ContinuousClock.now)
        }
    }

    private mutating func step(_ run: DutyRun, on connection: PostgresConnection) throws {
        for (id, var one) in attended where one.next <= ContinuousClock.now && !run.isDraining() {
            do {
                let step = try one.work.step(one.lease, on: connection)
                one.next = ContinuousClock.now + step.pause
                let isFurther = one.cursor.map { $0 != step.job.cursor } ?? false
                one.cursor = step.job.cursor
                // A step that did nothing says nothing of the one that fails.
                if one.hasFailures, isFurther, step.job.state == .running {
                    try ChangeTable.forgetFailures(of: id, on: connection)
                    one.hasFailures = false
                }
                attended[id] = step.job.state == .running ? one : nil
                if step.job.state != .running { tell(step.job) }
            } catch is JobLease.Lost {
                attended[id] = nil
            } catch  where TransientError.isPassing(error) && !error.isTimeout {
                one.next = ContinuousClock.now + .milliseconds(200)
                attended[id] = one
            } catch {
                // One that cannot go on must not keep the others from it.
                attended[id] = nil
                guard connection.isAlive, !run.isDraining() else { throw error }
                failures.warning(JobDuty.failure, error, count: 1, logger)
                attended[id] = afterFailure(error, one, on: connection)
            }
        }
    }

    /// Counts a failure of a step, and gives the job up after some. Nil: it is over, or another look finds it again.
    private func afterFailure(
        _ error: any Error, _ one: Attended, on connection: PostgresConnection
    ) -> Attended? {
        // Only of Postgres, and not of data, errors are known to hold nothing personal.
        let isPlain = (error as? PostgresError).map { !$0.isOfData } ?? false
        let shown = isPlain ? "\(error)" : "the worker's log has it as \"\(JobDuty.failure)\""
        do {
            let message = "A step failed and is tried again: \(shown)"
            guard let count = try one.lease.countFailure(message, on: connection) else { return nil }
            guard count < (error.isTimeout ? JobDuty.timeoutPatience : JobDuty.patience) else {
                try AskedSteps.giveUp(one.lease, after: count, "the last one: \(shown)", on: connection)
                return nil
            }
            // What a step left behind that failed is not gone on with.
            let rest = Duration.seconds(min(count, JobDuty.longestRest))
            return Attended(
                lease: one.lease, kind: one.kind, work: one.kind.make(), next: ContinuousClock.now + rest,
                cursor: one.cursor)
        } catch {
            failures.warning(JobDuty.failure, error, count: 1, logger)
            return nil
        }
    }

    private func tell(_ job: Job) {
        logger.info(
            "job finished",
            [
                "job": .int(job.id), "kind": .string(job.kind), "state": .string(job.state.rawValue),
                "matched": .int(job.counts.matched), "queued": .int(job.counts.queued),
                "error": .text(job.error),
            ])
    }
}
