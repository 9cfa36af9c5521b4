import Base
import Postgres
import Subscriptions

/// The tables behind the views of `entitled_reports` whose values no other column has. They follow from records, facts and
/// configuration, and are brought up to date a page of purchases at a time.
package enum ReportTable {
    /// A purchase whose rows are missing or of another state.
    package struct Due: Sendable, Hashable {
        package let key: PurchaseKey
        package let version: Int64
        package let updated: Int64
    }

    /// The rows of a purchase.
    package struct Content: Sendable {
        let due: Due
        let transactions: [ReportTransaction]
        let entitlements: [ReportEntitlement]
        /// What reports count of it; empty: nothing.
        let history: [UInt8]

        package init(
            due: Due, transactions: [ReportTransaction], entitlements: [ReportEntitlement], history: [UInt8] = []
        ) {
            (self.due, self.transactions, self.entitlements) = (due, transactions, entitlements)
            self.history = history
        }
    }

    /// A program works with schemas of several versions: the tables came with version 35.
    package static func isThere(on connection: PostgresConnection) throws -> Bool {
        try connection.query("SELECT to_regclass('entitled.report_refresh') IS NOT NULL AS is_there").one()
            .bool("is_there")
    }

    private static let keeps = """
        SELECT EXISTS (
            SELECT FROM pg_attribute
            WHERE attrelid = 'entitled.report_purchase'::regclass AND attname = 'history' AND NOT attisdropped
        ) AS keeps_histories
        """

    /// Histories came with version 38.
    private static func keepsHistories(on connection: PostgresConnection) throws -> Bool {
        try connection.query(keeps).one().bool("keeps_histories")
    }

    // MARK: - What is due

    private static func selectDue(histories: Bool) -> String {
        """
        SELECT p.app, p.environment, p.original_transaction_id, p.version, p.updated_ms FROM entitled.purchase p
        LEFT JOIN entitled.report_purchase r ON r.lane = p.lane /* cluster: AND r.lane = $1 */
            AND r.original_transaction_id = p.original_transaction_id AND r.app = p.app AND r.environment = p.environment
        WHERE p.lane = $1 AND (p.original_transaction_id, p.app, p.environment) > ($2, $3, $4)
            AND ((r.version, r.updated_ms, r.stamp) IS DISTINCT FROM (p.version, p.updated_ms, $5)
                \(histories ? "OR r.history IS NULL" : ""))
        ORDER BY p.original_transaction_id, p.app, p.environment LIMIT $6
        """
    }

    /// Purchases of a lane that are due, in the order of their keys.
    ///
    /// - Parameters:
    ///   - last: the page begins after it; nil: at the first of the lane.
    ///   - stamp: of the program and its settings.
    package static func due(
        in lane: Lane, after last: PurchaseKey?, stamp: String, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [Due] {
        try connection.query(
            selectDue(histories: try keepsHistories(on: connection)),
            [
                .int2(lane.number), .text(last?.originalTransactionID ?? ""), .text(last?.app ?? ""),
                .int2(last?.environment.code ?? -1), .text(stamp), .int8(Int64(limit)),
            ]
        ).map { row in
            Due(key: try PurchaseKey(row), version: try row.int("version"), updated: try row.int("updated_ms"))
        }
    }

    // MARK: - Writing

    /// Keeps the records from being erased before the rows are committed, and workers from nothing.
    private static let lock = """
        SELECT p.app, p.environment, p.original_transaction_id
        FROM \(PurchaseKeys.unnest("version int8", "updated int8"))
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p")) AND p.version = t.version AND p.updated_ms = t.updated
        ORDER BY p.lane, p.original_transaction_id, p.app, p.environment FOR KEY SHARE OF p
        """

    /// Rows that stay as they are are not written: a long history costs what is new of it. Compared by a hash of all rows,
    /// however many the planner expects.
    private static func delete(_ table: String) -> String {
        """
        DELETE FROM entitled.\(table) r USING \(PurchaseKeys.unnest)
        WHERE \(PurchaseKeys.equal("r"))
            AND r::text /* cluster: <> ALL($5::text[]) for: */NOT IN (
                SELECT g::text FROM json_populate_recordset(NULL::entitled.\(table), $5::text::json) g)/* end */
        """
    }

    /// The rows as text, for a server of a cluster: only the coordinator makes rows of a document.
    private static func texts(_ table: String) -> String {
        "SELECT g::text AS row FROM json_populate_recordset(NULL::entitled.\(table), $1::text::json) g"
    }

    private static func insert(_ table: String) -> String {
        """
        INSERT INTO entitled.\(table) SELECT * FROM json_populate_recordset(NULL::entitled.\(table), $1::text::json)
        ON CONFLICT DO NOTHING
        """
    }

    private static let note = """
        INSERT INTO entitled.report_purchase AS r (lane, original_transaction_id, app, environment, version, updated_ms,
            stamp)
        SELECT t.*, $7 FROM \(PurchaseKeys.unnest("version int8", "updated int8"))
        ON CONFLICT (lane, original_transaction_id, app, environment) DO UPDATE
        SET version = excluded.version, updated_ms = excluded.updated_ms, stamp = excluded.stamp
        """
    private static let noteWithHistory = """
        INSERT INTO entitled.report_purchase AS r (lane, original_transaction_id, app, environment, version, updated_ms,
            stamp, history)
        SELECT t.lane, t.otid, t.app, t.environment, t.version, t.updated, $8, t.history
        FROM \(PurchaseKeys.unnest("version int8", "updated int8", "history bytea"))
        ON CONFLICT (lane, original_transaction_id, app, environment) DO UPDATE
        SET version = excluded.version, updated_ms = excluded.updated_ms, stamp = excluded.stamp, history = excluded.history
        """

    /// Brings the rows of these purchases to what was computed, in one transaction. Purchases that changed since then are
    /// left for another time, and stay due.
    ///
    /// - Returns: the purchases whose rows are as they were computed.
    package static func write(
        _ contents: [Content], stamp: String, on connection: PostgresConnection
    ) throws -> Set<PurchaseKey> {
        guard !contents.isEmpty else { return [] }
        return try connection.transaction {
            let dues = contents.map(\.due)
            let unchanged = Set(
                try connection.query(lock, places(dues) + states(dues)).map { try PurchaseKey($0) })
            let current = contents.filter { unchanged.contains($0.due.key) }
            guard !current.isEmpty else { return [] }
            let transactions = current.flatMap { item in item.transactions.map { $0.json(of: item.due.key) } }
            let entitlements = current.flatMap { item in item.entitlements.map { $0.json(of: item.due.key) } }
            try replace("report_transaction", of: current, by: transactions, on: connection)
            try replace("report_entitlement", of: current, by: entitlements, on: connection)
            let noted = places(current.map(\.due)) + states(current.map(\.due))
            if try keepsHistories(on: connection) {
                _ = try connection.query(
                    noteWithHistory, noted + [.byteas(current.map(\.history)), .text(stamp)])
            } else {
                _ = try connection.query(note, noted + [.text(stamp)])
            }
            return unchanged
        }
    }

    private static func replace(
        _ table: String, of contents: [Content], by rows: [JSON], on connection: PostgresConnection
    ) throws {
        let document = PostgresValue.text(JSON.array(rows).text)
        let kept =
            try connection.isCluster
            ? .texts(connection.query(texts(table), [document]).map { try $0.text("row") }) : document
        _ = try connection.query(delete(table), places(contents.map(\.due)) + [kept])
        _ = try connection.query(insert(table), [document])
    }

    private static func places(_ dues: [Due]) -> [PostgresValue] {
        PurchaseKeys(dues.map(\.key)).parameters
    }

    private static func states(_ dues: [Due]) -> [PostgresValue] {
        [.int8s(dues.map(\.version)), .int8s(dues.map(\.updated))]
    }

    // MARK: - The end of a lane, and of all

    private static let deleteGone = """
        WITH gone AS (
            DELETE FROM entitled.report_purchase r WHERE r.lane = $1 AND NOT EXISTS (
                SELECT FROM entitled.purchase p WHERE p.lane = r.lane /* cluster: AND p.lane = $1 */
                    AND p.original_transaction_id = r.original_transaction_id AND p.app = r.app
                    AND p.environment = r.environment)
            RETURNING r.lane, r.original_transaction_id, r.app, r.environment
        ), transactions AS (
            DELETE FROM entitled.report_transaction t USING gone g WHERE t.lane = g.lane /* cluster: AND t.lane = $1 */
                AND t.original_transaction_id = g.original_transaction_id AND t.app = g.app
                AND t.environment = g.environment
        )
        DELETE FROM entitled.report_entitlement e USING gone g WHERE e.lane = g.lane /* cluster: AND e.lane = $1 */
            AND e.original_transaction_id = g.original_transaction_id AND e.app = g.app AND e.environment = g.environment
        """

    /// Deletes the rows of purchases that have no record any more: programs of earlier versions leave them.
    package static func deleteGone(in lane: Lane, on connection: PostgresConnection) throws {
        _ = try connection.query(deleteGone, [.int2(lane.number)])
    }

    private static let countsFailures = """
        SELECT to_jsonb(r) ? 'failed' AS counts_failures FROM entitled.report_refresh r
        """

    /// Where no purchase's rows are up to date, a refresh has brought nothing.
    private static let finish = """
        UPDATE entitled.report_refresh SET failed = $2, started_ms = CASE WHEN $3 THEN $1 ELSE started_ms END
        """
    private static let isAny =
        "SELECT EXISTS (SELECT 1 FROM entitled.report_purchase WHERE stamp = $1) AS is_any"

    /// Notes that all changes from before this instant are in the tables, but those of the purchases that failed.
    ///
    /// A schema before 37 cannot say the latter; there the tables stay as fresh as the last refresh without failures.
    ///
    /// - Parameters:
    ///   - started: in ms by the server's clock.
    ///   - failed: purchases whose rows are not up to date.
    package static func finish(
        started: Int64, failed: Int, stamp: String, on connection: PostgresConnection
    ) throws {
        if try connection.query(countsFailures).first?.bool("counts_failures") ?? false {
            let isAny = try failed == 0 || connection.query(isAny, [.text(stamp)]).one().bool("is_any")
            _ = try connection.query(finish, [.int8(started), .int8(Int64(failed)), .bool(isAny)])
        } else if failed == 0 {
            _ = try connection.query("UPDATE entitled.report_refresh SET started_ms = $1", [.int8(started)])
        }
    }
}
