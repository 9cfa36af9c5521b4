import Postgres

/// How long an endpoint's deliveries took lately, in ms.
package struct EndpointLatency: Sendable, Equatable {
    package struct Percentiles: Sendable, Equatable {
        package let p50: Int64
        package let p95: Int64
    }

    /// So many deliveries were measured.
    package let deliveries: Int64
    /// When the oldest of them was made, in ms since 1970.
    package let since: Int64
    /// From the start of the last attempt to the consumer's answer.
    package let answered: Percentiles
    /// From when the delivery was made to that answer: with what was waited before, and attempts that failed.
    package let delivered: Percentiles

    /// Deliveries that are measured, and those of all endpoints among which they are looked for: the newest.
    package static let measured: Int64 = 200
    package static let lookedAt: Int64 = 20_000
    private static let day: Int64 = 86_400_000

    /// Joins the last attempt of a delivery, in the days that matter. A cluster takes no limit for each row of another statement.
    private static func last(_ start: String, _ end: String) -> String {
        """
        /* cluster: JOIN entitled.attempt a ON a.lane = d.lane AND a.delivery = d.id
            AND a.started_ms >= \(start) AND a.started_ms <= \(end) AND NOT EXISTS (
                SELECT 1 FROM entitled.attempt later WHERE later.lane = a.lane AND later.delivery = a.delivery
                    AND later.started_ms > a.started_ms AND later.started_ms <= \(end))
        for: */CROSS JOIN LATERAL (
            SELECT started_ms, duration_ms FROM entitled.attempt
            WHERE lane = d.lane AND delivery = d.id AND started_ms >= \(start) AND started_ms <= \(end)
            ORDER BY started_ms DESC LIMIT 1
        ) a/* end */
        """
    }

    /// No index has the deliveries of one endpoint by time. Attempts are looked for in the days that matter.
    private static let select = """
        SELECT count(*) AS deliveries, min(d.created_ms) AS since,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY a.duration_ms) AS p50,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY a.duration_ms) AS p95,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY a.started_ms + a.duration_ms - d.created_ms) AS whole_p50,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY a.started_ms + a.duration_ms - d.created_ms) AS whole_p95
        FROM (
            SELECT lane, id, created_ms FROM (
                SELECT lane, id, endpoint, state, created_ms FROM entitled.delivery
                WHERE created_ms >= $2 AND created_ms <= $3 ORDER BY created_ms DESC LIMIT $4
            ) n
            WHERE endpoint = $1 AND state = \(DeliveryCode.delivered) ORDER BY created_ms DESC LIMIT $5
        ) d
        \(last("$2", "$3"))
        """

    /// Deliveries of all endpoints together whose attempts are looked for, and the least of one.
    private static let measuredOfAll: Int64 = 4_000
    private static let leastMeasured: Int64 = 20

    /// The same of every endpoint: the newest deliveries are read once for all of them.
    private static let selectAll = """
        SELECT d.endpoint, count(*) AS deliveries, min(d.created_ms) AS since,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY a.duration_ms) AS p50,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY a.duration_ms) AS p95,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY a.started_ms + a.duration_ms - d.created_ms) AS whole_p50,
            percentile_disc(0.95) WITHIN GROUP (ORDER BY a.started_ms + a.duration_ms - d.created_ms) AS whole_p95
        FROM (
            SELECT lane, id, endpoint, created_ms,
                row_number() OVER (PARTITION BY endpoint ORDER BY created_ms DESC) AS place
            FROM (
                SELECT lane, id, endpoint, state, created_ms FROM entitled.delivery
                WHERE created_ms >= $1 AND created_ms <= $2 ORDER BY created_ms DESC LIMIT $3
            ) n
            WHERE state = \(DeliveryCode.delivered)
        ) d
        \(last("$1", "$2"))
        WHERE d.place <= $4
        GROUP BY d.endpoint
        """

    /// Of the last 24 hours, by endpoint; those to which nothing arrived are left out. Of many endpoints fewer deliveries of each
    /// are measured.
    ///
    /// - Parameters:
    ///   - endpoints: how many there are.
    ///   - now: ms since 1970.
    package static func readAll(
        of endpoints: Int, now: Int64, on connection: PostgresConnection
    ) throws -> [String: EndpointLatency] {
        let share = min(measured, max(leastMeasured, measuredOfAll / Int64(max(1, endpoints))))
        let rows = try connection.query(
            selectAll, [.int8(now - day), .int8(now + day), .int8(EndpointLatency.lookedAt), .int8(share)])
        return try rows.reduce(into: [:]) { all, row in
            all[try row.text("endpoint")] = try EndpointLatency(row)
        }
    }

    /// Nil where nothing was measured.
    private init?(_ row: PostgresRow) throws {
        guard let since = try row.optionalInt("since") else { return nil }
        self.since = since
        deliveries = try row.int("deliveries")
        answered = Percentiles(p50: try row.int("p50"), p95: try row.int("p95"))
        delivered = Percentiles(p50: try row.int("whole_p50"), p95: try row.int("whole_p95"))
    }

    /// Of the last 24 hours; nil: nothing arrived.
    ///
    /// - Parameter now: ms since 1970.
    package static func read(
        of endpoint: String, now: Int64, on connection: PostgresConnection
    ) throws -> EndpointLatency? {
        let row = try connection.query(
            select,
            [
                .text(endpoint), .int8(now - day), .int8(now + day), .int8(EndpointLatency.lookedAt),
                .int8(EndpointLatency.measured),
            ]
        ).one()
        return try EndpointLatency(row)
    }
}
