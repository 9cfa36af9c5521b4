import Base
import Database
import Postgres

/// Events about purchases of which Apple's history brought something that Apple had signed in a time, such as that of an outage.
enum MissedEvents {
    /// Each purchase is looked up once, by its key: its facts may be many, and so may its events.
    private static let select = """
        WITH asked AS MATERIALIZED (
            SELECT e.lane, e.id, e.app, e.environment, e.original_transaction_id
            FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            JOIN entitled.event e ON e.lane = t.lane AND e.id = t.id
            WHERE e.original_transaction_id IS NOT NULL
        ),
        missed AS MATERIALIZED (
            SELECT p.lane, p.app, p.environment, p.original_transaction_id FROM (
                SELECT DISTINCT lane, app, environment, original_transaction_id FROM asked
            ) p CROSS JOIN LATERAL (
                SELECT FROM entitled.fact f
                WHERE f.lane = p.lane AND f.original_transaction_id = p.original_transaction_id AND f.app = p.app
                    AND f.environment = p.environment
                    AND (f.source = ANY($5::int2[]) AND f.signed_ms >= $3 AND f.signed_ms < $4
                        OR EXISTS (SELECT FROM unnest(f.signed_again) AS s(ms) WHERE s.ms >= $3 AND s.ms < $4))
                LIMIT 1
            ) fact
        )
        SELECT a.lane, a.id FROM asked a JOIN missed m ON m.lane = a.lane
            AND m.original_transaction_id = a.original_transaction_id AND m.app = a.app AND m.environment = a.environment
        """
    /// The same on a cluster, which looks up the purchase of each event.
    private static let selectOnCluster = """
        SELECT e.lane, e.id FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.event e ON e.lane = t.lane AND e.lane = ANY($1::int2[]) AND e.id = t.id
        WHERE EXISTS (
            SELECT 1 FROM entitled.fact f WHERE f.lane = e.lane AND f.lane = ANY($1::int2[])
                AND f.original_transaction_id = e.original_transaction_id AND f.app = e.app
                AND f.environment = e.environment
                AND (f.source = ANY($5::int2[]) AND f.signed_ms >= $3 AND f.signed_ms < $4
                    OR EXISTS (SELECT 1 FROM unnest(f.signed_again) AS s(ms) WHERE s.ms >= $3 AND s.ms < $4)))
        """
    private static let sources = [NotificationSource.history, .historyToSend].map(\.rawValue)

    /// Those of these events. Call it in a transaction.
    ///
    /// - Parameter signed: ms since 1970.
    static func among(
        _ events: [DeliveryReplay.EventKey], signed: Range<Int64>, on connection: PostgresConnection
    ) throws -> Set<DeliveryReplay.EventKey> {
        guard !events.isEmpty else { return [] }
        let rows = try connection.laneGroups.split(events, by: \.lane).flatMap { part in
            try connection.query(
                connection.isCluster ? selectOnCluster : select,
                [
                    .int2s(part.elements.map(\.lane.number)), .uuids(part.elements.map(\.id)), .int8(signed.lowerBound),
                    .int8(signed.upperBound), .int2s(sources),
                ])
        }
        return Set(try rows.map { DeliveryReplay.EventKey(lane: try $0.value("lane"), id: try $0.uuid("id")) })
    }
}
