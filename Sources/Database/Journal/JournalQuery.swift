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
    /// Actions that are looked at once more: numbers are drawn in another order than transactions commit.
    private static let actionOverlap: Int64 = 100_000
    /// Facts of this much time are looked at once more, in ms.
    private static let factOverlap: Int64 = 3_600_000

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
        _ = try connection.query("DECLARE journal NO SCROLL CURSOR FOR \(sql(kind, extent))")
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

    // MARK: - Statements

    private static func sql(_ kind: JournalEntry.Kind, _ extent: Extent) -> String {
        let changed = extent.mark.map { "age(t.xmin) <= age('\($0.transaction & 0xffff_ffff)'::xid)" } ?? "true"
        func isSince(_ column: String) -> String { extent.since.map { "\(column) >= \($0)" } ?? "true" }
        switch kind {
        case .sealingKey:
            return """
                SELECT NULL::text AS id, t.created_ms AS at_ms, row_to_json(t)::text AS entry FROM entitled.sealing_key t
                """
        case .endpoint: return "\(endpoints) ORDER BY t.created_ms, t.id"
        case .apiKey:
            return """
                SELECT NULL::text AS id, t.created_ms AS at_ms, (to_jsonb(t) - 'last_used_ms')::text AS entry
                FROM entitled.api_key t
                """
        case .consoleUser:
            return """
                SELECT NULL::text AS id, coalesce(t.ended_ms, t.created_ms) AS at_ms, json_build_object(
                    'name', t.name, 'created_ms', t.created_ms, 'ended_ms', t.ended_ms)::text AS entry
                FROM entitled.console_user t
                """
        case .operatorKey:
            return """
                SELECT NULL::text AS id, t.ended_ms AS at_ms, json_build_object('id', t.id, 'ended_ms', t.ended_ms)::text AS entry
                FROM entitled.operator_key t WHERE t.ended_ms IS NOT NULL
                """
        case .deletion:
            return """
                SELECT NULL::text AS id, t.at_ms, json_build_object('number', t.id, 'policy', t.policy, 'at_ms', t.at_ms,
                    'actor', t.actor, 'reason', t.reason, 'action', t.action, 'ids', t.ids,
                    'is_swept', t.state <> 'sweeping', 'hashes', (
                        SELECT coalesce(json_agg(encode(i.hash, 'hex') ORDER BY i.hash), '[]')
                        FROM entitled.deletion_id i WHERE i.deletion = t.id))::text AS entry
                FROM entitled.deletion t WHERE \(isSince("t.at_ms")) AND \(changed) ORDER BY t.id
                """
        case .customer:
            return """
                SELECT NULL::text AS id, greatest(t.first_seen_ms, \(extent.seen)) AS at_ms, json_build_object(
                    'app_user_id', t.id, 'first_seen_ms', t.first_seen_ms, 'of_account', t.of_account,
                    'offering_override', c.offering_override, 'offering_override_ms', c.offering_override_ms,
                    'original_application_version', c.original_application_version,
                    'app_purchased_ms', c.app_purchased_ms, 'app_environment', c.app_environment)::text AS entry
                FROM entitled.app_user_id t
                LEFT JOIN entitled.customer c ON c.original_app_user_id = t.id
                WHERE \(isSince("t.first_seen_ms")) AND (\(changed) \(customerChanged(extent)))
                """
        case .action:
            let least = extent.mark.map { max(0, $0.action - actionOverlap) } ?? -1
            return """
                SELECT 'action/' || t.seq || '/' || t.at_ms AS id, t.at_ms, row_to_json(t)::text AS entry
                FROM entitled.action t
                WHERE t.seq > \(least) AND \(isSince("t.at_ms")) AND \(changed) ORDER BY t.seq
                """
        case .fact:
            let instants = [extent.since, extent.mark == nil ? nil : extent.seen - factOverlap].compactMap { $0 }
            let least = instants.max().map { SequenceGenerator.least(at: $0) } ?? 0
            return """
                SELECT NULL::text AS id, t.signed_ms AS at_ms, json_build_object('app', t.app, 'environment', t.environment,
                    'original_transaction_id', t.original_transaction_id, 'kind', t.kind, 'signed_ms', t.signed_ms,
                    'seq', t.seq, 'source', t.source)::text AS entry, t.payload
                FROM entitled.fact t
                WHERE t.kind IN (4, 6, 7, 8) AND t.seq >= \(least) AND \(changed)
                """
        case .attribute:
            // Their times are those of devices.
            return """
                SELECT NULL::text AS id, greatest(a.first_seen_ms, \(extent.seen)) AS at_ms,
                    row_to_json(t)::text AS entry
                FROM entitled.customer_attribute t LEFT JOIN entitled.app_user_id a ON a.id = t.app_user_id
                WHERE \(changed)
                """
        }
    }

    private static func customerChanged(_ extent: Extent) -> String {
        extent.mark.map { "OR age(c.xmin) <= age('\($0.transaction & 0xffff_ffff)'::xid)" } ?? ""
    }

    /// With its secrets, so that one entry says how the endpoint is.
    private static let endpoints = """
        SELECT NULL::text AS id, t.created_ms AS at_ms,
            (to_jsonb(t) - 'paused_until_ms' || jsonb_build_object('secrets', (
                SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.kind, s.created_ms), '[]')
                FROM entitled.endpoint_secret s WHERE s.endpoint = t.id)))::text AS entry
        FROM entitled.endpoint t
        """

    /// The endpoint as an export would write it; nil: there is none.
    package static func endpoint(_ id: String, on connection: PostgresConnection) throws -> JSON? {
        try connection.query("\(endpoints) WHERE t.id = $1", [.text(id)]).first.map {
            try JSON(parsing: Array(try $0.text("entry").utf8))
        }
    }
}
