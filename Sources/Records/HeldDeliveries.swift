import Base
import Postgres
import Queue

/// Deliveries that wait for their endpoint to be enabled.
package enum HeldDeliveries {
    private static let held = """
        SELECT count(*) FROM unnest($1::int2[]) AS every(lane)
        JOIN entitled.delivery d ON d.lane = every.lane AND d.endpoint = $2 AND d.state = 3
        """

    package static func count(of endpoint: String, on connection: PostgresConnection) throws -> Int64 {
        try connection.query(held, [.int2s(Lane.all.map(\.number)), .text(endpoint)]).one().int(0)
    }

    private static let give = """
        WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)),
        few AS MATERIALIZED (
            SELECT d.lane, d.id FROM unnest($1::int2[]) AS every(lane) CROSS JOIN LATERAL (
                SELECT lane, id FROM entitled.delivery
                WHERE lane = every.lane AND endpoint = $2 AND state = 3 AND created_ms <= $3 LIMIT 1000
            ) d
            LIMIT 2000
        )
        UPDATE entitled.delivery d SET state = 2, reason = 'dropped when the endpoint was enabled', next_ms = $4
        FROM few, durable WHERE d.lane = few.lane AND d.id = few.id AND d.state = 3 RETURNING 1
        """

    /// Gives up some that wait, made at this instant or before; how many it were. Call it while the endpoint is disabled,
    /// again until there is none: nobody frees them then, and those that are made meanwhile stay.
    package static func drop(
        of endpoint: String, madeUntil instant: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> Int {
        try connection.query(
            give, [.int2s(Lane.all.map(\.number)), .text(endpoint), .int8(instant), .int8(now)]
        ).count
    }
}
