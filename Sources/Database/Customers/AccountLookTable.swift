import Base
import Postgres
import Subscriptions

/// Whether Apple was asked for everything of the Apple accounts of posted purchases, in the database.
package enum AccountLookTable {
    /// A posted purchase, and by what Apple is asked for everything of its account.
    package struct Subject: Sendable, Equatable {
        package let key: PurchaseKey
        package let transactionID: String
        /// `appTransactionId`; nil: not known.
        package let account: String?

        package init(key: PurchaseKey, transactionID: String, account: String?) {
            self.key = key
            self.transactionID = transactionID
            self.account = account
        }
    }

    /// How far Apple was asked.
    package struct Progress: Sendable, Equatable {
        /// Apple's name of the page up to which the history is here; nil: it is read from its beginning.
        package var revision: String?
        /// Transactions that are asked for one by one where the history lacks them.
        package var others: Set<String>

        package init(revision: String? = nil, others: Set<String> = []) {
            self.revision = revision
            self.others = others
        }
    }

    /// The lines in which purchases wait. What stands still in one does not hold up the others.
    package enum Turn: Int16, Sendable, CaseIterable {
        case restore
        /// A restore that Apple was asked about in vain.
        case again
        /// Any other post of an account that was never looked through.
        case first
    }

    /// One that waits for Apple's answer.
    package struct Due: Sendable {
        package let subject: Subject
        package let progress: Progress
        package let turn: Turn
        /// How often Apple was asked in vain.
        package let attempts: Int
    }

    /// Whether the schema has the table; those before 29 lack it, and are worked with all the same.
    package static func exists(on connection: PostgresConnection) throws -> Bool {
        try connection.query("SELECT to_regclass('entitled.account_look') IS NOT NULL AS is_there").one().bool(
            "is_there")
    }

    // MARK: - What was seen

    private static let select = """
        SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8 - greatest(
            (SELECT looked_ms FROM entitled.account_look
                WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4),
            (SELECT max(looked_ms) FROM entitled.account_look
                WHERE account = $5 AND app = $3 AND environment = $4 AND looked_ms IS NOT NULL)) AS age_ms
        """

    /// How long ago everything of the account was here last, in ms by the clock of the database; nil: it never was. A schema
    /// before 29 cannot say: the answer is 0 then, so that Apple is not asked each time.
    package static func age(of subject: Subject, on connection: PostgresConnection) throws -> Int64? {
        guard try exists(on: connection) else { return 0 }
        return try connection.query(select, place(subject.key) + [.text(subject.account)]).one().optionalInt("age_ms")
    }

    private static let selectSince = """
        SELECT since_ms FROM entitled.account_look
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
        """

    /// The first of the posts of a purchase that wait for Apple's answer, in ms; nil: none does. The lane is held.
    package static func since(_ key: PurchaseKey, on connection: PostgresConnection) throws -> Int64? {
        guard try exists(on: connection) else { return nil }
        return try connection.query(selectSince, place(key)).first?.optionalInt("since_ms")
    }

    // MARK: - What came of it

    /// Changes a row, or makes it. A cluster takes no conflict that is settled by looking through an array, and is told both apart.
    private struct Upsert {
        /// With the columns of `values` as the first parameters.
        let insert: String
        /// What becomes of a row `l` that is there.
        let assignments: String
        /// Of a row that is changed.
        var condition = "true"

        func run(_ values: [PostgresValue], on connection: PostgresConnection) throws {
            let key = "(lane, original_transaction_id, app, environment)"
            guard connection.isCluster else {
                _ = try connection.query(
                    "\(insert) ON CONFLICT \(key) DO UPDATE SET \(assignments) WHERE \(condition)", values)
                return
            }
            let made = try connection.query("\(insert) ON CONFLICT \(key) DO NOTHING RETURNING 1", values)
            guard made.isEmpty else { return }
            _ = try connection.query(
                """
                UPDATE entitled.account_look AS l SET \(assignments)
                WHERE l.lane = $1 AND l.original_transaction_id = $2 AND l.app = $3 AND l.environment = $4 AND (\(condition))
                """, values)
        }
    }

    private static let dueing = Upsert(
        insert: """
            INSERT INTO entitled.account_look AS l
                (lane, original_transaction_id, app, environment, transaction_id, account, since_ms, next_ms, turn,
                    revision, others)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10)
            """,
        assignments: """
            transaction_id = $5, account = coalesce($6, l.account),
            since_ms = coalesce(l.since_ms, $7), next_ms = coalesce(l.next_ms, $7),
            turn = CASE WHEN l.next_ms IS NULL THEN $8 ELSE least(l.turn, $8) END,
            revision = $9, others = ARRAY(SELECT DISTINCT o FROM unnest(l.others || $10::text[]) AS o ORDER BY o)
            """)

    /// Apple did not say everything in time: it is asked until it does. The history goes on where this post left it: what was
    /// read for an earlier post was not claimed by this one.
    ///
    /// - Parameter now: when the purchase was posted, in ms.
    package static func setDue(
        _ subject: Subject, _ progress: Progress, _ turn: Turn, now: Int64, on connection: PostgresConnection
    ) throws {
        try dueing.run(
            values(subject) + [
                .int8(now), .int2(turn.rawValue), .text(progress.revision), .texts(progress.others.sorted()),
            ], on: connection)
    }

    private static let ending = Upsert(
        insert: """
            INSERT INTO entitled.account_look AS l
                (lane, original_transaction_id, app, environment, transaction_id, account, looked_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
        assignments: """
            transaction_id = $5, account = coalesce($6, l.account), looked_ms = $7, attempts = 0, revision = NULL,
            others = ARRAY(SELECT o FROM unnest(l.others) AS o WHERE o <> ALL($8::text[])),
            since_ms = CASE WHEN l.others <@ $8::text[] THEN NULL ELSE l.since_ms END,
            next_ms = CASE WHEN l.others <@ $8::text[] THEN NULL ELSE l.next_ms END
            """,
        condition: "$9::text IS NULL OR l.revision = $9")

    /// Everything that Apple knows of the account is here. It stays due for other transactions that were named meanwhile, and
    /// where the last part was read while a post came for which the history is read from another page.
    ///
    /// - Parameter asked: where the last part began.
    package static func setDone(
        _ subject: Subject, from asked: Progress, now: Int64, on connection: PostgresConnection
    ) throws {
        try ending.run(
            values(subject) + [.int8(now), .texts(asked.others.sorted()), .text(asked.revision)], on: connection)
    }

    private static let setProgress = """
        UPDATE entitled.account_look SET transaction_id = $5, revision = $6, next_ms = $7,
            attempts = CASE WHEN revision IS DISTINCT FROM $6 THEN 0 ELSE attempts END,
            others = ARRAY(SELECT o FROM unnest(others) AS o WHERE o <> ALL($8::text[]) OR o = ANY($9::text[]))
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND next_ms IS NOT NULL
            AND revision IS NOT DISTINCT FROM $10
        """

    /// A part of the answer is here, and the rest is asked for next. Nothing is written where a post came meanwhile, for which
    /// the history is read from another page.
    ///
    /// - Parameter asked: where this part began.
    package static func setProgress(
        _ subject: Subject, _ progress: Progress, from asked: Progress, now: Int64, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            setProgress,
            place(subject.key) + [
                .text(subject.transactionID), .text(progress.revision), .int8(now), .texts(asked.others.sorted()),
                .texts(progress.others.sorted()), .text(asked.revision),
            ])
    }

    // MARK: - What is due

    private static let selectDue = """
        SELECT original_transaction_id, transaction_id, account, turn, attempts, revision, others
        FROM entitled.account_look WHERE app = $1 AND environment = $2 AND turn = $3 AND next_ms <= $4
        ORDER BY next_ms LIMIT $5
        """

    /// Those of one line whose time has come, the first ones first.
    package static func due(
        at place: AppScope, _ turn: Turn, now: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [Due] {
        try connection.query(
            selectDue,
            [
                .text(place.app), .int2(place.environment.code), .int2(turn.rawValue), .int8(now), .int8(Int64(limit)),
            ]
        ).map { row in
            let key = PurchaseKey(
                app: place.app, environment: place.environment,
                originalTransactionID: try row.text("original_transaction_id"))
            return Due(
                subject: Subject(
                    key: key, transactionID: try row.text("transaction_id"), account: try row.optionalText("account")),
                progress: Progress(
                    revision: try row.optionalText("revision"), others: Set(try row.texts("others").compactMap { $0 })),
                turn: turn,
                attempts: Int(clamping: try row.int("attempts")))
        }
    }

    private static let count = """
        SELECT count(*) AS count FROM (
            SELECT 1 FROM entitled.account_look WHERE app = $1 AND environment = $2 AND next_ms IS NOT NULL LIMIT $3
        ) due
        """

    /// How many wait for Apple's answer, up to a limit; 0 with a schema before 29.
    package static func countDue(
        at place: AppScope, atMost limit: Int, on connection: PostgresConnection
    ) throws -> Int64 {
        guard try exists(on: connection) else { return 0 }
        return try connection.query(
            count, [.text(place.app), .int2(place.environment.code), .int8(Int64(limit))]
        ).one().int("count")
    }

    private static let isDue = """
        SELECT EXISTS (
            SELECT 1 FROM entitled.account_look WHERE app = $1 AND environment = $2
                AND next_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::int8
        ) AS is_due
        """

    /// Whether the time of one has come; false with a schema before 29.
    package static func isDue(at place: AppScope, on connection: PostgresConnection) throws -> Bool {
        guard try exists(on: connection) else { return false }
        return try connection.query(isDue, [.text(place.app), .int2(place.environment.code)]).one().bool("is_due")
    }

    private static let delay = """
        UPDATE entitled.account_look SET next_ms = $5, attempts = attempts + 1,
            turn = CASE WHEN turn = 0 THEN 1 ELSE turn END
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND next_ms IS NOT NULL
        """

    /// It was asked about in vain, and is asked about again at this instant.
    package static func delay(_ key: PurchaseKey, to next: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(delay, place(key) + [.int8(next)])
    }

    private static func place(_ key: PurchaseKey) -> [PostgresValue] {
        [
            .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
        ]
    }

    private static func values(_ subject: Subject) -> [PostgresValue] {
        place(subject.key) + [.text(subject.transactionID), .text(subject.account)]
    }
}
