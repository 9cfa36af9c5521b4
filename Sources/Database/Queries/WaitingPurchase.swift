import Base
import Postgres
import Subscriptions

/// A purchase of which something waits to be applied, for explaining why: read without a lock and without any worker.
package struct WaitingPurchase: Sendable {
    package let key: PurchaseKey
    /// When the oldest notification arrived that waits for it, in ms.
    package let since: Int64
    /// Rows of its log, at most `countedFacts`.
    package let facts: Int
    /// Whether its facts are folded in a form that this program reads; where there are many and they are not, a worker does
    /// that first.
    package let isFolded: Bool

    package static let countedFacts = 1000

    private static let select = """
        SELECT n.app, n.environment, n.original_transaction_id, n.seq, n.lane
        FROM entitled.lane l CROSS JOIN LATERAL (
            SELECT seq FROM entitled.pending WHERE lane = l.lane ORDER BY seq LIMIT 1
        ) p JOIN entitled.notification n ON n.lane = l.lane AND n.seq = p.seq
        WHERE n.seq >= $1 AND n.seq < $2 AND n.original_transaction_id IS NOT NULL
        ORDER BY n.seq LIMIT $3
        """

    private static let count = """
        SELECT (
                SELECT count(*) FROM (
                    SELECT 1 FROM entitled.fact f WHERE f.lane = $1 AND f.original_transaction_id = $2 AND f.app = $3
                        AND f.environment = $4 LIMIT $5
                ) f
            ) AS facts, EXISTS (
                SELECT 1 FROM entitled.purchase_fold s WHERE s.lane = $1 AND s.original_transaction_id = $2 AND s.app = $3
                    AND s.environment = $4 AND s.codec = $6
            ) AS is_folded
        """

    /// Those that have waited longest, one of each lane, in the order of their arrival.
    ///
    /// - Parameters:
    ///   - oldest: the number of the notification that has waited longest, so that no earlier day is searched.
    ///   - instant: ms; what arrived later is left out.
    package static func longest(
        from oldest: Int64, arrivedBefore instant: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [WaitingPurchase] {
        let rows = try connection.query(
            select,
            [.int8(oldest), .int8(SequenceGenerator.least(at: instant)), .int8(Int64(limit))])
        return try rows.map { row in
            let key = try PurchaseKey(row)
            let counted = try connection.query(
                count,
                [
                    .int2(try row.value("lane", as: Lane.self).number), .text(key.originalTransactionID),
                    .text(key.app),
                    .int2(key.environment.code), .int8(Int64(countedFacts)), .int2(PurchaseFoldTable.codec),
                ]
            ).one()
            return WaitingPurchase(
                key: key, since: SequenceGenerator.instant(of: try row.int("seq")),
                facts: Int(try counted.int("facts")), isFolded: try counted.bool("is_folded"))
        }
    }
}
