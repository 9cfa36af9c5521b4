import Base
import Postgres

/// Reads what an operator has to know at a glance: each statement looks at a bounded number of rows.
package enum OverviewQuery {
    /// A few of each lane, in one step also where many arrive; what Apple was asked for, and what apps posted, is left out.
    private static let newest = """
        SELECT n.app, n.environment, max(n.seq) AS seq FROM /* cluster: entitled.lane l for: */unnest($1::int2[]) AS l(lane)/* end */
        CROSS JOIN LATERAL (
            SELECT app, environment, seq FROM entitled.notification
            WHERE lane = l.lane AND seq >= $2 AND source NOT IN (3, 4, 5, 6) ORDER BY seq DESC LIMIT 8
        ) n /* cluster: WHERE l.lane = ANY($1::int2[]) */ GROUP BY 1, 2
        """

    /// When Apple's newest notification of each app and environment came, in ms since 1970: of what came since an instant.
    package static func newestNotifications(
        since instant: Int64, on connection: PostgresConnection
    ) throws -> [AppScope: Int64] {
        var found: [AppScope: Int64] = [:]
        for row in try connection.query(
            newest, [PurchaseQuery.lanes, .int8(SequenceGenerator.least(at: instant))])
        {
            found[try AppScope(row)] = SequenceGenerator.instant(of: try row.int("seq"))
        }
        return found
    }

    /// Numbers up to a limit. An endpoint that was removed counts, too, as its deliveries are there.
    package struct Counts: Sendable, Equatable, RowDecodable {
        package let held: Int64
        package let pendingDeliveries: Int64
        package let heldDeliveries: Int64
        package let openRefunds: Int64
        /// ms since 1970.
        package let nextRefundDeadline: Int64?
        /// The same, only of apps whose consumption requests are to be answered.
        package let nextAnswerDeadline: Int64?
        package let runningJobs: Int64
        package let failingEndpoints: [String]

        package static let columns = """
            held, pending_deliveries, held_deliveries, open_refunds, next_deadline, running_jobs, failing_endpoints
            """

        package init(_ row: PostgresRow) throws {
            held = try row.int("held")
            pendingDeliveries = try row.int("pending_deliveries")
            heldDeliveries = try row.int("held_deliveries")
            openRefunds = try row.int("open_refunds")
            nextRefundDeadline = try row.optionalInt("next_deadline")
            nextAnswerDeadline = try row.optionalInt("next_answer")
            runningJobs = try row.int("running_jobs")
            failingEndpoints = try row.texts("failing_endpoints").compactMap { $0 }
        }
    }

    /// Deliveries of a state, by the partial indexes on the lanes. A cluster is given the endpoints.
    private static func open(_ state: DeliveryCode) -> String {
        """
        (SELECT count(*) FROM (
            SELECT 1 FROM /* cluster: entitled.delivery d
                WHERE d.lane = ANY($1::int2[]) AND d.endpoint = ANY($5::text[]) AND d.state = \(state) for: */
                unnest($1::int2[]) AS l(lane) CROSS JOIN entitled.endpoint e
                JOIN entitled.delivery d ON d.lane = l.lane AND d.endpoint = e.id AND d.state = \(state)/* end */
            LIMIT $2) d)
        """
    }

    private static let counts = """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM entitled.held_notification LIMIT $2) h) AS held,
            \(open(.pending)) AS pending_deliveries, \(open(.held)) AS held_deliveries,
            (SELECT count(*) FROM (
                SELECT 1 FROM entitled.refund_request WHERE decided_ms IS NULL AND state IN ('open', 'ready', 'sending')
                    AND deadline_ms > $3 LIMIT $2) r) AS open_refunds,
            (SELECT min(deadline_ms) FROM entitled.refund_request
                WHERE decided_ms IS NULL AND state IN ('open', 'ready', 'sending') AND deadline_ms > $3) AS next_deadline,
            (SELECT min(deadline_ms) FROM entitled.refund_request
                WHERE decided_ms IS NULL AND state IN ('open', 'ready', 'sending') AND deadline_ms > $3
                    AND app = ANY ($4::text[])) AS next_answer,
            (SELECT count(*) FROM (SELECT 1 FROM entitled.job WHERE state = 'running' LIMIT $2) j) AS running_jobs,
            ARRAY(
                SELECT h.endpoint FROM entitled.endpoint_health h JOIN entitled.endpoint e ON e.id = h.endpoint
                WHERE h.failing_since_ms IS NOT NULL AND e.removed_ms IS NULL AND e.disabled_reason IS NULL
                ORDER BY h.failing_since_ms, h.endpoint) AS failing_endpoints
        """

    /// - Parameters:
    ///   - limit: each number is counted up to it.
    ///   - now: ms since 1970.
    ///   - answeredApps: whose consumption requests are to be answered.
    package static func counts(
        upTo limit: Int64, now: Int64, answeredApps: [String], on connection: PostgresConnection
    ) throws -> Counts {
        var values: [PostgresValue] = [PurchaseQuery.lanes, .int8(limit), .int8(now), .texts(answeredApps)]
        if connection.isCluster {
            values.append(.texts(try connection.query("SELECT id FROM entitled.endpoint").map { try $0.text("id") }))
        }
        return try Counts(connection.query(counts, values).one())
    }

    /// A worker that was seen lately.
    package struct Worker: Sendable, Equatable {
        package let id: [UInt8]
        package let host: String
        /// ms since 1970.
        package let seen: Int64
        /// Whose leases it has.
        package let lanes: Int64
    }

    private static let workers = """
        SELECT id, host, floor(extract(epoch FROM seen_at) * 1000)::int8 AS seen_ms FROM entitled.worker
        WHERE seen_at > clock_timestamp() - $1 * interval '1 millisecond' ORDER BY host, id
        """

    private static let owned = """
        SELECT owner, count(*) AS lanes FROM entitled.lane WHERE owner IS NOT NULL AND lease_until >= clock_timestamp()
        GROUP BY owner
        """

    /// - Parameter patience: how long ago a worker may have been seen; ms.
    package static func workers(
        seenWithin patience: Int64, on connection: PostgresConnection
    ) throws -> [Worker] {
        let owned = try connection.query(owned).map { (try $0.uuid("owner"), try $0.int("lanes")) }
        let lanes = Dictionary(uniqueKeysWithValues: owned)
        return try connection.query(workers, [.int8(patience)]).map { row in
            let id = try row.uuid("id")
            return Worker(id: id, host: try row.text("host"), seen: try row.int("seen_ms"), lanes: lanes[id] ?? 0)
        }
    }

    private static func countingOpen(_ state: DeliveryCode) -> String {
        """
        SELECT code, (SELECT count(*) FROM (
            SELECT 1 FROM /* cluster: entitled.delivery d WHERE d.lane = ANY($1::int2[]) for: */
                unnest($1::int2[]) AS l(lane) JOIN entitled.delivery d ON d.lane = l.lane/* end */ AND d.endpoint = $2 AND d.state = \(state)
            LIMIT $3) d) AS number
        FROM (VALUES (\(state))) AS c(code)
        """
    }

    private static let backlog = [DeliveryCode.pending, .held, .blocked].map(countingOpen)
        .joined(separator: " UNION ALL ")

    /// How many deliveries of an endpoint are open, each state counted up to a limit. No index finds the dead ones.
    package static func backlog(
        of endpoint: String, upTo limit: Int64, on connection: PostgresConnection
    ) throws -> [DeliveryCode: Int64] {
        var numbers: [DeliveryCode: Int64] = [:]
        for row in try connection.query(backlog, [PurchaseQuery.lanes, .text(endpoint), .int8(limit)]) {
            guard let code = DeliveryCode(rawValue: Int16(clamping: try row.int("code"))) else { continue }
            numbers[code] = try row.int("number")
        }
        return numbers
    }

    private static let heard = """
        SELECT max(minute) * 60000 AS last_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms
        FROM entitled.listening
        """

    /// When ingest could store something last, nil: never; and the server's clock. Both in ms since 1970.
    package static func listened(on connection: PostgresConnection) throws -> (last: Int64?, now: Int64) {
        let row = try connection.query(heard).one()
        return (try row.optionalInt("last_ms"), try row.int("now_ms"))
    }
}
