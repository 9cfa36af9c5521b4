import Base
import Postgres
import Subscriptions

/// What becomes of the data of a customer who is deleted (`privacy.deletion`).
package enum DeletionPolicy: String, Sendable, CaseIterable, ColumnDecodable {
    /// Purchases, events and the log stay, and name no person.
    case pseudonymise
    /// What there is about their purchases goes too.
    case erase
}

/// Deletions in the database: written with the customer's end, worked off afterwards, kept as a record.
package enum DeletionTable {
    /// Rows that were changed or deleted, by table.
    package typealias Counts = [String: Int64]

    package enum State: String, Sendable, ColumnDecodable {
        case sweeping, settling, done
    }

    /// A deletion as it is kept.
    package struct Entry: Sendable {
        package let id: Int64
        package let policy: DeletionPolicy
        /// ms since 1970.
        package let at: Int64
        package let origin: ActionTable.Origin
        /// The last of its entries in the log.
        package let action: Int64
        /// How many ids the customer had.
        package let ids: Int64
        /// Nil once everything is swept.
        package let names: Pseudonyms?
        package let isLogSwept: Bool
        package let state: State
        package let counts: Counts
        /// When what was on its way is looked at once more, in ms.
        package let settles: Int64?
        package let finished: Int64?
    }

    /// A purchase on its way into the list of what is to be swept.
    package struct Subject: Sendable {
        package let key: PurchaseKey
        /// Who got it; nil where it was not theirs any more.
        package let owner: String?

        package init(key: PurchaseKey, owner: String?) {
            self.key = key
            self.owner = owner
        }
    }

    // MARK: - Writing down

    private static let insert = """
        INSERT INTO entitled.deletion (policy, at_ms, actor, reason, action, ids, names)
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id
        """
    private static let insertPurchases = """
        INSERT INTO entitled.deletion_purchase (deletion, lane, app, environment, original_transaction_id, owner)
        SELECT $1, * FROM unnest($2::int2[], $3::text[], $4::int2[], $5::text[], $6::text[]) ON CONFLICT DO NOTHING
        """
    private static let insertHashes = """
        INSERT INTO entitled.deletion_id (hash, deletion, at_ms, action)
        SELECT DISTINCT hash, $2::int8, $3::int8, $4::int8 FROM unnest($1::bytea[]) AS hash
        """

    /// In the transaction that deletes the customer. Its number.
    ///
    /// - Parameters:
    ///   - tokens: account tokens beside the ids, which name no other customer.
    ///   - number: its action when it was made first, where the database lost that.
    package static func add(
        _ policy: DeletionPolicy, _ names: Pseudonyms, tokens: Set<String>, _ subjects: [Subject], action: Int64,
        number: Int64, by origin: ActionTable.Origin, now: Int64, on connection: PostgresConnection
    ) throws -> Int64 {
        let id = try connection.query(
            insert,
            [
                .text(policy.rawValue), .int8(now), .text(origin.actor),
                .text(origin.reason.map(names.replaced(inText:))), .int8(action),
                .int4(Int32(clamping: names.names.count)), .text(names.json.text),
            ]
        ).one().int("id")
        if !subjects.isEmpty {
            _ = try connection.query(
                insertPurchases,
                [.int8(id)] + PurchaseKeys(subjects.map(\.key)).columns + [.texts(subjects.map(\.owner))])
        }
        let hasher = DeletedCustomerHashes()
        let hashes = try tokens.union(names.names.keys).map { try hasher.hash($0, on: connection) }
        _ = try connection.query(insertHashes, [.byteas(hashes), .int8(id), .int8(now), .int8(number)])
        return id
    }

    private static let insertDone = """
        INSERT INTO entitled.deletion (policy, at_ms, actor, reason, action, ids, is_log_swept, state, finished_ms)
        VALUES ($1, $2, $3, $4, $5, $6, true, 'done', $2) RETURNING id
        """
    private static let newestWith = """
        SELECT max(deletion) AS deletion FROM entitled.deletion_id WHERE hash = ANY($1::bytea[]) AND at_ms = $2
        """
    private static let insertMissing = """
        INSERT INTO entitled.deletion_id (hash, deletion, at_ms, action)
        SELECT DISTINCT t.hash, $2::int8, $3::int8, $4::int8 FROM unnest($1::bytea[]) AS t(hash)
        WHERE NOT EXISTS (SELECT FROM entitled.deletion_id i WHERE i.hash = t.hash AND i.at_ms >= $3)
        """

    /// Notes a deletion that the database lost, of customers whom it does not know any more.
    package static func restore(
        _ policy: DeletionPolicy, _ hashes: [[UInt8]], ids: Int64, at instant: Int64, action: Int64,
        by origin: ActionTable.Origin, on connection: PostgresConnection
    ) throws {
        let known = try connection.query(newestWith, [.byteas(hashes), .int8(instant)]).one().optionalInt("deletion")
        let id =
            try known
            ?? connection.query(
                insertDone,
                [
                    .text(policy.rawValue), .int8(instant), .text(origin.actor), .text(origin.reason), .int8(action),
                    .int4(Int32(clamping: ids)),
                ]
            ).one().int("id")
        _ = try connection.query(insertMissing, [.byteas(hashes), .int8(id), .int8(instant), .int8(action)])
    }

    /// Whether a row about a customer means the one whom the deletion `d` deleted, and not another one who got the id since
    /// then: as SQL.
    ///
    /// The row's snapshot says whether the deletion was committed when the row was made. Where there is none, the schema was
    /// older or the customer was not there; and transactions that are to come are of another cluster, from which the database
    /// was copied. Then 30 s for the deletion's transaction decide.
    ///
    /// - Parameters:
    ///   - row: its alias.
    ///   - time: its column with ms since 1970 by the database's clock.
    package static func isMeant(by row: String, at time: String) -> String {
        let snapshot = "(to_jsonb(\(row)) ->> 'made_snapshot')::pg_snapshot"
        let transaction = "(to_jsonb(d) ->> 'made_xid')::xid8"
        return """
            CASE WHEN \(row).\(time) <= d.at_ms THEN true
                WHEN \(transaction) < pg_snapshot_xmax(pg_current_snapshot()) AND \(snapshot) IS NOT NULL
                THEN NOT pg_visible_in_snapshot(\(transaction), \(snapshot))
                ELSE \(row).\(time) <= d.at_ms + 30000 END
            """
    }

    private static let selectMeant = """
        SELECT d.is_log_swept FROM entitled.job j, entitled.deletion d
        WHERE j.id = $1 AND d.id IN (SELECT deletion FROM entitled.deletion_id WHERE hash = $2)
            AND \(isMeant(by: "j", at: "created_ms"))
        ORDER BY d.id FOR SHARE OF d
        """

    /// What became of the customer whom a change means.
    package enum Fate: Sendable, Equatable {
        case present
        /// The erasure is still to come to the changes, or at it.
        case deleted
        /// Whatever named them is redacted, but what was committed since then.
        case swept
    }

    /// The fate of the customer whom a change means; an erasure that is at the changes is waited for.
    package static func fate(
        ofTargetOf change: Change, on connection: PostgresConnection
    ) throws -> Fate { try fate(of: change.target, since: change, on: connection) }

    /// The same of another customer whom it names.
    package static func fate(
        of id: String, since change: Change, on connection: PostgresConnection
    ) throws -> Fate {
        let hash = try DeletedCustomerHashes().hash(id, on: connection)
        let found = try connection.query(selectMeant, [.int8(change.id), .bytea(hash)]).map {
            try $0.bool("is_log_swept")
        }
        return found.isEmpty ? .present : found.allSatisfy { $0 } ? .swept : .deleted
    }

    private static let selectSince = """
        SELECT d.id FROM entitled.job j, entitled.deletion d
        WHERE j.id = $1 AND d.at_ms >= j.created_ms - 30000 AND \(isMeant(by: "j", at: "created_ms"))
        LIMIT 1
        """

    /// Whether any customer was deleted since a change was asked for, or at that time. Nothing is locked: an erasure takes the rows
    /// of changes last, and so no change may wait for it whose row is held. A transaction that holds the change's row is safe all the
    /// same: the erasure of a deletion that it does not see here is still to come to the row.
    package static func isAnySince(_ change: Change, on connection: PostgresConnection) throws -> Bool {
        try !connection.query(selectSince, [.int8(change.id)]).isEmpty
    }

    // MARK: - Working off

    private static let columns = """
        d.id, d.policy, d.at_ms, d.actor, d.reason, d.action, d.ids::int8, d.names, d.is_log_swept, d.state, d.counts,
            d.settle_ms, d.finished_ms
        """

    /// The oldest that has something to do now.
    private static let selectDue = """
        SELECT \(columns) FROM entitled.deletion d
        WHERE (d.state = 'sweeping' OR d.state = 'settling' AND d.settle_ms <= $1) AND NOT d.id = ANY($2::int8[])
        ORDER BY d.id LIMIT 1
        """

    /// The oldest deletion that has something to do.
    ///
    /// - Parameter passingOver: deletions that have to wait.
    package static func due(
        at now: Int64, passingOver: [Int64] = [], on connection: PostgresConnection
    ) throws -> Entry? {
        try connection.query(selectDue, [.int8(now), .int8s(passingOver)]).first.map(entry)
    }

    private static let selectOne = "SELECT \(columns) FROM entitled.deletion d WHERE d.id = $1"

    package static func find(_ id: Int64, on connection: PostgresConnection) throws -> Entry? {
        try connection.query(selectOne, [.int8(id)]).first.map(entry)
    }

    private static let nextPurchase = """
        SELECT app, environment, original_transaction_id, owner FROM entitled.deletion_purchase WHERE deletion = $1
        ORDER BY lane, original_transaction_id, app, environment LIMIT 1
        """

    /// The next purchase that is to be swept; nil: none is left.
    package static func next(of id: Int64, on connection: PostgresConnection) throws -> Subject? {
        guard let row = try connection.query(nextPurchase, [.int8(id)]).first else { return nil }
        return Subject(
            key: try PurchaseKey(row),
            owner: try row.optionalText("owner"))
    }

    private static let removePurchase = """
        DELETE FROM entitled.deletion_purchase
        WHERE deletion = $1 AND lane = $2 AND original_transaction_id = $3 AND app = $4 AND environment = $5 RETURNING 1
        """

    /// Takes a purchase from the list, in the transaction that sweeps it, with its lane held. False: another
    /// process has swept it.
    package static func take(
        _ key: PurchaseKey, of id: Int64, on connection: PostgresConnection
    ) throws -> Bool {
        try !connection.query(
            removePurchase,
            [
                .int8(id), .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app),
                .int2(key.environment.code),
            ]
        ).isEmpty
    }

    private static let owned = """
        SELECT original_transaction_id FROM entitled.deletion_purchase WHERE deletion = $1 AND owner IS NOT NULL
        """

    /// Original transaction ids of what was theirs and is not swept.
    package static func owned(of id: Int64, on connection: PostgresConnection) throws -> Set<String> {
        Set(try connection.query(owned, [.int8(id)]).map { try $0.text("original_transaction_id") })
    }

    private static let lock = """
        SELECT counts, is_log_swept FROM entitled.deletion WHERE id = $1 FOR NO KEY UPDATE
        """
    private static let setCounts = """
        UPDATE entitled.deletion SET counts = $2, is_log_swept = is_log_swept OR $3 WHERE id = $1
        """

    /// Whether the log is swept; call it in the transaction that redacts it, with its lanes held: no other
    /// process does then.
    package static func lockLog(of id: Int64, on connection: PostgresConnection) throws -> Bool {
        try connection.query(lock, [.int8(id)]).one().bool("is_log_swept")
    }

    /// Adds to what was changed. After the lanes are held: the row is locked until the end of the transaction.
    package static func count(
        _ more: Counts, isLogSwept: Bool = false, of id: Int64, on connection: PostgresConnection
    ) throws {
        let known = parse(try connection.query(lock, [.int8(id)]).one().text("counts"))
        let counts = known.merging(more.filter { $0.value > 0 }, uniquingKeysWith: +)
        _ = try connection.query(setCounts, [.int8(id), .text(json(counts).text), .bool(isLogSwept)])
    }

    private static let settle = """
        UPDATE entitled.deletion SET names = NULL, settle_ms = $2, state = CASE WHEN EXISTS (
                SELECT 1 FROM entitled.deletion_delivery v WHERE v.deletion = $1) THEN 'settling' ELSE 'done' END,
            finished_ms = CASE WHEN EXISTS (
                SELECT 1 FROM entitled.deletion_delivery v WHERE v.deletion = $1) THEN NULL ELSE $3::int8 END
        WHERE id = $1 AND state = 'sweeping'
            AND NOT EXISTS (SELECT 1 FROM entitled.deletion_purchase p WHERE p.deletion = $1)
        """

    /// Everything that named them is swept.
    ///
    /// - Parameter patience: ms until whatever was being sent is over.
    package static func settle(
        _ id: Int64, patience: Int64, now: Int64, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(settle, [.int8(id), .int8(now + patience), .int8(now)])
    }

    private static let finish = """
        UPDATE entitled.deletion SET state = 'done', finished_ms = $2 WHERE id = $1 AND state = 'settling'
        """
    private static let forget = "DELETE FROM entitled.deletion_delivery WHERE deletion = $1 RETURNING lane, delivery"

    /// The end of it: the deliveries that were on their way, to be looked at once more in this transaction.
    package static func finish(
        _ id: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> [DeliveryID] {
        _ = try connection.query(finish, [.int8(id), .int8(now)])
        return try connection.query(forget, [.int8(id)]).map {
            DeliveryID(lane: try $0.value("lane"), bytes: try $0.uuid("delivery"))
        }
    }

    // MARK: - Looking

    private static let selectNewest = """
        SELECT \(columns) FROM entitled.deletion d
        WHERE $1::bytea IS NULL OR d.id IN (SELECT i.deletion FROM entitled.deletion_id i WHERE i.hash = $1)
        ORDER BY d.id DESC LIMIT $2
        """

    /// The newest first.
    ///
    /// - Parameter name: an id or account token; only deletions of who had it.
    package static func list(
        naming name: String?, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [Entry] {
        let hash = try name.map { try DeletedCustomerHashes().hash($0, on: connection) }
        return try connection.query(selectNewest, [.bytea(hash), .int8(Int64(limit))]).map(entry)
    }

    private static func entry(_ row: PostgresRow) throws -> Entry {
        Entry(
            id: try row.int("id"), policy: try row.value("policy"), at: try row.int("at_ms"),
            origin: ActionTable.Origin(actor: try row.text("actor"), reason: try row.optionalText("reason")),
            action: try row.int("action"),
            ids: try row.int("ids"), names: try row.optionalText("names").flatMap(Pseudonyms.init(parsing:)),
            isLogSwept: try row.bool("is_log_swept"), state: try row.value("state"),
            counts: parse(try row.text("counts")),
            settles: try row.optionalInt("settle_ms"), finished: try row.optionalInt("finished_ms"))
    }

    private static func parse(_ text: String) -> Counts {
        let members = (try? JSON(parsing: Array(text.utf8)))?.members ?? []
        return Dictionary(members.map { ($0.name, $0.value.intValue ?? 0) }) { first, _ in first }
    }

    package static func json(_ counts: Counts) -> JSON {
        .object(counts.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: .int($0.value)) })
    }
}
