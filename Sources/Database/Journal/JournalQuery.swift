import Base
import Postgres
import Subscriptions

/// Reads the rows that a journal is made of.
package enum JournalQuery {
    /// Where a snapshot of the database is, so that a later export reads what changed since alone.
    package struct Mark: Sendable, Equatable {
        /// System identifier and timeline: the numbers of transactions count within them.
        package let cluster: String
        /// Every transaction before this one is seen.
        package let transaction: Int64
        /// The greatest number of an action, and when that was done, in ms.
        package let action: Int64
        package let actionTime: Int64

        package init(cluster: String, transaction: Int64, action: Int64, actionTime: Int64) {
            self.cluster = cluster
            self.transaction = transaction
            self.action = action
            self.actionTime = actionTime
        }
    }

    /// What is read.
    package struct Extent: Sendable {
        /// Entries from then on, in ms; keys and endpoints are read whatever their time. Nil: all.
        package let since: Int64?
        /// Rows that were written since; nil: all.
        package let mark: Mark?
        /// ms by the server's clock: what is seen to exist existed a little before.
        let seen: Int64

        package init(since: Int64?, mark: Mark?, now: Int64) {
            self.since = since
            self.mark = mark
            seen = now - JournalQuery.overlap
        }
    }

    /// A deletion that is not committed yet may be this much older than what is read beside it, in ms: statements of the
    /// processes end before.
    private static let overlap: Int64 = 60_000

    private static let selectMark = """
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::int8 AS transaction, coalesce(last.seq, 0) AS action,
            coalesce(last.at_ms, 0) AS action_ms, (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS now_ms
        FROM (VALUES (1)) AS one(row)
        LEFT JOIN (SELECT seq, at_ms FROM entitled.action ORDER BY seq DESC LIMIT 1) AS last ON true
        """

    /// Where this transaction's snapshot is, and the server's time in ms.
    ///
    /// - Parameter position: where the database is; nil: it does not say, and no mark says what changed since.
    package static func mark(
        at position: DatabasePosition?, on connection: PostgresConnection
    ) throws -> (mark: Mark?, now: Int64) {
        let row = try connection.query(selectMark).one()
        let mark = try position.map { position in
            Mark(
                cluster: "\(position)", transaction: try row.int("transaction"), action: try row.int("action"),
                actionTime: try row.int("action_ms"))
        }
        return (mark, try row.int("now_ms"))
    }

    private static let selectAction = "SELECT at_ms FROM entitled.action WHERE seq = $1"

    /// Whether the database has the last action of the mark: one that went back has lost it, or has another of this number.
    package static func hasAction(of mark: Mark, on connection: PostgresConnection) throws -> Bool {
        guard mark.action > 0 else { return true }
        return try connection.query(selectAction, [.int8(mark.action)]).first?.int("at_ms") == mark.actionTime
    }

    private static let selectReady = """
        SELECT EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = to_regclass('entitled.endpoint') AND attname = 'revision'
        ) AS is_ready
        """

    /// Whether the schema has what journals need.
    package static func isReady(on connection: PostgresConnection) throws -> Bool {
        try connection.query(selectReady).one().bool("is_ready")
    }

    /// Transactions are told apart by 32 bits: before so many of them, a mark says which came later.
    package static let markLife: Int64 = 1 << 30

    private static let page = 2_000

    /// Hands out every row of a kind once, in pages.
    package static func read(
        _ kind: JournalEntry.Kind, _ extent: Extent, on connection: PostgresConnection,
        _ body: (JournalEntry) throws -> Void
    ) throws {
        _ = try connection.query("DECLARE journal NO SCROLL CURSOR FOR \(JournalStatements(extent: extent).all(kind))")
        while case let rows = try connection.query("FETCH \(page) FROM journal"), !rows.isEmpty {
            for row in rows { try body(try entry(kind, row, extent)) }
        }
        _ = try connection.query("CLOSE journal")
    }

    private static func entry(_ kind: JournalEntry.Kind, _ row: PostgresRow, _ extent: Extent) throws -> JournalEntry {
        let text = Array(try row.text("entry").utf8)
        let content: JSON
        if kind == .fact {
            let payload = String(decoding: try FactCodec.restore(try row.bytes("payload")), as: UTF8.self)
            let members = try JSON(parsing: text).members ?? []
            content = .object(members + [JSON.Member(name: "payload", value: .string(payload))])
        } else {
            content = try JSON(parsing: text)
        }
        return JournalEntry(
            id: try row.optionalText("id") ?? JournalEntry.id(kind, content), kind: kind, at: try row.int("at_ms"),
            row: content)
    }

    /// The endpoint as an export would write it; nil: there is none.
    package static func endpoint(_ id: String, on connection: PostgresConnection) throws -> JSON? {
        try connection.query("\(JournalStatements.endpoints) WHERE t.id = $1", [.text(id)]).first.map {
            try JSON(parsing: Array(try $0.text("entry").utf8))
        }
    }
}
