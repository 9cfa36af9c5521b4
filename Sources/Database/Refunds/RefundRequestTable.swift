import Base
import Postgres
import Subscriptions

/// Apple's questions about refunds in the database, and the answers.
package enum RefundRequestTable {
    // MARK: - What is asked

    /// A question that is another one begins anew; everything else leaves the answer alone, whatever order it comes in.
    private static let upsert = """
        INSERT INTO entitled.refund_request AS r (lane, app, environment, original_transaction_id, transaction_id,
            product_id, reasons, repeats, asked_ms, deadline_ms, decided_ms, decision)
        SELECT lane, app, environment, otid, tid, product, string_to_array(reasons, E'\\n'), repeats, asked, deadline,
            decided, decision
        FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int4[],
                $9::int8[], $10::int8[], $11::int8[], $12::text[])
            AS t(lane, app, environment, otid, tid, product, reasons, repeats, asked, deadline, decided, decision)
        ON CONFLICT (lane, transaction_id, app, environment) DO UPDATE SET
            product_id = excluded.product_id, reasons = excluded.reasons, repeats = excluded.repeats,
            asked_ms = excluded.asked_ms, deadline_ms = excluded.deadline_ms, decided_ms = excluded.decided_ms,
            decision = excluded.decision,
            (state, answer, answered_by, answered_ms, attempts, next_ms, failure, is_warned, is_told) = (
                SELECT o.state, o.answer, o.answered_by, o.answered_ms, o.attempts, o.next_ms, o.failure, o.is_warned,
                    o.is_told
                FROM (VALUES
                    (true, 'open', NULL, NULL, NULL::int8, 0, NULL::int8, NULL, false, false),
                    (false, r.state, r.answer, r.answered_by, r.answered_ms, r.attempts, r.next_ms, r.failure,
                        r.is_warned, r.is_told)
                ) AS o(is_other, state, answer, answered_by, answered_ms, attempts, next_ms, failure, is_warned, is_told)
                WHERE o.is_other = (excluded.asked_ms >= r.deadline_ms OR coalesce(excluded.asked_ms > r.decided_ms, false))
            )
        """

    /// Notes what Apple asks, in the transaction that applies it.
    package static func note(_ questions: [RefundRequestSummary], on connection: PostgresConnection) throws {
        guard !questions.isEmpty else { return }
        _ = try connection.query(
            upsert,
            PurchaseKeys(questions.map(\.key.purchase)).columns + [
                .texts(questions.map(\.key.transactionID)),
                .texts(questions.map(\.productID)),
                .texts(questions.map { $0.request.reasons.joined(separator: "\n") }),
                .int4s(questions.map { Int32(clamping: $0.request.repeats) }),
                .int8s(questions.map(\.request.first)), .int8s(questions.map(\.request.deadline)),
                .int8s(questions.map(\.request.closed)), .texts(questions.map(\.decision)),
            ])
    }

    private static let sent = """
        SELECT t.place FROM unnest($1::int2[], $2::text[], $3::text[], $4::int2[], $5::int4[])
            AS t(lane, tid, app, environment, place)
        JOIN entitled.refund_request r ON r.lane = t.lane /* cluster: AND r.lane = ANY($1::int2[]) */
            AND r.transaction_id = t.tid AND r.app = t.app
            AND r.environment = t.environment
        WHERE r.state = 'sent'
        """

    /// Those of these that were not answered.
    package static func unanswered(
        _ keys: [RefundRequestSummary.Key], on connection: PostgresConnection
    ) throws -> [RefundRequestSummary.Key] {
        guard !keys.isEmpty else { return [] }
        let rows = try connection.query(sent, places(keys) + [.int4s((0..<Int32(keys.count)).map { $0 })])
        let answered = Set(try rows.map { Int(try $0.int("place")) })
        return keys.enumerated().filter { !answered.contains($0.offset) }.map(\.element)
    }

    private static func places(_ keys: [RefundRequestSummary.Key]) -> [PostgresValue] {
        [
            .int2s(keys.map(\.purchase.lane.number)), .texts(keys.map(\.transactionID)),
            .texts(keys.map(\.purchase.app)), .int2s(keys.map(\.purchase.environment.code)),
        ]
    }

    private static func place(_ key: RefundRequestSummary.Key) -> [PostgresValue] {
        [
            .int2(key.purchase.lane.number), .text(key.transactionID), .text(key.purchase.app),
            .int2(key.purchase.environment.code),
        ]
    }

    // MARK: - For operators

    private static let select = """
        SELECT \(columnsOfTable), p.owner FROM entitled.refund_request r
        LEFT JOIN entitled.purchase p ON p.lane = r.lane AND p.original_transaction_id = r.original_transaction_id
            AND p.app = r.app AND p.environment = r.environment
        WHERE ($1::text IS NULL OR r.app = $1) AND ($2::text IS NULL OR r.transaction_id = $2)
            AND ($3::int8 IS NULL OR r.decided_ms IS NULL AND r.deadline_ms > $3 AND r.state <> 'sent')
        ORDER BY r.asked_ms DESC, r.transaction_id LIMIT $4
        """

    private static let columnsOfTable = RefundRequest.columns.replacing(/[a-z_]+/) { "r.\($0.output)" }

    /// The newest first, with the app user id that the purchase belongs to.
    ///
    /// - Parameter openAt: only those to which an answer is missing at this instant.
    package static func list(
        app: String? = nil, transactionID: String? = nil, openAt now: Int64? = nil, atMost limit: Int,
        on connection: PostgresConnection
    ) throws -> [(request: RefundRequest, owner: String?)] {
        try connection.query(select, [.text(app), .text(transactionID), .int8(now), .int8(Int64(limit))]).map {
            (try RefundRequest($0), try $0.optionalText("owner"))
        }
    }

    /// The newest question about a transaction of an app.
    package static func find(
        _ key: RefundRequestSummary.Key, on connection: PostgresConnection
    ) throws -> RefundRequest? {
        try list(app: key.purchase.app, transactionID: key.transactionID, atMost: 10, on: connection)
            .map(\.request).first { $0.key == key }
    }

    private static let selectPage = """
        SELECT \(columnsOfTable), p.owner, md5(r.transaction_id)::uuid AS tie FROM entitled.refund_request r
        LEFT JOIN entitled.purchase p ON p.lane = r.lane AND p.original_transaction_id = r.original_transaction_id
            AND p.app = r.app AND p.environment = r.environment
        WHERE ($1::text IS NULL OR r.app = $1)
            AND ($2::int8 IS NULL OR r.decided_ms IS NULL AND r.deadline_ms > $2 AND r.state <> 'sent')
            AND ($3::int8 IS NULL OR r.asked_ms <= $3
                AND (r.asked_ms, r.lane, md5(r.transaction_id)::uuid) < ($3, $4::int2, $5::uuid))
        ORDER BY r.asked_ms DESC, r.lane DESC, md5(r.transaction_id)::uuid DESC LIMIT $6
        """

    /// A page of the same. The hash tells questions of one instant and lane apart.
    package static func list(
        app: String?, openAt now: Int64?, _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<(request: RefundRequest, owner: String?)> {
        let found = try connection.query(
            selectPage,
            [
                .text(app), .int8(now), .int8(range.after?.order), .int2(range.after?.lane), .uuid(range.after?.id),
                .int8(Int64(range.limit + 1)),
            ]
        ).map { row in
            (request: try RefundRequest(row), owner: try row.optionalText("owner"), tie: try row.uuid("tie"))
        }
        return ListPage(found, limit: range.limit) {
            ListCursor(order: $0.request.asked, lane: $0.request.key.purchase.lane.number, id: $0.tie)
        }.map { $0.map { ($0.request, $0.owner) } }
    }

    private static let setAnswer = """
        UPDATE entitled.refund_request
        SET state = 'ready', answer = $5, answered_by = $6, next_ms = $7, attempts = 0, failure = NULL
        WHERE lane = $1 AND transaction_id = $2 AND app = $3 AND environment = $4
            AND state IN ('open', 'ready', 'failed') AND decided_ms IS NULL AND deadline_ms > $7
        RETURNING lane
        """

    /// Gives the answer, for the worker to send. False where it is too late for one. Its lane is held.
    package static func answer(
        _ key: RefundRequestSummary.Key, _ answer: RefundAnswer, by actor: String, now: Int64,
        on connection: PostgresConnection
    ) throws -> Bool {
        let rows = try connection.query(
            setAnswer, place(key) + [.text(answer.json.text), .text(actor), .int8(now)])
        return !rows.isEmpty
    }

    /// Gives the answer, for the worker to send, with its lane held, in the caller's transaction or in one of its own.
    ///
    /// - Returns: why it cannot be answered any more, as a part of a sentence; nil: it is.
    package static func answer(
        _ request: RefundRequest, _ answer: RefundAnswer, by actor: String, on connection: PostgresConnection
    ) throws -> String? {
        try connection.joinedTransaction {
            let now = try Fence.hold([request.key.purchase.lane], on: connection)
            guard try !self.answer(request.key, answer, by: actor, now: now, on: connection) else { return nil }
            // It may have been decided since it was read.
            let current = try find(request.key, on: connection) ?? request
            return current.objection(at: now) ?? "it was changed meanwhile"
        }
    }

    // MARK: - For who sends

    /// What one statement changes on one Postgres, a cluster changes group by group: those in which the condition is met by some row.
    private static func inGroups<Result>(
        where condition: String, _ values: [PostgresValue], on connection: PostgresConnection,
        _ body: (_ lanes: [PostgresValue]) throws -> [Result]
    ) throws -> [Result] {
        guard connection.isCluster else { return try body([]) }
        let lanes = try connection.query(
            "SELECT lane FROM entitled.refund_request WHERE \(condition)", values
        ).map { try $0.value("lane", as: Lane.self) }
        return try connection.laneGroups.split(Array(Set(lanes))).flatMap { part in
            try body([.int2s(part.elements.map(\.number).sorted())])
        }
    }

    private static let isUnanswered = "decided_ms IS NULL AND state = 'open' AND deadline_ms > $2 AND app = $1"
    private static let answerAll = """
        UPDATE entitled.refund_request SET state = 'ready', answer = $3, answered_by = 'policy', next_ms = $2
        WHERE \(isUnanswered) /* cluster: AND lane = ANY($4::int2[]) */
        """

    /// Gives the same answer to all open questions about an app.
    package static func answerAll(
        of app: String, _ answer: RefundAnswer, now: Int64, on connection: PostgresConnection
    ) throws {
        _ = try inGroups(where: isUnanswered, [.text(app), .int8(now)], on: connection) { lanes in
            try connection.query(answerAll, [.text(app), .int8(now), .text(answer.json.text)] + lanes).map { $0 }
        }
    }

    private static let isDue = """
        decided_ms IS NULL AND state IN ('ready', 'sending') AND deadline_ms > $1 AND next_ms <= $1
            AND app = ANY($2::text[])
        """
    private static let claim = """
        WITH due AS MATERIALIZED (
            SELECT lane, transaction_id, app, environment FROM entitled.refund_request
            WHERE \(isDue) /* cluster: AND lane = ANY($5::int2[]) */
            ORDER BY deadline_ms LIMIT $3 FOR UPDATE SKIP LOCKED
        )
        UPDATE entitled.refund_request r SET state = 'sending', attempts = r.attempts + 1, next_ms = $1 + $4
        FROM due WHERE r.lane = due.lane /* cluster: AND r.lane = ANY($5::int2[]) */
            AND r.transaction_id = due.transaction_id AND r.app = due.app AND r.environment = due.environment
        RETURNING \(columnsOfTable)
        """

    /// Those to be sent now, written down as being sent.
    ///
    /// - Parameters:
    ///   - apps: those that can be asked for.
    ///   - time: ms after which it is sent again, if nothing is written of it.
    package static func claim(
        of apps: [String], atMost limit: Int, for time: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> [RefundRequest] {
        var left = limit
        return try inGroups(
            where: "\(isDue) ORDER BY deadline_ms LIMIT $3", [.int8(now), .texts(apps), .int8(Int64(limit))],
            on: connection
        ) { lanes in
            let claimed = try connection.query(
                claim, [.int8(now), .texts(apps), .int8(Int64(left)), .int8(time)] + lanes
            ).map { try RefundRequest($0) }
            left -= claimed.count
            return claimed
        }
    }

    private static let settle = """
        UPDATE entitled.refund_request
        SET state = $5, failure = $6, next_ms = $7, answered_ms = CASE WHEN $5 = 'sent' THEN $8::int8 END
        WHERE lane = $1 AND transaction_id = $2 AND app = $3 AND environment = $4 AND state = 'sending'
        """

    /// What came of sending one.
    ///
    /// - Parameter next: when it is sent again, if it is `ready` for that.
    package static func settle(
        _ key: RefundRequestSummary.Key, _ state: RefundRequest.State, failure: String?, next: Int64?, now: Int64,
        on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            settle, place(key) + [.text(state.rawValue), .text(failure), .int8(next), .int8(now)])
    }

    private static let untold = """
        SELECT lane FROM entitled.refund_request
        WHERE decided_ms IS NULL AND state = 'open' AND deadline_ms > $1 AND NOT is_told AND app = ANY($2::text[]) LIMIT $3
        """
    private static let tell = """
        UPDATE entitled.refund_request r SET is_told = true
        FROM entitled.purchase p
        WHERE r.decided_ms IS NULL AND r.state = 'open' AND r.deadline_ms > $1 AND NOT r.is_told
            AND r.app = ANY($2::text[]) AND r.lane = ANY($3::int2[])
            AND p.lane = r.lane /* cluster: AND p.lane = ANY($3::int2[]) */ AND p.original_transaction_id = r.original_transaction_id AND p.app = r.app
            AND p.environment = r.environment
        RETURNING \(columnsOfTable), p.owner
        """

    /// Notes that open questions are told to consumers; with each the app user id that the purchase belongs to. Their
    /// lanes are held until the transaction ends.
    package static func tell(
        of apps: [String], atMost limit: Int, now: Int64, on connection: PostgresConnection
    ) throws -> [(request: RefundRequest, owner: String)] {
        let lanes = try connection.query(untold, [.int8(now), .texts(apps), .int8(Int64(limit))]).map {
            try $0.value("lane", as: Lane.self)
        }
        guard !lanes.isEmpty else { return [] }
        _ = try Fence.hold(lanes, on: connection)
        return try connection.laneGroups.split(lanes).flatMap { part in
            try connection.query(tell, [.int8(now), .texts(apps), .int2s(part.elements.map(\.number))]).map {
                (try RefundRequest($0), try $0.text("owner"))
            }
        }
    }

    private static let isClosing = """
        decided_ms IS NULL AND state IN ('open', 'ready', 'sending') AND deadline_ms > $1 AND deadline_ms <= $1 + $2
            AND NOT is_warned AND app = ANY($3::text[])
        """
    private static let warn = """
        UPDATE entitled.refund_request SET is_warned = true
        WHERE \(isClosing) /* cluster: AND lane = ANY($4::int2[]) */
        RETURNING \(RefundRequest.columns)
        """

    /// Requests whose time is over in `ahead` ms and for which no warning was sent; each once.
    package static func closing(
        in ahead: Int64, of apps: [String], now: Int64, on connection: PostgresConnection
    ) throws -> [RefundRequest] {
        let values: [PostgresValue] = [.int8(now), .int8(ahead), .texts(apps)]
        return try inGroups(where: isClosing, values, on: connection) { lanes in
            try connection.query(warn, values + lanes).map { try RefundRequest($0) }
        }
    }
}
