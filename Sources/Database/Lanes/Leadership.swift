import Base
import Postgres

/// The right of one worker to do what is done once for all: it holds the first lane.
///
/// `check` is a hint for what to begin; `transaction` is the fence for what is written. Both ask the database, whose
/// clock decides whether the lease is over.
package struct Leadership: Sendable {
    private let worker: [UInt8]
    /// Below the lease, so that a worker that stands still does not keep the lane's row.
    private let timeout: String

    /// - Parameter worker: as the owner of lanes is named.
    package init(worker: [UInt8], lease: Duration) {
        self.worker = worker
        timeout = "\(max(1000, lease.milliseconds / 2))ms"
    }

    /// Another worker is the leader, or none is.
    package struct Lost: Error {
        package init() {}
    }

    private static let check = """
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms, EXISTS (
            SELECT 1 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp()) AS is_leader
        """

    /// Milliseconds by the server's clock, and whether this worker is the leader at this moment.
    package func check(on connection: PostgresConnection) throws -> (now: Int64, isLeader: Bool) {
        let row = try connection.query(Leadership.check, [.int2(Lane.first.number), .uuid(worker)]).one()
        return (try row.int("now_ms"), try row.bool("is_leader"))
    }

    package func isLeader(on connection: PostgresConnection) throws -> Bool {
        try check(on: connection).isLeader
    }

    /// As strong as the lock of `Fence`, because some bodies lock further lanes: from a shared lock on the first lane
    /// they would deadlock with each other and with a transaction that waits for the lane.
    private static let lock = """
        WITH settings AS MATERIALIZED (
            SELECT \(Durability.setting), set_config('statement_timeout', $3, true),
                set_config('idle_in_transaction_session_timeout', $3, true), set_config('lock_timeout', $3, true)
        ),
        held AS MATERIALIZED (
            SELECT 1 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp()
            FOR NO KEY UPDATE
        )
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms, EXISTS (SELECT 1 FROM held) AS is_leader
        FROM settings
        """

    /// A transaction that this worker commits as the leader, or not at all: the lane cannot change its owner before it
    /// ends, and waits for a lease to be renewed at most. The body gets milliseconds by the server's clock.
    ///
    /// - Throws: `Lost` before the body where this worker is not the leader.
    package func transaction<Result>(
        on connection: PostgresConnection, _ body: (_ now: Int64) throws -> Result
    ) throws -> Result {
        try connection.transaction {
            let row = try connection.query(
                Leadership.lock, [.int2(Lane.first.number), .uuid(worker), .text(timeout)]
            ).one()
            guard try row.bool("is_leader") else { throw Lost() }
            return try body(try row.int("now_ms"))
        }
    }
}
