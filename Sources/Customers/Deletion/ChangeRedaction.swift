import Base
import Crypto
import Database
import Postgres

/// Puts pseudonyms for the ids of a deleted customer, and for those of the purchases that were theirs, in the changes that operators
/// asked for, with their parameters, and in the audit; what came of such a change keeps no ids; the hash of such a
/// request goes, because an id can be guessed from it, and so do those that tell whether it is still about the same, and the operator's key
/// where it names the customer. Rows about another customer who has such an id now stay.
package enum ChangeRedaction {
    /// The schema may be older.
    private static let exists = "SELECT to_regclass('entitled.audit') IS NOT NULL AS is_there"

    /// The newest rows whose texts are searched for ids although they are about something else: a search has no index.
    private static let searched: Int64 = 50_000
    private static let page = 1000

    /// Whether a row's target is the customer, or a purchase of theirs.
    private static func isAbout(_ row: String) -> String {
        """
        (\(row).kind = ANY($2::text[]) AND \(row).target = ANY($3::text[])
            OR \(row).kind = ANY($4::text[]) AND \(row).target = ANY($5::text[]))
        """
    }

    private static let selectJobs = """
        SELECT j.id, j.target, j.reason, j.error AS message, j.idempotency_key AS key, j.parameters, j.outcome,
            true AS is_target, j.kind = '\(ChangeKind.customerDelete.rawValue)' AS is_deletion, false AS is_of_many
        FROM entitled.job j, entitled.deletion d
        WHERE d.id = $1 AND \(isAbout("j")) AND j.idempotency_key IS NOT NULL
            AND \(DeletionTable.isMeant(by: "j", at: "created_ms"))
        ORDER BY j.id FOR NO KEY UPDATE OF j
        """
    private static let selectJobsNaming = """
        SELECT j.id, j.target, j.reason, j.error AS message, j.idempotency_key AS key, j.parameters, j.outcome,
            false AS is_target, false AS is_deletion, j.kind = '\(ChangeKind.bulkGrant.rawValue)' AS is_of_many
        FROM entitled.deletion d, entitled.job j
        WHERE d.id = $1 AND NOT \(isAbout("j")) AND j.idempotency_key IS NOT NULL
            AND (j.id = ANY($6::int8[]) OR j.id > $7)
            AND \(DeletionTable.isMeant(by: "j", at: "created_ms"))
        ORDER BY j.id FOR NO KEY UPDATE OF j
        """
    private static let updateJobs = """
        UPDATE entitled.job j SET target = t.target, reason = t.reason, error = t.error,
            request = CASE WHEN t.has_key THEN j.request ELSE 'change ' || j.id END,
            idempotency_key = CASE WHEN t.has_key THEN j.idempotency_key ELSE 'change ' || j.id END,
            request_hash = sha256($8::bytea || int8send(j.id)),
            parameters = coalesce(t.parameters, j.parameters), outcome = t.outcome
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::text[], $7::text[])
            AS t(id, target, reason, error, has_key, parameters, outcome)
        WHERE j.id = t.id
        """

    /// The hash of a change that named several customers tells another one to those who guess, and once it is over no row says who that
    /// was. So each deletion takes the hashes of all such changes: their keys are no repetitions any more, and nothing is done twice.
    private static let forgetHashes = """
        UPDATE entitled.job SET request_hash = sha256($1::bytea || int8send(id))
        WHERE kind IN ('alias', 'transfer', 'bulk_grant') AND state <> 'running' AND request_hash IS NOT NULL
        """

    private static let forgetHash = """
        UPDATE entitled.job SET request_hash = sha256($1::bytea || int8send(id)) WHERE id = $2
        """

    /// What makes hashes of no request, so that nothing can be told from them.
    private static var noise: PostgresValue { .bytea(SecureRandom.bytes(32)) }

    /// Takes the hash of a change that names a deleted customer beside its target, in the transaction that ends it.
    package static func forgetHash(of change: Change, on connection: PostgresConnection) throws {
        _ = try connection.query(forgetHash, [noise, .int8(change.id)])
    }

    /// A change that was asked for before the deletion may have ended after it.
    private static func isMeantByAudit(_ jobs: String) -> String {
        """
        (a.job = ANY(\(jobs)::int8[]) OR a.job IS NOT NULL AND a.at_ms <= d.at_ms
            OR a.job IS NULL AND \(DeletionTable.isMeant(by: "a", at: "at_ms")))
        """
    }

    private static let selectAudit = """
        SELECT a.id, a.target, a.reason, a.message, NULL AS key, NULL AS parameters, NULL AS outcome, true AS is_target,
            false AS is_deletion, false AS is_of_many
        FROM entitled.audit a, entitled.deletion d
        WHERE d.id = $1 AND \(isAbout("a")) AND \(isMeantByAudit("$6"))
        ORDER BY a.id
        """
    private static let selectAuditNaming = """
        SELECT a.id, a.target, a.reason, a.message, NULL AS key, NULL AS parameters, NULL AS outcome, false AS is_target,
            false AS is_deletion, false AS is_of_many
        FROM entitled.deletion d, entitled.audit a
        WHERE d.id = $1 AND NOT \(isAbout("a"))
            AND (a.id = ANY($7::int8[]) OR a.id > $8 OR a.job = ANY($6::int8[]) OR a.job = ANY($9::int8[])) AND \(isMeantByAudit("$6"))
        ORDER BY a.id
        """
    private static let updateAudit = """
        UPDATE entitled.audit a SET target = t.target, reason = t.reason, message = t.message
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) AS t(id, target, reason, message) WHERE a.id = t.id
        """

    private static let jobTexts = """
        SELECT id, concat_ws(chr(10), reason, error, idempotency_key, outcome, parameters) AS text, state = 'running' AS is_open
        FROM entitled.job WHERE id > $1 AND idempotency_key IS NOT NULL ORDER BY id LIMIT $2
        """
    private static let auditTexts = """
        SELECT id, concat_ws(chr(10), reason, message) AS text, false AS is_open
        FROM entitled.audit WHERE id > $1 AND \(saysMore) ORDER BY id LIMIT $2
        """
    /// Files that left the console have an entry each, which names no customer in its texts: they take no place of others.
    private static let saysMore = "kind NOT IN ('export', 'customer_export')"
    /// Behind which the rows are that are searched.
    private static let starts = """
        SELECT greatest((SELECT coalesce(max(id), 0) FROM entitled.job) - $1, 0) AS job, (
            SELECT coalesce(min(id) - 1, 0) FROM (
                SELECT id FROM entitled.audit WHERE \(saysMore) ORDER BY id DESC LIMIT $1) newest
        ) AS audit
        """

    /// Rows of a table that may name a customer although they are about something else.
    struct Candidates: Sendable {
        fileprivate var rows: [Int64] = []
        /// Rows behind this one were not looked at.
        fileprivate var end: Int64 = 0
    }

    struct Found: Sendable {
        fileprivate var jobs = Candidates()
        fileprivate var audit = Candidates()
    }

    /// Looks for the ids in texts about other things, before lanes and rows are held for the redaction: however many ids a
    /// customer has, and however long the texts are, no other transaction waits for it.
    static func search(
        _ names: Pseudonyms, _ purchases: Pseudonyms, on connection: PostgresConnection
    ) throws -> Found {
        guard try connection.query(exists).one().bool("is_there") else { return Found() }
        let words = telling(names, purchases)
        let starts = try connection.query(starts, [.int8(searched)]).one()
        return Found(
            jobs: try search(words, jobTexts, after: try starts.int("job"), on: connection),
            audit: try search(words, auditTexts, after: try starts.int("audit"), on: connection))
    }

    private static func search(
        _ words: Pseudonyms, _ statement: String, after start: Int64, on connection: PostgresConnection
    ) throws -> Candidates {
        var found = Candidates()
        found.end = start
        while true {
            let rows = try connection.query(statement, [.int8(found.end), .int8(Int64(page))]).map { row in
                (id: try row.int("id"), text: try row.text("text"), isOpen: try row.bool("is_open"))
            }
            // What is being done at this moment may note more when it ends.
            found.rows += rows.filter { $0.isOpen || !words.ids(in: $0.text).isEmpty }.map(\.id)
            found.end = rows.last?.id ?? found.end
            guard rows.count == page else { return found }
        }
    }

    private static func telling(_ names: Pseudonyms, _ purchases: Pseudonyms) -> Pseudonyms {
        Pseudonyms(both(names, purchases).names.filter { isTelling($0.key) })
    }

    private static func both(_ names: Pseudonyms, _ purchases: Pseudonyms) -> Pseudonyms {
        Pseudonyms(names.names.merging(purchases.names) { name, _ in name })
    }

    /// Questions about orders that are of these purchases, which the outcome alone says; also those that are not answered yet, which
    /// are waited for where they are locked.
    private static let selectOrders = """
        SELECT j.target, j.state = 'running' AS is_open FROM entitled.job j
        WHERE j.kind = '\(ChangeKind.orderLookup.rawValue)' AND j.idempotency_key IS NOT NULL
            AND (j.state = 'running' OR EXISTS (
                SELECT FROM jsonb_array_elements(
                    CASE WHEN j.kind = '\(ChangeKind.orderLookup.rawValue)' AND j.outcome LIKE '%"purchases"%'
                        THEN j.outcome::jsonb -> 'purchases' END) p
                WHERE p ->> 'original_transaction_id' = ANY($1::text[])))
        ORDER BY j.id
        """

    private static func orders(
        of purchases: [String], isLocking: Bool, on connection: PostgresConnection
    ) throws -> [String] {
        guard !purchases.isEmpty else { return [] }
        let statement = selectOrders + (isLocking ? " FOR NO KEY UPDATE OF j" : "")
        return try connection.query(statement, [.texts(purchases)]).filter { try !$0.bool("is_open") }.map {
            try $0.text("target")
        }
    }

    /// Pseudonyms of the original transaction ids of what was the customer's, and of the numbers of the orders by which it was
    /// found, for the changes and the audit alone.
    static func purchases(of deletion: Int64, on connection: PostgresConnection) throws -> Pseudonyms {
        let owned = Array(try DeletionTable.owned(of: deletion, on: connection))
        guard try connection.query(exists).one().bool("is_there") else { return Pseudonyms.random(for: owned) }
        return Pseudonyms.random(for: owned + (try orders(of: owned, isLocking: false, on: connection)))
    }

    /// Whether an id is looked for in texts about others: a short one, or a number such as a year, is a word of any sentence.
    private static func isTelling(_ id: String) -> Bool {
        id.count >= (id.utf8.allSatisfy { (0x30...0x39).contains($0) } ? 8 : 4)
    }

    /// In the transaction of the log. A change that is being done at this moment is waited for, so that what it notes is seen.
    ///
    /// - Parameters:
    ///   - purchases: of `purchases(of:)`.
    ///   - found: what `search` found for the same names before.
    /// - Returns: how many rows were redacted, by table.
    static func run(
        _ deletion: DeletionTable.Entry, _ names: Pseudonyms, _ purchases: Pseudonyms, _ found: Found,
        on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        guard try connection.query(exists).one().bool("is_there") else { return [:] }
        _ = try connection.query(forgetHashes, [noise])
        // What was answered since they were looked for.
        let late = try orders(of: purchases.names.keys.sorted(), isLocking: true, on: connection).filter {
            purchases[$0] == nil
        }
        let purchases = late.isEmpty ? purchases : both(purchases, Pseudonyms.random(for: late))
        let ids = names.names.keys.sorted()
        let whose: [PostgresValue] = [
            .int8(deletion.id), .texts(ChangeKind.namesOfCustomers), .texts(ids),
            .texts(ChangeKind.ofPurchases.map(\.rawValue)), .texts(purchases.names.keys.sorted()),
        ]
        let jobs = try redactJobs(
            try connection.query(selectJobs, whose).map { $0 }
                + connection.query(selectJobsNaming, whose + columns(of: found.jobs)).map { $0 }, names,
            purchases, on: connection)
        let known = PostgresValue.int8s(jobs)
        let audit = try redactAudit(
            try connection.query(selectAudit, whose + [known]).map { $0 }
                + connection.query(
                    selectAuditNaming, whose + [known] + columns(of: found.audit) + [.int8s(found.jobs.rows)]
                ).map { $0 }, names, purchases, on: connection)
        return ["job": Int64(jobs.count), "audit": audit].filter { $0.value > 0 }
    }

    private static func columns(of found: Candidates) -> [PostgresValue] { [.int8s(found.rows), .int8(found.end)] }

    private static let selectJob = """
        SELECT id, target, reason, error AS message, NULL AS key, parameters, outcome, true AS is_target,
            false AS is_deletion, false AS is_of_many
        FROM entitled.job WHERE id = $1
        """
    private static let selectAuditOfJob = """
        SELECT id, target, reason, message, NULL AS key, NULL AS parameters, NULL AS outcome, true AS is_target,
            false AS is_deletion, false AS is_of_many
        FROM entitled.audit WHERE job = $1 AND target = $2
        """

    /// Redacts a change that was committed after the erasure of its customer came to the changes, in the transaction that ends it.
    package static func forget(_ change: Change, on connection: PostgresConnection) throws {
        let (names, none) = (Pseudonyms.random(for: [change.target]), Pseudonyms([:]))
        let audit = try connection.query(selectAuditOfJob, [.int8(change.id), .text(change.target)]).map { $0 }
        _ = try redactAudit(audit, names, none, on: connection)
        let job = try connection.query(selectJob, [.int8(change.id)]).map { $0 }
        _ = try redactJobs(job, names, none, on: connection)
    }

    /// Returns the numbers of the rows that named the customer.
    private static func redactJobs(
        _ rows: [PostgresRow], _ names: Pseudonyms, _ purchases: Pseudonyms, on connection: PostgresConnection
    ) throws -> [Int64] {
        let found = try redacted(rows, names, purchases)
        guard !found.isEmpty else { return [] }
        _ = try connection.query(
            updateJobs,
            columns(found) + [
                .bools(found.map(\.keepsKey)), .texts(found.map(\.parameters)), .texts(found.map(\.outcome)), noise,
            ])
        return found.map(\.id)
    }

    /// Returns how many rows named the customer.
    private static func redactAudit(
        _ rows: [PostgresRow], _ names: Pseudonyms, _ purchases: Pseudonyms, on connection: PostgresConnection
    ) throws -> Int64 {
        let found = try redacted(rows, names, purchases)
        if !found.isEmpty { _ = try connection.query(updateAudit, columns(found)) }
        return Int64(found.count)
    }

    /// A row as it is to be.
    private struct Redacted {
        let id: Int64
        let target: String
        let reason: String?
        let message: String?
        /// A key that says nothing of the customer goes on telling repetitions, so that nothing is done twice.
        let keepsKey: Bool
        /// Of a change; nil: they stay.
        let parameters: String?
        /// Of a change: JSON.
        let outcome: String?
    }

    private static func redacted(
        _ rows: [PostgresRow], _ names: Pseudonyms, _ purchases: Pseudonyms
    ) throws -> [Redacted] {
        let (all, words) = (both(names, purchases), telling(names, purchases))
        return try rows.compactMap { row in
            let (target, isTarget) = (try row.text("target"), try row.bool("is_target"))
            let texts = try ["reason", "message", "key"].map { try row.optionalText($0) }
            let replaced = texts.map { text in
                text.map { isTarget ? all.replaced(inText: $0) : words.replaced(inText: $0, wholeWords: true) }
            }
            let outcome = try row.optionalText("outcome")
            let told = outcome.flatMap { isTarget ? withoutIDs($0) : ChangeRedaction.replaced($0, purchases) }
            let parameters = try row.optionalText("parameters")
            let isOfMany = try row.bool("is_of_many")
            let asked =
                isTarget
                ? parameters.map { withoutPurchases($0, purchases) }
                : isOfMany ? among(parameters, names) : named(parameters, purchases)
            guard isTarget || replaced != texts || told != outcome || asked != nil else { return nil }
            return Redacted(
                id: try row.int("id"), target: isTarget ? all[target] ?? target : target, reason: replaced[0],
                message: replaced[1],
                // The customer may come back under the id: the deletion that is asked for once more is no other one. Without its
                // key a list of rows that goes on ends, since it would end as if it had found all of them; a grant to many leaves the
                // customer out and says so.
                keepsKey: try replaced[2] == texts[2]
                    && (isTarget ? row.bool("is_deletion") : asked == nil || isOfMany),
                parameters: asked, outcome: told)
        }
    }

    private static func columns(_ rows: [Redacted]) -> [PostgresValue] {
        [
            .int8s(rows.map(\.id)), .texts(rows.map(\.target)), .texts(rows.map(\.reason)),
            .texts(rows.map(\.message)),
        ]
    }
}
