import Base
import Crypto
import Database
import Postgres

/// The command that requested a job and stays to see it done: drives it, or watches while another process does.
package struct JobDriver {
    private let id: Int64
    private let kinds: [JobKind]
    private let driver = SecureRandom.bytes(16)

    /// After so many failures of a kind that passes by itself, one after the other, it does not.
    private static let patience = 20
    private static let watchInterval = Duration.milliseconds(300)

    package init(_ id: Int64, kinds: [JobKind]) {
        self.id = id
        self.kinds = kinds
    }

    /// Until the job is over, or `isEnough` says so.
    ///
    /// - Parameters:
    ///   - rest: waits.
    ///   - isEnough: gets the job after each step, and whether it waits for others to do their part.
    package func attend(
        on connection: PostgresConnection, rest: (Duration) -> Void,
        isEnough: (Job, _ isWaiting: Bool) throws -> Bool
    ) throws -> Job {
        while true {
            guard let job = try JobTable.find(id, on: connection) else {
                throw PostgresError(.decoding, "job \(id) was deleted while it ran")
            }
            guard job.state == .running else { return job }
            guard let kind = kinds.first(where: { $0.name == job.kind }),
                let lease = try JobLease.take(id, driver: driver, on: connection)
            else {
                if try isEnough(job, false) { return job }
                rest(JobDriver.watchInterval)
                continue
            }
            if let job = try drive(kind.make(), lease, on: connection, rest: rest, isEnough: isEnough) { return job }
        }
    }

    /// Nil if the lease was lost.
    private func drive(
        _ work: any JobRunner, _ lease: JobLease, on connection: PostgresConnection, rest: (Duration) -> Void,
        isEnough: (Job, Bool) throws -> Bool
    ) throws -> Job? {
        var work = work
        var failures = 0
        while true {
            do {
                let step = try work.step(lease, on: connection)
                failures = 0
                if step.job.state != .running { return step.job }
                if try isEnough(step.job, step.isWaiting) {
                    try lease.release(on: connection)
                    return step.job
                }
                if step.pause > .zero { rest(step.pause) }
            } catch is JobLease.Lost {
                return nil
            } catch  where TransientError.isPassing(error) && failures < JobDriver.patience {
                failures += 1
                rest(.milliseconds(100))
            }
        }
    }
}
