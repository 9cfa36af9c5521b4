import Base
import Crypto
import Postgres

/// What a consumer gets one after the other.
package enum Ordering: String, Sendable, CaseIterable, ColumnDecodable {
    case none
    /// The next event of a purchase goes out only when the one before it is delivered or dead.
    case purchase
}

/// Deliveries of one purchase to a consumer who gets them in order.
///
/// Of those that are open (pending, held or blocked) the first is never blocked, and whatever comes behind it is, unless an
/// operator sent it again. The transaction that ends one releases the next, with the lane held: so none waits
/// for nothing, and none goes out before its turn, whatever other workers still have in flight.
package enum DeliveryOrder {
    /// Names the deliveries of one purchase to one endpoint.
    package struct Line: Hashable, Sendable {
        let lane: Lane
        let endpoint: String
        let purchase: [UInt8]

        /// From a row with lane, endpoint and ordered_by; nil for a delivery that is in no order.
        package init?(_ row: PostgresRow) throws {
            guard let purchase = try row.optionalUUID("ordered_by") else { return nil }
            lane = try row.value("lane")
            endpoint = try row.text("endpoint")
            self.purchase = purchase
        }
    }

    private static let first = """
        WITH first AS MATERIALIZED (
            SELECT f.lane, f.id FROM unnest($1::int2[], $2::text[], $3::uuid[]) AS t(lane, endpoint, ordered_by)
            CROSS JOIN LATERAL (
                SELECT d.lane, d.id, d.state FROM entitled.delivery d
                WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */
                    AND d.endpoint = t.endpoint AND d.ordered_by = t.ordered_by
                    AND d.ordered_by IS NOT NULL AND d.state IN (\(DeliveryCode.open))
                ORDER BY d.sequence LIMIT 1
            ) f
            WHERE f.state = \(DeliveryCode.blocked)
        ),
        released AS (
            UPDATE entitled.delivery d SET state = \(DeliveryCode.pending), next_ms = $4
            FROM first f
            WHERE d.lane = f.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = f.id AND d.state = \(DeliveryCode.blocked)
            RETURNING d.*
        )
        SELECT \(DueDelivery.columns) FROM released d
        JOIN entitled.event e ON e.lane = d.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = d.event
        """

    /// Frees what is first in these lines, if it is blocked: it is due at once, and comes back. The lanes are held.
    package static func release(
        _ lines: some Collection<Line>, now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        guard !lines.isEmpty else { return [] }
        return try connection.laneGroups.split(Array(lines), by: \.lane).flatMap { part in
            let rows = try connection.query(
                first,
                [
                    .int2s(part.elements.map(\.lane.number)), .texts(part.elements.map(\.endpoint)),
                    .uuids(part.elements.map(\.purchase)), .int8(now),
                ])
            // One that cannot be read is given up when it is looked for as due.
            return try rows.compactMap { try DueDelivery($0) }
        }
    }

    private static let oldest = """
        SELECT min(d.next_ms)
        FROM /* cluster: (SELECT * FROM entitled.endpoint OFFSET 0) for: */entitled.endpoint/* end */
            e CROSS JOIN unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (
            SELECT next_ms FROM entitled.delivery
            WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
                AND endpoint = e.id AND state = \(DeliveryCode.blocked) ORDER BY next_ms LIMIT 1
        ) d
        WHERE e.removed_ms IS NULL AND e.disabled_reason IS NULL AND e.ordering <> 'none'
        """

    /// Since when, in ms, the one waits that waits longest for an earlier one, in these lanes and for an endpoint that is
    /// enabled; nil where none does.
    package static func oldestBlocked(in lanes: [Lane], on connection: PostgresConnection) throws -> Int64? {
        try connection.laneGroups.split(lanes).compactMap { part in
            try connection.query(oldest, [.int2s(part.elements.map(\.number))]).one().optionalInt("min")
        }.min()
    }

    private static let count = """
        SELECT count(*) FROM (
            SELECT 1
            FROM /* cluster: (SELECT lane FROM entitled.lane WHERE lane = ANY($1::int2[])) for: */unnest($1::int2[])/* end */
            AS every(lane)
            CROSS JOIN LATERAL (
                SELECT 1 FROM entitled.delivery WHERE lane = every.lane AND endpoint = $2
                    AND state = \(DeliveryCode.blocked) LIMIT $3
            ) d LIMIT $3
        ) few
        """

    /// How many of an endpoint's deliveries wait for an earlier one, counting so many at most.
    package static func blocked(
        of endpoint: String, atMost limit: Int, on connection: PostgresConnection
    ) throws -> Int64 {
        try connection.query(
            count, [.int2s(Lane.all.map(\.number)), .text(endpoint), .int8(Int64(limit))]
        ).one().int("count")
    }

    private static let insert = """
        INSERT INTO entitled.delivery
            (lane, id, endpoint, event, event_type, state, reason, next_ms, created_ms, ordered_by, sequence)
        SELECT t.lane, t.id, t.endpoint, t.event, t.event_type,
            CASE WHEN t.is_behind THEN \(DeliveryCode.blocked) ELSE t.state END,
            CASE WHEN NOT t.is_behind THEN t.reason END, $10, $10, t.ordered_by, t.sequence
        FROM (
            SELECT t.*, EXISTS (
                    SELECT 1 FROM entitled.delivery d
                    WHERE d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */
                        AND d.endpoint = t.endpoint AND d.ordered_by = t.ordered_by
                        AND d.ordered_by IS NOT NULL AND d.state IN (\(DeliveryCode.open))
                ) OR row_number() OVER (PARTITION BY t.lane, t.endpoint, t.ordered_by ORDER BY t.sequence) > 1
                AS is_behind
            FROM unnest($1::int2[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::int2[], $7::text[],
                $8::uuid[], $9::int8[])
                AS t(lane, id, endpoint, event, event_type, state, reason, ordered_by, sequence)
        ) t
        ON CONFLICT DO NOTHING RETURNING lane, id, state
        """

    /// A delivery that is to be made in order.
    struct New {
        let delivery: DueDelivery
        /// Where nothing of its purchase is open: pending or held.
        let state: DeliveryState
        let purchase: [UInt8]
    }

    /// Writes deliveries of new events, blocked where something of the same purchase is open; those that may be sent now
    /// come back. The lanes are held.
    static func insert(_ made: [New], now: Int64, on connection: PostgresConnection) throws -> [DueDelivery] {
        try connection.laneGroups.split(made, by: \.delivery.id.lane).flatMap { part in
            try insert(together: part.elements, now: now, on: connection)
        }
    }

    private static func insert(
        together made: [New], now: Int64, on connection: PostgresConnection
    ) throws -> [DueDelivery] {
        let rows = try connection.query(
            insert,
            [
                .int2s(made.map(\.delivery.id.lane.number)), .uuids(made.map(\.delivery.id.bytes)),
                .texts(made.map(\.delivery.endpoint)), .uuids(made.map(\.delivery.event)),
                .texts(made.map(\.delivery.eventType)), .int2s(made.map(\.state.rawValue)),
                .texts(made.map { $0.state == .held ? "endpoint disabled" : nil }), .uuids(made.map(\.purchase)),
                .int8s(made.map { $0.delivery.sequence ?? 0 }), .int8(now),
            ])
        var first: Set<DeliveryID> = []
        for row in rows where try row.value("state", as: DeliveryCode.self) == .pending {
            first.insert(DeliveryID(lane: try row.value("lane"), bytes: try row.uuid("id")))
        }
        return made.map(\.delivery).filter { first.contains($0.id) }
    }
}

extension DeliveryOrder {
    /// 16 bytes that follow from the purchase.
    static func purchase(_ originalTransactionID: String, app: String, environment: StoreEnvironment) -> [UInt8] {
        let name = "\(app)\u{0}\(environment.rawValue)\u{0}\(originalTransactionID)"
        return Array(Digest.sha256(Array(name.utf8)).prefix(16))
    }
}

extension NewEvent {
    /// Names its purchase in `DeliveryOrder`; nil for an event about none.
    var purchase: [UInt8]? {
        originalTransactionID.map { DeliveryOrder.purchase($0, app: app, environment: environment) }
    }
}
