import Base
import Daemon
import Database
import Postgres

/// Drives jobs that no other process drives, beside a worker, on a thread and a connection of its own.
///
/// Who owns the first lane does it. Running jobs take turns, a step each, so that one whose consumer is slow keeps none
/// of the others waiting.
package final class JobDuty: Service {
    package let name = "jobs"

    private struct Attended {
        let lease: JobLease
        var work: any JobRunner
        var next: ContinuousClock.Instant
    }

    private let state = Monitor((isDraining: false, isFinished: false))
    private let worker: [UInt8]
    private let kinds: [JobKind]
    private let session: PostgresSession
    private let logger: Logger
    private let failures = RepeatedFailure()

    private static let lookInterval = Duration.seconds(1)

    /// - Parameter worker: as the owner of lanes of this process is named.
    package init(worker: [UInt8], kinds: [JobKind], session: PostgresSession, logger: Logger) {
        self.worker = worker
        self.kinds = kinds
        self.session = session
        self.logger = logger
    }

    package func start() {
        _ = ServiceThread("jobs") { [self] in
            run()
            state.change { $0.isFinished = true }
        }
    }

    /// A step that is cut off is run again by the next process.
    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isDraining = true }
        session.cancel()
        _ = state.wait(timeout: max(.zero, deadline - ContinuousClock.now)) { $0.isFinished ? true : nil }
    }

    private var isDraining: Bool { state.read { $0.isDraining } }

    private func run() {
        var attended: [Int64: Attended] = [:]
        var nextLook = ContinuousClock.now
        var rest = JobDuty.lookInterval
        while state.wait(timeout: rest, for: { $0.isDraining ? true : nil }) == nil {
            do {
                try session.withConnection { connection in
                    if ContinuousClock.now >= nextLook {
                        nextLook = ContinuousClock.now + JobDuty.lookInterval
                        try look(&attended, on: connection)
                    }
                    try step(&attended, on: connection)
                }
                let next = attended.values.map(\.next).reduce(nextLook, min)
                rest = max(.milliseconds(1), next - ContinuousClock.now)
            } catch {
                attended = [:]
                rest = JobDuty.lookInterval
                // A database that is away is told by its session; the end cancels what is running.
                guard (error as? PostgresError)?.kind != .connection, !isDraining else { continue }
                failures.note("job run failed", error, count: 1, logger)
            }
        }
        try? session.withConnection { connection in
            for attended in attended.values { try attended.lease.release(on: connection) }
        }
        session.close()
    }

    private static let isOwner = """
        SELECT EXISTS (SELECT 1 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp())
        """

    private func look(_ attended: inout [Int64: Attended], on connection: PostgresConnection) throws {
        guard try connection.query(JobDuty.isOwner, [.int2(Lane.first.number), .uuid(worker)]).one().bool(0) else {
            for attended in attended.values { try attended.lease.release(on: connection) }
            attended = [:]
            return
        }
        for (id, name) in try JobTable.unattended(kinds: kinds.map(\.name), driver: worker, on: connection)
        where attended[id] == nil {
            guard let kind = kinds.first(where: { $0.name == name }),
                let lease = try JobLease.take(id, driver: worker, on: connection)
            else { continue }
            logger.info("job resumed", ["job": .int(id), "kind": .string(name)])
            attended[id] = Attended(lease: lease, work: kind.make(), next: ContinuousClock.now)
        }
    }

    private func step(_ attended: inout [Int64: Attended], on connection: PostgresConnection) throws {
        for (id, var one) in attended where one.next <= ContinuousClock.now && !isDraining {
            do {
                let step = try one.work.step(one.lease, on: connection)
                one.next = ContinuousClock.now + step.pause
                attended[id] = step.job.state == .running ? one : nil
                if step.job.state != .running { tell(step.job) }
            } catch is JobLease.Lost {
                attended[id] = nil
            } catch  where TransientError.isPassing(error) {
                one.next = ContinuousClock.now + .milliseconds(200)
                attended[id] = one
            } catch {
                // One that cannot go on must not keep the others from it.
                attended[id] = nil
                guard connection.isAlive, !isDraining else { throw error }
                failures.note("job run failed", error, count: 1, logger)
            }
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
