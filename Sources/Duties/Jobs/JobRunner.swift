import Base
import Database
import Postgres

/// A kind of long work, and how one that does it is made.
package struct JobKind: Sendable {
    /// As the table of jobs names it.
    package let name: String
    package let make: @Sendable () -> any JobRunner

    package init(_ name: String, make: @escaping @Sendable () -> any JobRunner) {
        self.name = name
        self.make = make
    }
}

/// Does one job, step by step, and keeps between steps what only makes it faster.
package protocol JobRunner {
    /// Does a little of it, a second's work at most, and writes down how far it is with `JobLease.step`. What it did may
    /// be done again after a crash unless it commits in that same step. Ends the job by changing its state.
    mutating func step(_ lease: JobLease, on connection: PostgresConnection) throws -> JobStep
}

/// What a step came to.
package struct JobStep: Sendable {
    package let job: Job
    /// When there will be something to do again; a second at most, which keeps the lease alive.
    package let pause: Duration
    /// Whether it waits for others to do their part.
    package let isWaiting: Bool

    package init(_ job: Job, pause: Duration = .zero, isWaiting: Bool = false) {
        self.job = job
        self.pause = min(pause, .seconds(1))
        self.isWaiting = isWaiting
    }
}

/// Which errors of a step pass by themselves: it met another transaction at the same rows, or took too long this time.
enum TransientError {
    static func isPassing(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.isContention || error.isCancelled
    }
}
