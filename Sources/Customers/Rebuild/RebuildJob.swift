import Base
import Postgres

/// How far a rebuild came, as the database keeps it: what was killed goes on there.
struct RebuildJob: Sendable {
    let id: Int64
    /// 0 to 255: the lane; then the ids of the log, then customers.
    var stage: Int
    /// Where in the stage; empty at its beginning.
    var cursor: [String]
    var totals: RebuildTotals

    private static let columns = "id, lane, cursor, purchases, customers, differences"
    private static let open = """
        SELECT \(columns) FROM (SELECT * FROM entitled.rebuild ORDER BY id DESC LIMIT 1) AS last
        WHERE finished_ms IS NULL AND started_ms > $1 AND settings = $2
        """
    private static let begin = """
        INSERT INTO entitled.rebuild (started_ms, settings) VALUES ($1, $2) RETURNING \(columns)
        """
    private static let save = """
        UPDATE entitled.rebuild SET lane = $2, cursor = $3, purchases = $4, customers = $5, differences = $6,
            finished_ms = $7
        WHERE id = $1
        """

    /// The last one, if it was begun in the last day and not finished.
    ///
    /// - Parameter settings: whatever records depend on beside the log; with others it would leave half of them behind.
    static func unfinished(
        now: Int64, settings: String, on connection: PostgresConnection
    ) throws -> RebuildJob? {
        try connection.query(open, [.int8(now - 86_400_000), .text(settings)]).first.map(job)
    }

    static func start(now: Int64, settings: String, on connection: PostgresConnection) throws -> RebuildJob {
        guard let row = try connection.query(begin, [.int8(now), .text(settings)]).first else {
            throw PostgresError(.decoding, "a rebuild has no number")
        }
        return try job(row)
    }

    func save(finished: Int64? = nil, on connection: PostgresConnection) throws {
        _ = try connection.query(
            RebuildJob.save,
            [
                .int8(id), .int2(Int16(clamping: stage)), .texts(cursor), .int8(totals.purchases),
                .int8(totals.customers), .int8(totals.differences), .int8(finished),
            ])
    }

    private static func job(_ row: PostgresRow) throws -> RebuildJob {
        RebuildJob(
            id: try row.int("id"), stage: Int(try row.int("lane")),
            cursor: try row.isNull("cursor") ? [] : try row.texts("cursor").compactMap { $0 },
            totals: RebuildTotals(
                purchases: try row.int("purchases"), customers: try row.int("customers"),
                differences: try row.int("differences")))
    }
}

/// What a rebuild has looked at, and how much of it differed.
package struct RebuildTotals: Sendable, Equatable {
    package var purchases: Int64 = 0
    package var customers: Int64 = 0
    package var differences: Int64 = 0
}
