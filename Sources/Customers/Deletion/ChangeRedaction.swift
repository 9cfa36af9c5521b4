import Base
import Database
import Postgres

/// Puts pseudonyms for the ids of a deleted customer in the changes that operators asked for, and in the audit; the hash of such a
/// request goes, because an id can be guessed from it, and so does the operator's key where it names the customer. Rows about
/// another customer who has such an id now stay.
package enum ChangeRedaction {
    /// The schema may be older.
    private static let exists = "SELECT to_regclass('entitled.audit') IS NOT NULL AS is_there"

    /// The newest rows whose texts are searched for ids although they are about something else: a search has no index, and
    /// holds the customer's lanes.
    private static let searched: Int64 = 50_000

    private static let selectJobs = """
        SELECT j.id, j.target, j.reason, j.error AS message, j.idempotency_key AS key, true AS is_target
        FROM entitled.job j, entitled.deletion d
        WHERE d.id = $1 AND j.kind = ANY($2::text[]) AND j.target = ANY($3::text[]) AND j.idempotency_key IS NOT NULL
            AND \(DeletionTable.isMeant(by: "j", at: "created_ms"))
        ORDER BY j.id FOR NO KEY UPDATE OF j
        """
    private static let selectJobsNaming = """
        SELECT j.id, j.target, j.reason, j.error AS message, j.idempotency_key AS key, false AS is_target
        FROM entitled.deletion d, entitled.job j
        WHERE d.id = $1 AND NOT (j.kind = ANY($2::text[]) AND j.target = ANY($3::text[])) AND j.idempotency_key IS NOT NULL
            AND j.id > (SELECT coalesce(max(id), 0) FROM entitled.job) - $5
            AND \(names("$4", in: "j.reason, j.error, j.idempotency_key"))
            AND \(DeletionTable.isMeant(by: "j", at: "created_ms"))
        ORDER BY j.id FOR NO KEY UPDATE OF j
        """
    private static let updateJobs = """
        UPDATE entitled.job j SET target = t.target, reason = t.reason, error = t.error,
            request = CASE WHEN t.has_key THEN j.request ELSE 'change ' || j.id END,
            idempotency_key = CASE WHEN t.has_key THEN j.idempotency_key ELSE 'change ' || j.id END,
            request_hash = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::bool[]) AS t(id, target, reason, error, has_key)
        WHERE j.id = t.id
        """

    /// A change that was asked for before the deletion may have ended after it.
    private static func isMeantByAudit(_ jobs: String) -> String {
        """
        (a.job = ANY(\(jobs)::int8[]) OR a.job IS NOT NULL AND a.at_ms <= d.at_ms
            OR a.job IS NULL AND \(DeletionTable.isMeant(by: "a", at: "at_ms")))
        """
    }

    private static let selectAudit = """
        SELECT a.id, a.target, a.reason, a.message, NULL AS key, true AS is_target
        FROM entitled.audit a, entitled.deletion d
        WHERE d.id = $1 AND a.kind = ANY($2::text[]) AND a.target = ANY($3::text[]) AND \(isMeantByAudit("$4"))
        ORDER BY a.id
        """
    private static let selectAuditNaming = """
        SELECT a.id, a.target, a.reason, a.message, NULL AS key, false AS is_target
        FROM entitled.deletion d, entitled.audit a
        WHERE d.id = $1 AND NOT (a.kind = ANY($2::text[]) AND a.target = ANY($3::text[]))
            AND a.id > (SELECT coalesce(max(id), 0) FROM entitled.audit) - $6
            AND \(names("$5", in: "a.reason, a.message")) AND \(isMeantByAudit("$4"))
        ORDER BY a.id
        """
    private static let updateAudit = """
        UPDATE entitled.audit a SET target = t.target, reason = t.reason, message = t.message
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) AS t(id, target, reason, message) WHERE a.id = t.id
        """

    private static func names(_ ids: String, in texts: String) -> String {
        """
        EXISTS (
            SELECT FROM (SELECT concat_ws(chr(10), \(texts)) AS text OFFSET 0) whole, unnest(\(ids)::text[]) AS n(id)
            WHERE strpos(whole.text, n.id) > 0)
        """
    }

    /// Whether an id is looked for in texts about others: a short one, or a number such as a year, is a word of any sentence.
    private static func isTelling(_ id: String) -> Bool {
        id.count >= (id.utf8.allSatisfy { (0x30...0x39).contains($0) } ? 8 : 4)
    }

    /// In the transaction of the log. A change that is being done at this moment is waited for, so that what it notes is seen.
    ///
    /// - Returns: how many rows were redacted, by table.
    static func run(
        _ deletion: DeletionTable.Entry, _ names: Pseudonyms, on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        guard try connection.query(exists).one().bool("is_there") else { return [:] }
        let ids = names.names.keys.sorted()
        let telling = PostgresValue.texts(ids.filter(isTelling))
        let whose: [PostgresValue] = [
            .int8(deletion.id), .texts(ChangeKind.ofCustomers.map(\.rawValue)), .texts(ids),
        ]
        let jobs = try redactJobs(
            try connection.query(selectJobs, whose).map { $0 }
                + connection.query(selectJobsNaming, whose + [telling, .int8(searched)]).map { $0 }, names,
            on: connection)
        let known = PostgresValue.int8s(jobs)
        let audit = try redactAudit(
            try connection.query(selectAudit, whose + [known]).map { $0 }
                + connection.query(selectAuditNaming, whose + [known, telling, .int8(searched)]).map { $0 }, names,
            on: connection)
        return ["job": Int64(jobs.count), "audit": audit].filter { $0.value > 0 }
    }

    private static let selectJob = """
        SELECT id, target, reason, error AS message, NULL AS key, true AS is_target FROM entitled.job WHERE id = $1
        """
    private static let selectAuditOfJob = """
        SELECT id, target, reason, message, NULL AS key, true AS is_target FROM entitled.audit WHERE job = $1 AND target = $2
        """

    /// Redacts a change that was committed after the erasure of its customer came to the changes, in the transaction that ends it.
    package static func forget(_ change: Change, on connection: PostgresConnection) throws {
        let names = Pseudonyms.random(for: [change.target])
        let audit = try connection.query(selectAuditOfJob, [.int8(change.id), .text(change.target)]).map { $0 }
        _ = try redactAudit(audit, names, on: connection)
        let job = try connection.query(selectJob, [.int8(change.id)]).map { $0 }
        _ = try redactJobs(job, names, on: connection)
    }

    /// Returns the numbers of the rows that named the customer.
    private static func redactJobs(
        _ rows: [PostgresRow], _ names: Pseudonyms, on connection: PostgresConnection
    ) throws -> [Int64] {
        let found = try redacted(rows, names)
        guard !found.isEmpty else { return [] }
        _ = try connection.query(updateJobs, columns(found) + [.bools(found.map(\.keepsKey))])
        return found.map(\.id)
    }

    /// Returns how many rows named the customer.
    private static func redactAudit(
        _ rows: [PostgresRow], _ names: Pseudonyms, on connection: PostgresConnection
    ) throws -> Int64 {
        let found = try redacted(rows, names)
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
    }

    private static func redacted(_ rows: [PostgresRow], _ names: Pseudonyms) throws -> [Redacted] {
        let words = Pseudonyms(names.names.filter { isTelling($0.key) })
        return try rows.compactMap { row in
            let (target, isTarget) = (try row.text("target"), try row.bool("is_target"))
            let texts = try ["reason", "message", "key"].map { try row.optionalText($0) }
            let replaced = texts.map { text in
                text.map { isTarget ? names.replaced(inText: $0) : words.replaced(inText: $0, wholeWords: true) }
            }
            guard isTarget || replaced != texts else { return nil }
            return Redacted(
                id: try row.int("id"), target: isTarget ? names[target] ?? target : target, reason: replaced[0],
                message: replaced[1], keepsKey: !isTarget && replaced[2] == texts[2])
        }
    }

    private static func columns(_ rows: [Redacted]) -> [PostgresValue] {
        [
            .int8s(rows.map(\.id)), .texts(rows.map(\.target)), .texts(rows.map(\.reason)),
            .texts(rows.map(\.message)),
        ]
    }
}
