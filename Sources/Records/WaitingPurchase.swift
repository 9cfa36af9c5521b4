import Base
import Postgres
import Queue
import Subscriptions

/// A purchase of which something waits to be applied, for explaining why: read without a lock and without any worker.
package struct WaitingPurchase: Sendable {
    package let key: PurchaseKey
    /// When the oldest notification arrived that waits for it, in ms.
    package let since: Int64
    /// Rows of its log, at most `countedFacts`.
    package let facts: Int
    /// Whether its facts are folded; where there are many and they are not, that is done first.
    package let isFolded: Bool

    package static let countedFacts = 10_000

    private static let select = """
        WITH oldest AS MATERIALIZED (
            SELECT l.lane, p.seq FROM entitled.lane l CROSS JOIN LATERAL (
                SELECT seq FROM entitled.pending WHERE lane = l.lane ORDER BY seq LIMIT 1
            ) p
            WHERE p.seq < $1 ORDER BY p.seq LIMIT $2
        )
        SELECT n.app, n.environment, n.original_transaction_id, o.seq, (
                SELECT count(*) FROM (
                    SELECT FROM entitled.fact f WHERE f.lane = o.lane AND f.app = n.app AND f.environment = n.environment
                        AND f.original_transaction_id = n.original_transaction_id LIMIT $3
                ) f
            ), EXISTS (
                SELECT FROM entitled.purchase_fold s WHERE s.lane = o.lane AND s.app = n.app
                    AND s.environment = n.environment AND s.original_transaction_id = n.original_transaction_id
            )
        FROM oldest o JOIN entitled.notification n ON n.lane = o.lane AND n.seq = o.seq
        WHERE n.original_transaction_id IS NOT NULL
        ORDER BY o.seq
        """

    /// Those that wait longest, one of each lane; the longest wait first.
    ///
    /// - Parameter instant: ms; what arrived later is left out.
    package static func longest(
        arrivedBefore instant: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [WaitingPurchase] {
        let rows = try connection.query(
            select, [.int8(SequenceGenerator.least(at: instant)), .int8(Int64(limit)), .int8(Int64(countedFacts))])
        return try rows.compactMap { row in
            guard let environment = StoreEnvironment(code: Int16(clamping: try row.int(1))) else { return nil }
            return WaitingPurchase(
                key: PurchaseKey(
                    app: try row.text(0), environment: environment, originalTransactionID: try row.text(2)),
                since: SequenceGenerator.instant(of: try row.int(3)), facts: Int(try row.int(4)),
                isFolded: try row.bool(5))
        }
    }
}
