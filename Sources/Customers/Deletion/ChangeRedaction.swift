import Base
import Database
import Postgres

/// Puts pseudonyms for the ids of a deleted customer in the changes that operators asked for, and in the audit; the hash of such a
/// request and the operator's key go, because an id can be guessed from the one and read in the other. Rows about another customer
/// who has such an id now stay.
package enum ChangeRedaction {
    /// The schema may be older.
    private static let exists = "SELECT to_regclass('entitled.audit') IS NOT NULL AS is_there"

    /// Ids that are as short as this are left in texts about others: they are words of any sentence.
    private static let shortest = 4

    /// Rows whose target is the customer, and others with a text that has an id in it.
    private static func names(_ row: String, _ texts: String) -> String {
        """
        (\(row).kind = ANY($1::text[]) AND \(row).target = ANY($2::text[]) OR EXISTS (
            SELECT FROM unnest($3::text[]) AS n(id) WHERE strpos(concat_ws(chr(10), \(texts)), n.id) > 0))
        """
    }

    private static let selectJobs = """
        SELECT j.id, j.target, j.reason, j.error AS message, j.idempotency_key AS key,
            j.kind = ANY($1::text[]) AND j.target = ANY($2::text[]) AS is_target
        FROM entitled.job j, entitled.deletion d
        WHERE d.id = $4 AND j.idempotency_key IS NOT NULL AND \(names("j", "j.reason, j.error, j.idempotency_key"))
            AND \(DeletionTable.isMeant(by: "j", at: "created_ms"))
        ORDER BY j.id FOR NO KEY UPDATE OF j
        """
    private static let updateJobs = """
        UPDATE entitled.job j SET target = t.target, reason = t.reason, error = t.error,
            request = 'change ' || j.id, idempotency_key = 'change ' || j.id,
            request_hash = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) AS t(id, target, reason, error) WHERE j.id = t.id
        """

    /// A change that was asked for before the deletion may have ended after it.
    private static let selectAudit = """
        SELECT a.id, a.target, a.reason, a.message, NULL AS key,
            a.kind = ANY($1::text[]) AND a.target = ANY($2::text[]) AS is_target
        FROM entitled.audit a, entitled.deletion d
        WHERE d.id = $4 AND \(names("a", "a.reason, a.message")) AND (
            a.job = ANY($5::int8[]) OR a.job IS NOT NULL AND a.at_ms <= d.at_ms
            OR a.job IS NULL AND \(DeletionTable.isMeant(by: "a", at: "at_ms")))
        ORDER BY a.id
        """
    private static let updateAudit = """
        UPDATE entitled.audit a SET target = t.target, reason = t.reason, message = t.message
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) AS t(id, target, reason, message) WHERE a.id = t.id
        """

    /// In the transaction of the log. A change that is being done at this moment is waited for, so that what it notes is seen.
    ///
    /// - Returns: how many rows were redacted, by table.
    static func run(
        _ deletion: DeletionTable.Entry, _ names: Pseudonyms, on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        guard try connection.query(exists).one().bool("is_there") else { return [:] }
        let ids = names.names.keys.sorted()
        let parameters: [PostgresValue] = [
            .texts(ChangeKind.ofCustomers.map(\.rawValue)), .texts(ids),
            .texts(ids.filter { $0.count >= shortest }), .int8(deletion.id),
        ]
        let jobs = try redact(
            try connection.query(selectJobs, parameters).map { $0 }, updateJobs, names, on: connection)
        let audit = try redact(
            try connection.query(selectAudit, parameters + [.int8s(jobs)]).map { $0 }, updateAudit, names,
            on: connection)
        return ["job": Int64(jobs.count), "audit": Int64(audit.count)].filter { $0.value > 0 }
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
        _ = try redact(audit, updateAudit, names, on: connection)
        let job = try connection.query(selectJob, [.int8(change.id)]).map { $0 }
        _ = try redact(job, updateJobs, names, on: connection)
    }

    /// Returns the numbers of the rows that named the customer.
    private static func redact(
        _ rows: [PostgresRow], _ update: String, _ names: Pseudonyms, on connection: PostgresConnection
    ) throws -> [Int64] {
        let words = Pseudonyms(names.names.filter { $0.key.count >= shortest })
        var (numbers, targets): ([Int64], [String]) = ([], [])
        var (reasons, messages): ([String?], [String?]) = ([], [])
        for row in rows {
            let (target, isTarget) = (try row.text("target"), try row.bool("is_target"))
            let texts = try ["reason", "message", "key"].map { try row.optionalText($0) }
            let replaced = texts.map { text in
                text.map { isTarget ? names.replaced(inText: $0) : words.replaced(inText: $0, wholeWords: true) }
            }
            guard isTarget || replaced != texts else { continue }
            numbers.append(try row.int("id"))
            targets.append(isTarget ? names[target] ?? target : target)
            reasons.append(replaced[0])
            messages.append(replaced[1])
        }
        guard !numbers.isEmpty else { return [] }
        _ = try connection.query(update, [.int8s(numbers), .texts(targets), .texts(reasons), .texts(messages)])
        return numbers
    }
}
