import Base
import Postgres

/// What one worker does for all, it does while it owns the first lane.
package struct Leadership: Sendable {
    private let worker: [UInt8]
    /// Below the lease, so that who stands still does not keep the lane's row.
    private let timeout: String

    /// - Parameter worker: as the owner of lanes is named.
    package init(worker: [UInt8], lease: Duration) {
        self.worker = worker
        timeout = "\(max(1000, lease.milliseconds / 2))ms"
    }

    /// Another worker owns it.
    package struct Lost: Error {}

    private static let look = """
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8, EXISTS (
            SELECT 1 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp())
        """

    /// Milliseconds by the server's clock, and whether the lane is ours at this moment.
    package func look(on connection: PostgresConnection) throws -> (now: Int64, isOwner: Bool) {
        let row = try connection.query(
            Leadership.look, [.int2(Lane.first.number), .uuid(worker)]
        ).one()
        return (try row.int(0), try row.bool(1))
    }

    /// The lane cannot change its owner before the transaction ends, which waits for a lease to be renewed at most.
    private static let lock = """
        WITH settings AS MATERIALIZED (
            SELECT set_config('synchronous_commit', 'on', true), set_config('statement_timeout', $3, true),
                set_config('idle_in_transaction_session_timeout', $3, true), set_config('lock_timeout', $3, true)
        ),
        held AS MATERIALIZED (
            SELECT 1 FROM entitled.lane WHERE lane = $1 AND owner = $2 AND lease_until > clock_timestamp() FOR SHARE
        )
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8, EXISTS (SELECT 1 FROM held) FROM settings
        """

    /// A transaction that writes only if the lane is ours until it commits; the body gets milliseconds by the server's
    /// clock.
    package func transaction<Result>(
        on connection: PostgresConnection, _ body: (_ now: Int64) throws -> Result
    ) throws -> Result {
        try connection.transaction {
            let row = try connection.query(
                Leadership.lock, [.int2(Lane.first.number), .uuid(worker), .text(timeout)]
            ).one()
            guard try row.bool(1) else { throw Lost() }
            return try body(try row.int(0))
        }
    }
}
