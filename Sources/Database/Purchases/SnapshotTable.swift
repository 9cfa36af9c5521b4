import Base
import Postgres
import Subscriptions

/// Snapshots of purchases in the database: kept by who reads customers, so that the next reader need not fold facts.
package enum SnapshotTable {
    /// A snapshot on its way into the database, with what the purchase's row said before its facts were read: if facts came
    /// in between, the row says something else now, and the snapshot fits no longer.
    package struct New: Sendable {
        package let key: PurchaseKey
        package let version: Int64
        package let updated: Int64
        package let body: [UInt8]

        package init(key: PurchaseKey, version: Int64, updated: Int64, body: [UInt8]) {
            (self.key, self.version, self.updated, self.body) = (key, version, updated, body)
        }
    }

    /// In order, so that two writers wait instead of deadlocking. What fits no longer is left out.
    private static let upsert = """
        INSERT INTO entitled.purchase_snapshot AS s (lane, original_transaction_id, app, environment, version, updated_ms,
            body)
        SELECT t.* FROM \(PurchaseKeys.unnest("version int8", "updated int8", "body bytea"))
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p")) AND p.version = t.version AND p.updated_ms = t.updated
        ORDER BY t.lane, t.otid, t.app, t.environment
        ON CONFLICT (lane, original_transaction_id, app, environment) DO UPDATE
        SET version = excluded.version, updated_ms = excluded.updated_ms, body = excluded.body
        WHERE (s.version, s.updated_ms, s.body) IS DISTINCT FROM (excluded.version, excluded.updated_ms, excluded.body)
        """

    /// Keeps these; of several of one purchase the last.
    package static func write(_ snapshots: [New], on connection: PostgresConnection) throws {
        let last = Dictionary(snapshots.map { ($0.key, $0) }) { $1 }.values
        guard !last.isEmpty else { return }
        _ = try connection.query(
            upsert,
            PurchaseKeys(last.map(\.key)).parameters + [
                .int8s(last.map(\.version)), .int8s(last.map(\.updated)), .byteas(last.map(\.body)),
            ])
    }
}
