import Base
import Postgres
import Subscriptions

/// What reports count of the purchases of an environment, lane by lane, a page at a time: the transaction that reads it should see
/// one moment.
package struct ReportHistoryStream {
    private let environment: StoreEnvironment
    private let pageSize: Int
    private var lane: Int16 = 0
    private var last = (originalTransactionID: "", app: "")

    /// Histories that are not computed yet, of those that were read.
    package private(set) var missing: Int64 = 0

    package init(environment: StoreEnvironment, pageSize: Int = 4000) {
        self.environment = environment
        self.pageSize = pageSize
    }

    private static let select = """
        SELECT original_transaction_id, app, history FROM entitled.report_purchase
        WHERE lane = $1 AND (original_transaction_id, app) > ($2, $3) AND environment = $4
        ORDER BY original_transaction_id, app LIMIT $5
        """

    /// Some more; nil: there are no more.
    package mutating func next(on connection: PostgresConnection) throws -> [(app: String, history: [UInt8])]? {
        guard lane < Lane.count else { return nil }
        let rows = try connection.query(
            ReportHistoryStream.select,
            [
                .int2(lane), .text(last.originalTransactionID), .text(last.app), .int2(environment.code),
                .int8(Int64(pageSize)),
            ])
        var page: [(app: String, history: [UInt8])] = []
        page.reserveCapacity(rows.count)
        for row in rows {
            last = (try row.text("original_transaction_id"), try row.text("app"))
            if let history = try row.optionalBytes("history") {
                if !history.isEmpty { page.append((last.app, history)) }
            } else {
                missing += 1
            }
        }
        if rows.count < pageSize {
            lane += 1
            last = ("", "")
        }
        return page
    }
}

/// How far the tables of reports are.
package struct ReportFreshness: Sendable, Hashable {
    /// All changes from before it are in, ms since 1970.
    package let refreshed: Int64
    /// Purchases whose rows are not up to date.
    package let failed: Int64

    /// Whatever columns the schema has.
    private static let select = "SELECT to_jsonb(r)::text AS row FROM entitled.report_refresh r"

    /// - Returns: nil where no worker has filled the tables.
    package static func read(on connection: PostgresConnection) throws -> ReportFreshness? {
        guard try ReportTable.isThere(on: connection),
            let text = try connection.query(select).first?.text("row"), let row = try? JSON(parsing: Array(text.utf8)),
            let refreshed = row["started_ms"]?.intValue
        else { return nil }
        return ReportFreshness(refreshed: refreshed, failed: row["failed"]?.intValue ?? 0)
    }
}
