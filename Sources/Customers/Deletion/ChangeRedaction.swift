import Base
import Database
import Postgres

/// Puts pseudonyms for the ids of a deleted customer in the changes that operators asked for, and in the audit; the hash of such a
/// request and the operator's key go, because an id can be guessed from the one and read in the other. Rows since the deletion
/// are about another customer who has such an id now.
enum ChangeRedaction {
    /// The schema may be older.
    private static let exists = "SELECT to_regclass('entitled.audit') IS NOT NULL AS is_there"

    private static let selectJobs = """
        SELECT id, target, reason, error AS message FROM entitled.job
        WHERE kind = ANY($1::text[]) AND target = ANY($2::text[]) AND created_ms <= $3 ORDER BY id FOR NO KEY UPDATE
        """
    private static let updateJobs = """
        UPDATE entitled.job j SET target = t.target, reason = t.reason, error = t.error,
            request = 'change ' || j.id, idempotency_key = 'change ' || j.id,
            request_hash = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[]) AS t(id, target, reason, error) WHERE j.id = t.id
        """

    /// A change that was asked for before the deletion may have ended after it.
    private static let selectAudit = """
        SELECT id, target, reason, message FROM entitled.audit
        WHERE kind = ANY($1::text[]) AND target = ANY($2::text[]) AND (at_ms <= $3 OR job = ANY($4::int8[])) ORDER BY id
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
        let (kinds, ids) = (ChangeKind.ofCustomers.map(\.rawValue), names.names.keys.sorted())
        let until = PostgresValue.int8(deletion.at + DeletionTable.commitTime)
        let jobs = try connection.query(selectJobs, [.texts(kinds), .texts(ids), until]).map { $0 }
        let numbers = try jobs.map { try $0.int("id") }
        try redact(jobs, updateJobs, names, on: connection)
        let audit = try connection.query(
            selectAudit, [.texts(kinds), .texts(ids), until, .int8s(numbers)]
        ).map { $0 }
        try redact(audit, updateAudit, names, on: connection)
        return ["job": Int64(jobs.count), "audit": Int64(audit.count)].filter { $0.value > 0 }
    }

    private static func redact(
        _ rows: [PostgresRow], _ update: String, _ names: Pseudonyms, on connection: PostgresConnection
    ) throws {
        guard !rows.isEmpty else { return }
        var (numbers, targets): ([Int64], [String]) = ([], [])
        var (reasons, messages): ([String?], [String?]) = ([], [])
        for row in rows {
            let target = try row.text("target")
            numbers.append(try row.int("id"))
            targets.append(names[target] ?? target)
            reasons.append(try row.optionalText("reason").map(names.replaced(inText:)))
            messages.append(try row.optionalText("message").map(names.replaced(inText:)))
        }
        _ = try connection.query(update, [.int8s(numbers), .texts(targets), .texts(reasons), .texts(messages)])
    }
}
