import Base
import Postgres

/// A process's right to go on with a job, for ten seconds after each step.
///
/// The first statement of each step's transaction locks the job's row and compares the driver. Who was away for longer
/// than the lease finds another driver there, or waits for the one whose step is being taken and finds it then; so the
/// cursor and the counts of one step are never written by two. Timeouts below the lease end who stands still.
package struct JobLease: Sendable {
    package let job: Int64
    let driver: [UInt8]

    /// Another process drives it, or it is not running any more.
    package struct Lost: Error {}

    private static let acquire = """
        WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
        UPDATE entitled.job SET driver = $2, lease_until = \(ServerTime.instant) + interval '10 s' FROM durable
        WHERE id = $1 AND state = 'running' AND (driver IS NULL OR driver = $2 OR lease_until < \(ServerTime.instant))
        RETURNING id
        """

    /// Nil while another process drives it, or when it is not running.
    package static func take(
        _ job: Int64, driver: [UInt8], on connection: PostgresConnection
    ) throws -> JobLease? {
        try connection.query(acquire, [.int8(job), .uuid(driver)]).first.map { _ in
            JobLease(job: job, driver: driver)
        }
    }

    private static let lock = """
        WITH settings AS MATERIALIZED (
            SELECT \(Durability.setting), set_config('statement_timeout', '5s', true),
                set_config('idle_in_transaction_session_timeout', '5s', true), set_config('lock_timeout', '2s', true)
        ),
        held AS MATERIALIZED (
            SELECT \(Job.columns) FROM entitled.job
            WHERE id = $1 AND driver = $2 AND state = 'running' FOR NO KEY UPDATE
        )
        SELECT held.*, (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms FROM held, settings
        """

    private static let save = """
        UPDATE entitled.job SET cursor = $2, matched = $3, queued = $4, skipped = $5, fraction = $6, state = $7,
            error = $8, updated_ms = $9, finished_ms = CASE WHEN $7 = 'running' THEN NULL::int8 ELSE $9 END,
            lease_until = \(ServerTime.instant) + interval '10 s'
        WHERE id = $1
        """

    /// One step: what the body does, and how far the job is by it, commit together.
    ///
    /// - Parameter body: changes the job's cursor, counts, fraction and state; gets milliseconds by the server's clock.
    package func step<Result>(
        on connection: PostgresConnection, _ body: (inout Job, _ now: Int64) throws -> Result
    ) throws -> (result: Result, job: Job) {
        try connection.transaction {
            guard let row = try connection.query(JobLease.lock, [.int8(job), .uuid(driver)]).first else {
                throw Lost()
            }
            var job = try Job(row)
            let now = try row.int("now_ms")
            // Of a step that failed before this one.
            job.error = nil
            let result = try body(&job, now)
            _ = try connection.query(
                JobLease.save,
                [
                    .int8(job.id), .texts(job.cursor), .int8(job.counts.matched), .int8(job.counts.queued),
                    .int8(job.counts.skipped), .float8(job.fraction), .text(job.state.rawValue), .text(job.error),
                    .int8(now),
                ])
            return (result, job)
        }
    }

    private static let countFailure = """
        UPDATE entitled.job SET attempts = attempts + 1, error = $3
        WHERE id = $1 AND driver = $2 AND state = 'running' RETURNING attempts
        """

    /// Counts a failed step, and shows operators why the job does not go on, until a step of it succeeds.
    ///
    /// - Parameter error: nothing personal: no deletion of a customer looks for it.
    /// - Returns: how many steps failed without one between them that succeeded; nil: the lease is lost.
    package func countFailure(_ error: String, on connection: PostgresConnection) throws -> Int64? {
        try connection.query(JobLease.countFailure, [.int8(job), .uuid(driver), .text(error)]).first.map {
            try $0.int("attempts")
        }
    }

    private static let giveBack = """
        UPDATE entitled.job SET driver = NULL, lease_until = '-infinity' WHERE id = $1 AND driver = $2
        """

    /// Lets another process go on at once.
    package func release(on connection: PostgresConnection) throws {
        _ = try connection.query(JobLease.giveBack, [.int8(job), .uuid(driver)])
    }
}
