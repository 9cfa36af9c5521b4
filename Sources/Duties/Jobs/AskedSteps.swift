import Base
import Database
import Postgres

/// Steps of a job that a command asked for, or an operator from the console. Of the operator's, the role is looked up at each
/// step, and the end stands in the audit.
enum AskedSteps {
    /// One step: what the body does, and how far the job is by it, commit together.
    ///
    /// - Parameters:
    ///   - refused: what the step came to where the operator may not have it done any more.
    ///   - target: the target that the parameters mean; nil where they mean none. The console's role writes both, and may be taken
    ///     over.
    static func step<Result>(
        _ lease: JobLease, on connection: PostgresConnection, refused: Result, target: (JSON) -> String?,
        _ body: (inout Job, _ now: Int64) throws -> Result
    ) throws -> (result: Result, job: Job) {
        try lease.step(on: connection) { job, now in
            guard ChangeKind(rawValue: job.kind) != nil else { return try body(&job, now) }
            // The step's transaction holds the row.
            guard let change = try ChangeTable.take(job.id, on: connection), change.kind.isReplay else {
                (job.state, job.error) = (.failed, "the job is no change of an operator")
                return refused
            }
            if let refusal = try refusal(of: change, job, target(job.parameters), on: connection) {
                try end(change, .refused(refusal), &job, on: connection)
                return refused
            }
            let result = try body(&job, now)
            switch job.state {
            case .running: break
            case .done:
                try end(change, .done(outcome(of: job)), &job, on: connection)
            case .failed, .cancelled:
                try end(
                    change, .failed(sentence(job.error ?? "the job could not go on")), &job, on: connection)
            }
            return result
        }
    }

    private static func refusal(
        of change: Change, _ job: Job, _ target: String?, on connection: PostgresConnection
    ) throws -> String? {
        if let objection = try ChangeWork.objection(to: change, on: connection) { return objection }
        guard let target else { return "The parameters of the change cannot be read." }
        guard target == change.target else { return "The parameters of the change mean \(target), and not its target." }
        guard job.cursor.isEmpty, try ChangeWork.isChanged(change, job.parameters, on: connection) else { return nil }
        return ChangeVersions.changed
    }

    private static func outcome(of job: Job) -> JSON {
        .object([
            "matched": .int(job.counts.matched), "queued": .int(job.counts.queued), "skipped": .int(job.counts.skipped),
        ])
    }

    private static func end(
        _ change: Change, _ ending: ChangeEnding, _ job: inout Job, on connection: PostgresConnection
    ) throws {
        try ChangeTable.end(change, ending, on: connection)
        (job.state, job.error, job.fraction) = (ending.state, ending.message, 1)
    }

    /// Ends a job whose steps fail one after the other, where its driver has it still.
    static func giveUp(
        _ lease: JobLease, after failures: Int64, _ reason: String, on connection: PostgresConnection
    ) throws {
        let message = "\(failures) steps failed, one after the other; \(reason)"
        _ = try lease.step(on: connection) { job, _ in
            (job.state, job.error) = (.failed, "\(message): remove the cause, and run the same command again")
            // Others have no target.
            if ChangeKind(rawValue: job.kind) != nil, let change = try ChangeTable.take(job.id, on: connection) {
                try end(
                    change, .failed(sentence("\(message): remove the cause, and ask for it again")), &job,
                    on: connection)
            }
            try ChangeTable.forgetFailures(of: job.id, on: connection)
        }
    }

    /// Messages of commands begin small, and have no full stop.
    private static func sentence(_ message: String) -> String {
        message.prefix(1).uppercased() + message.dropFirst() + (message.hasSuffix(".") ? "" : ".")
    }
}
