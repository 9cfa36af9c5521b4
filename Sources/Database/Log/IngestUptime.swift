import Postgres

/// When we could hear Apple: the minutes in which an ingest process could store what came.
package enum IngestUptime {
    private static let minute: Int64 = 60_000
    /// Silence of ours that is shorter is no outage: a restart, a failover.
    private static let tolerance: Int64 = 5
    /// What lies further back concerns no end that is still to be confirmed.
    private static let lookBack: Int64 = 45 * 24 * 60

    private static let insert = """
        INSERT INTO entitled.listening (minute) SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::int8
        ON CONFLICT DO NOTHING
        """

    /// Notes that what arrives now can be stored. By the server's clock, as the queries for outages: of two hosts with
    /// clocks of their own one would seem down to the other.
    package static func note(on connection: PostgresConnection) throws {
        _ = try connection.query(insert)
    }

    /// The last minute is followed by this one, of which it is not known yet whether ingest listens in it.
    private static let gaps = """
        SELECT former, minute FROM (
            SELECT minute, lag(minute) OVER (ORDER BY minute) AS former FROM (
                (SELECT minute FROM entitled.listening WHERE minute < $1 ORDER BY minute DESC LIMIT 1)
                UNION ALL SELECT minute FROM entitled.listening WHERE minute >= $1
                UNION ALL SELECT $3
            ) AS noted
        ) AS heard WHERE minute - former > $2 ORDER BY minute
        """

    /// Recent outages of ingest, in ms since 1970, the oldest first. One that lasts, or whose end is not noted yet, goes up
    /// to now. What was before the first start is none.
    ///
    /// - Parameter now: ms since 1970 by the server's clock.
    package static func outages(now: Int64, on connection: PostgresConnection) throws -> [Range<Int64>] {
        let parameters: [PostgresValue] = [.int8(now / minute - lookBack), .int8(tolerance), .int8(now / minute)]
        return try connection.query(gaps, parameters).map { row in
            let (from, until) = (try row.int("former"), try row.int("minute"))
            return from * minute..<max(from, until) * minute
        }
    }

    private static let forget = "DELETE FROM entitled.listening WHERE minute < $1"

    /// Drops what is too old to matter.
    package static func forget(now: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(forget, [.int8(now / minute - 2 * lookBack)])
    }
}
