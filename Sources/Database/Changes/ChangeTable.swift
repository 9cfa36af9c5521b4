import Base
import Crypto
import Postgres

/// Changes that operators ask for, from the request to what came of it.
///
/// The console writes the request; a worker does it, and writes the outcome and the entry in the audit in the transaction of
/// the change itself.
package enum ChangeTable {
    /// A change as it is asked for.
    package struct Request: Sendable {
        package let kind: ChangeKind
        package let target: String
        /// As its kind reads them.
        package let parameters: JSON
        package let reason: String
        package let origin: ChangeOrigin
        /// The operator's own name for it: asked for again until a day after its end, it is the same change.
        package let idempotencyKey: String
        /// SHA-256 of the request as it came, 32 bytes: a repetition is told by it from another request under the same key.
        package let fingerprint: [UInt8]

        package init(
            _ kind: ChangeKind, _ target: String, parameters: JSON, reason: String, by origin: ChangeOrigin,
            idempotencyKey: String, fingerprint: [UInt8]
        ) {
            self.kind = kind
            self.target = target
            self.parameters = parameters
            self.reason = reason
            self.origin = origin
            self.idempotencyKey = idempotencyKey
            self.fingerprint = fingerprint
        }

        /// What `fingerprint` was in programs before schema 36: rows of theirs count for a day after an upgrade.
        fileprivate var formerFingerprint: [UInt8] {
            let text = JSON.object([
                "kind": .string(kind.rawValue), "target": .string(target), "parameters": parameters,
                "reason": .string(reason),
            ]).text
            return Digest.sha256(Array(text.utf8))
        }

        /// The words of the job.
        fileprivate var words: String { "change \(origin.user) \(idempotencyKey)" }
    }

    package enum Answer: Sendable, Equatable {
        /// The number of the new job.
        case asked(Int64)
        /// The same was asked for under this key before.
        case repeated(Int64)
        /// Something else was.
        case mismatch
    }

    // MARK: - The console

    /// Requests of one operator are one after the other, so that the second one under a key sees the first.
    private static let serialise = """
        WITH settings AS MATERIALIZED (SELECT \(Durability.setting))
        SELECT u.name FROM entitled.console_user u, settings WHERE u.name = $1 FOR NO KEY UPDATE OF u
        """

    /// What an operator asked for who had the name before is no repetition.
    private static let selectRepeated = """
        SELECT id, request_hash FROM entitled.job
        WHERE made_by = $1 AND idempotency_key = $2 AND (
            state = 'running'
            OR coalesce(finished_ms, created_ms) > (extract(epoch FROM clock_timestamp()) * 1000)::int8 - 86400000)
            AND created_ms >= coalesce((SELECT u.created_ms FROM entitled.console_user u WHERE u.name = $1), 0)
        ORDER BY id DESC LIMIT 1
        """

    private static let insert = """
        INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
            idempotency_key, request_hash, credential, address, user_agent)
        SELECT $1, $2, $3, $4, now, now, $5, $6, $7, $8, $9, $10, $11
        FROM (SELECT (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8 AS now) t
        RETURNING id
        """

    /// What was asked for under this key before; nil: nothing, or it ended more than a day ago.
    package static func answer(
        toRepetitionBy user: String, under idempotencyKey: String, fingerprint: [UInt8],
        on connection: PostgresConnection
    ) throws -> Answer? {
        try answer(toRepetitionBy: user, under: idempotencyKey, fingerprints: [fingerprint], on: connection)
    }

    private static func answer(
        toRepetitionBy user: String, under idempotencyKey: String, fingerprints: [[UInt8]],
        on connection: PostgresConnection
    ) throws -> Answer? {
        try connection.query(selectRepeated, [.text(user), .text(idempotencyKey)]).first.map { known in
            fingerprints.contains(try known.bytes("request_hash")) ? .repeated(try known.int("id")) : .mismatch
        }
    }

    /// Writes a request down, once for each key until a day after its end.
    ///
    /// - Throws: `TooMany`.
    package static func ask(_ request: Request, on connection: PostgresConnection) throws -> Answer {
        try connection.transaction {
            let origin = request.origin
            _ = try connection.query(serialise, [.text(origin.user)])
            let known = try answer(
                toRepetitionBy: origin.user, under: request.idempotencyKey,
                fingerprints: [request.fingerprint, request.formerFingerprint], on: connection)
            if let known { return known }
            try checkRoom(for: request, on: connection)
            let row = try connection.query(
                insert,
                [
                    .text(request.kind.rawValue), .text(request.words), .text(request.parameters.text),
                    .text(origin.user), .text(request.target), .text(request.reason), .text(request.idempotencyKey),
                    .bytea(request.fingerprint), .text(origin.credential.text), .text(origin.address),
                    .text(origin.userAgent),
                ]
            ).one()
            return .asked(try row.int("id"))
        }
    }

    /// Nil: there is no such job, or it is no change.
    package static func find(_ id: Int64, on connection: PostgresConnection) throws -> Change? {
        try connection.query(
            """
            SELECT \(Change.columns) FROM entitled.job
            WHERE id = $1 AND kind = ANY($2::text[]) AND idempotency_key IS NOT NULL
            """, [.int8(id), .texts(kinds)]
        ).first.map(Change.init)
    }

    /// Those of the changes that are over.
    package static func ended(
        among jobs: Set<Int64>, on connection: PostgresConnection
    ) throws -> [Int64: Change] {
        let found = try connection.query(
            """
            SELECT \(Change.columns) FROM entitled.job
            WHERE id = ANY($1::int8[]) AND state <> 'running' AND idempotency_key IS NOT NULL
            """, [.int8s(Array(jobs))]
        ).map(Change.init)
        return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
    }

    private static let kinds = ChangeKind.allCases.map(\.rawValue)

    // MARK: - Workers

    /// One that failed waits as many seconds as it failed times, and one that met a lock waits until `lease_until`; the others
    /// go before it. Changes of one target are done in the order in which they were asked for; of those that this program does
    /// not know, it is unknown what their target is, and they keep none from being done.
    static let selectNext = next(by: "attempts, id")

    /// - Parameter order: of those whose time has come.
    static func next(by order: String) -> String {
        """
        WITH settings AS MATERIALIZED (
            SELECT \(Durability.setting), set_config('statement_timeout', '5s', true),
                set_config('idle_in_transaction_session_timeout', '5s', true), set_config('lock_timeout', '2s', true),
                set_config('\(Fence.lockTimeout)', '2s', true)
        ),
        held AS MATERIALIZED (
            SELECT \(Change.columns) FROM entitled.job j
            WHERE state = 'running' AND kind = ANY($1::text[]) AND idempotency_key IS NOT NULL
                AND updated_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::int8 - 1000 * attempts
                AND (lease_until IS NULL OR lease_until <= clock_timestamp())
                AND NOT EXISTS (
                    SELECT FROM entitled.job older
                    WHERE left(older.target, 256) = left(j.target, 256) AND older.target = j.target
                        AND older.id < j.id AND older.state = 'running' AND older.idempotency_key IS NOT NULL
                        AND ($2::text[])[array_position($1::text[], older.kind)]
                            = ($2::text[])[array_position($1::text[], j.kind)])
            ORDER BY \(order) LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        )
        SELECT held.* FROM held, settings
        """
    }

    /// The next change of one step that is to be done and that no other worker is at; it is locked until the transaction ends.
    ///
    /// - Parameter isOfApple: whether one that Apple is asked for, or one that is done here.
    package static func take(isOfApple: Bool = false, on connection: PostgresConnection) throws -> Change? {
        let kinds = ChangeKind.allCases.filter { !$0.isBulk && !$0.isInquiry && $0.isOfApple == isOfApple }
        return try connection.query(
            selectNext, [.texts(kinds.map(\.rawValue)), .texts(kinds.map(\.targetClass.rawValue))]
        ).first.map(Change.init)
    }

    private static let lock = """
        SELECT \(Change.columns) FROM entitled.job WHERE id = $1 AND state = 'running' FOR NO KEY UPDATE
        """

    /// A change that was taken before, unless it is over.
    package static func take(_ id: Int64, on connection: PostgresConnection) throws -> Change? {
        try connection.query(lock, [.int8(id)]).first.map(Change.init)
    }

    /// The cursor says since when it has met others at each try; a time in which no worker tried it does not count.
    private static let postponing = """
        UPDATE entitled.job SET lease_until = \(ServerTime.instant) + interval '2 s',
            cursor = CASE WHEN cursor = '{}' OR lease_until < t.recently THEN ARRAY[t.now::text]
                ELSE cursor END
        FROM (
            SELECT \(ServerTime.instant) - interval '30 s' AS recently,
                (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8 AS now
        ) t
        WHERE id = $1 RETURNING t.now - cursor[1]::int8 AS waited
        """

    /// Lets other changes go before one that is held and that met another transaction at the same rows; it is no failure of the
    /// change.
    ///
    /// - Returns: ms for which it has met others.
    package static func postpone(_ change: Change, on connection: PostgresConnection) throws -> Int64 {
        try connection.query(postponing, [.int8(change.id)]).one().int("waited")
    }

    /// The mark of a change that Apple may have been asked for.
    static let asked = "asked"

    private static let marking = """
        UPDATE entitled.job SET cursor = ARRAY[$2::text], lease_until = \(ServerTime.instant) + $3 * interval '1 ms'
        WHERE id = $1
        """

    /// Notes on a change that is held that Apple is asked for it next: by this worker alone, and once, since a second time would
    /// do it twice.
    ///
    /// - Parameter time: ms that the asking takes at most.
    package static func mark(_ change: Change, for time: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(marking, [.int8(change.id), .text(asked), .int8(time)])
    }

    /// Whether a worker was about to ask Apple for a change, and has not written what came of it.
    package static func isMarked(_ change: Change, on connection: PostgresConnection) throws -> Bool {
        try connection.query(
            "SELECT cursor = ARRAY[$2::text] AS is_marked FROM entitled.job WHERE id = $1",
            [.int8(change.id), .text(asked)]
        ).one().bool("is_marked")
    }

    /// ms after which nothing waits for a secret any more.
    private static let sealedLife: Int64 = 300_000

    private static let emptying = """
        UPDATE entitled.job SET outcome = (outcome::jsonb - $1::text)::text
        WHERE kind = ANY($2::text[]) AND state = 'done' AND outcome LIKE '%"' || $1 || '"%'
            AND finished_ms < (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8 - $3
        """

    /// Removes secrets that were sealed for an asking process, which has shown them or is gone.
    package static func emptySealed(on connection: PostgresConnection) throws {
        _ = try connection.query(
            emptying,
            [
                .text(Change.sealed), .texts(ChangeKind.allCases.filter(\.makesSecret).map(\.rawValue)),
                .int8(sealedLife),
            ])
    }

    private static let selectRole = """
        SELECT u.role, k.role AS key_role, k.id IS NOT NULL AND k.ended_ms IS NULL
            AND coalesce(k.until_ms > (extract(epoch FROM clock_timestamp()) * 1000)::int8, true) AS has_key
        FROM entitled.console_user u LEFT JOIN entitled.operator_key k ON k.id = $2 AND k.user_name = u.name
        WHERE u.name = $1 AND u.ended_ms IS NULL AND u.created_ms <= $3
        """

    /// The role in which a change is done: the operator's now, or that of the key, which is no higher. Nil: the operator was
    /// removed, even if another one has the name now, or the key ended. A log-out takes back nothing that was asked for.
    package static func role(of change: Change, on connection: PostgresConnection) throws -> OperatorRole? {
        var key: String?
        switch change.credential {
        case .host?: return .operator
        case .key(let id)?: key = id
        case .session?, nil: break
        }
        guard change.credential != nil,
            let row = try connection.query(selectRole, [.text(change.user), .text(key), .int8(change.asked)]).first,
            let role = OperatorRole(rawValue: try row.text("role"))
        else { return nil }
        guard key != nil else { return role }
        guard try row.bool("has_key"),
            let lower = try row.optionalText("key_role").flatMap(OperatorRole.init(rawValue:)),
            role.includes(lower)
        else { return nil }
        return lower
    }

    /// The salt of a grant to many customers goes: ids of customers could be guessed by it from those of their grants.
    ///
    /// A target that no index takes is cut off in the audit: schemas before 37 let a console write one.
    private static let end = """
        WITH ended AS (
            UPDATE entitled.job SET state = $2, outcome = $3, error = $4,
                parameters = CASE WHEN kind = ANY($6::text[]) THEN '{}' ELSE parameters END,
                cursor = CASE WHEN kind = ANY($7::text[]) THEN '{}'
                    WHEN kind = '\(ChangeKind.bulkGrant.rawValue)' THEN cursor[1:1] ELSE cursor END,
                fraction = CASE WHEN $2 = 'cancelled' THEN fraction ELSE 1 END, updated_ms = t.now,
                finished_ms = t.now
            FROM (SELECT (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8 AS now) t
            WHERE id = $1 AND state = 'running'
            RETURNING id, made_by, credential, address, user_agent, kind, target, reason, t.now
        )
        INSERT INTO entitled.audit (
            at_ms, actor, credential, address, user_agent, kind, target, reason, outcome, message, job)
        SELECT now, made_by, credential, address, user_agent, kind,
            CASE WHEN octet_length(target) > 1024 THEN left(target, 256) ELSE target END, reason, $5, $4, id
        FROM ended RETURNING id
        """

    /// Ends a change that is held, and puts it in the audit.
    ///
    /// - Parameter state: nil: as it follows from the ending.
    package static func end(
        _ change: Change, _ ending: ChangeEnding, as state: Job.State? = nil, on connection: PostgresConnection
    ) throws {
        let rows = try connection.query(
            end,
            [
                .int8(change.id), .text((state ?? ending.state).rawValue), .text(ending.document?.text),
                .text(ending.message),
                .text(ending.outcome.rawValue),
                .texts(ChangeKind.allCases.filter(\.forgetsParameters).map(\.rawValue)),
                // Where they were is said by ids of transactions.
                .texts(ChangeKind.inquiries.map(\.rawValue)),
            ])
        guard rows.count == 1 else { throw PostgresError(.decoding, "change \(change.id) was not locked") }
    }

    /// Ends a change of many rows where it is, in a transaction. Waits for the step that is being taken.
    ///
    /// - Parameter actor: who cancels it, for the audit.
    /// - Returns: the job as it was; nil: it is no such change, or it is over.
    package static func cancel(_ id: Int64, by actor: String, on connection: PostgresConnection) throws -> Job? {
        guard let change = try take(id, on: connection), change.kind.isBulk,
            let held = try JobTable.find(id, on: connection)
        else { return nil }
        let ending = ChangeEnding.failed("The job was cancelled by \(actor) after \(held.counts.matched) rows.")
        try end(
            change, change.kind == .bulkGrant ? ending.afterGrants(held.counts.queued) : ending, as: .cancelled,
            on: connection)
        return held
    }

    /// Whether the deletion of a customer has put a pseudonym in a change that means them.
    package static func isRedacted(_ change: Change, on connection: PostgresConnection) throws -> Bool {
        try connection.query(
            "SELECT idempotency_key = 'change ' || id::text AS is_redacted FROM entitled.job WHERE id = $1",
            [.int8(change.id)]
        ).one().bool("is_redacted")
    }

    private static let fail = """
        UPDATE entitled.job SET attempts = attempts + 1,
            updated_ms = (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8
        WHERE id = $1 RETURNING attempts
        """

    /// Counts a failure of a change that is held; returns how many there were.
    package static func countFailure(of change: Change, on connection: PostgresConnection) throws -> Int64 {
        try connection.query(fail, [.int8(change.id)]).one().int("attempts")
    }

    /// Failures of a job that went on are no reason to end it.
    package static func forgetFailures(of job: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query("UPDATE entitled.job SET attempts = 0 WHERE id = $1 AND attempts <> 0", [.int8(job)])
    }

    // MARK: - How many

    /// The operator has so many jobs of many rows under way that another one is not taken.
    package struct TooMany: Error, CustomStringConvertible {
        package let limit: Int64

        package var description: String { "\(limit) jobs of this operator are running already" }
    }

    /// Jobs of many rows that an operator may have under way.
    private static let mostBulk: Int64 = 16

    private static let countBulk = """
        SELECT count(*) FROM entitled.job WHERE made_by = $1 AND state = 'running' AND kind = ANY($2::text[])
        """

    /// In the transaction in which the operator's row is locked.
    private static func checkRoom(for request: Request, on connection: PostgresConnection) throws {
        if request.kind.isInquiry { return try checkInquiries(of: request.origin.user, on: connection) }
        guard request.kind.isBulk else { return }
        let running = try connection.query(
            countBulk, [.text(request.origin.user), .texts(ChangeKind.bulk.map(\.rawValue))]
        ).one().int("count")
        if running >= mostBulk { throw TooMany(limit: mostBulk) }
    }
}
