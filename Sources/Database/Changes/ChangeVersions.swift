import Base
import Crypto
import Postgres
import Subscriptions

/// What a change would be about as it is now, in one digest: a change that was shown before is done only while that is the
/// same.
package enum ChangeVersions {
    /// The member of a change's parameters that has the digest in hex digits.
    package static let member = "plan"
    /// The member of a change of a customer's rows that has `holdings(of:)`.
    package static let holdings = "holdings"
    /// The member that has the key of the process that asked, to which a secret is sealed: another one for each request.
    package static let answerKey = "answer_key"
    /// The member that has the name under which Apple is asked: another one for each request, too.
    package static let requestID = "request_id"
    /// Secrets are sealed otherwise each time; which ones were given counts.
    private static let unasked: Set = [member, answerKey, requestID, SecretIntake.member]
    /// Members of parameters from which an id that they are about can be guessed.
    package static let hashes: Set = [member, holdings]
    /// Why such a change is refused when that is another one.
    package static let otherHoldings =
        "The ids or the purchases of the customer were changed since it was asked for; ask again for what is there now."
    /// Why a change is refused whose rows are others than those that were shown.
    package static let changed = "What the change is about was changed since it was previewed."

    /// SHA-256 of what is asked for and of the versions of the rows that it concerns.
    ///
    /// - Parameter parameters: those that say nothing of what is asked for do not count.
    package static func digest(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> [UInt8] {
        let members = (parameters.members ?? []).filter { !unasked.contains($0.name) }
        let seen = JSON.array([
            // A worker reads them in another order than the console wrote them. A new endpoint has its id once it is asked for.
            .string(kind.rawValue), .string(kind == .endpointAdd ? "" : target), JSON.object(members).sortedByName,
            .strings(try versions(kind, target, parameters, on: connection)),
        ])
        return Digest.sha256(seen.bytes)
    }

    private static func versions(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> [String] {
        switch kind {
        case .grant, .revoke, .customerDelete: return try customer(target, on: connection)
        case .note, .noteRemove:
            return try CustomerTable.load([target], on: connection)[target]?.appUserIDs.sorted() ?? []
        case .alias, .transfer:
            let other = (parameters["alias"] ?? parameters["to"])?.stringValue ?? ""
            return try customer(target, on: connection) + ["and"] + customer(other, on: connection)
        case .claim:
            let ids = [parameters["purchase"]?.stringValue].compactMap(\.self)
            let purchases = try connection.query(
                """
                SELECT owner, concat_ws(' ', app, environment, owner, version) AS version FROM entitled.purchase
                WHERE original_transaction_id = ANY($1::text[]) ORDER BY app, environment
                """, [.texts(ids)]
            ).map { (owner: try $0.optionalText("owner"), version: try $0.text("version")) }
            // It may take all that the owner has of the Apple account, and the owner's ids.
            return try customer(target, on: connection) + purchases.map(\.version)
                + Set(purchases.compactMap(\.owner)).sorted().flatMap { try customer($0, on: connection) }
        case .resend:
            guard let id = DeliveryID(text: target) else { return [] }
            return try deliveries([id], on: connection)
        case .eventResend:
            guard let id = UUIDText.bytes(target) else { return [] }
            let events = try EventQuery.find(id, on: connection)
            let endpoints = try endpoints(on: connection, only: parameters["endpoint"]?.stringValue, withPause: false)
            let ids = events.flatMap { event in
                endpoints.ids.map { DeliveryID(lane: event.lane, event: id, endpoint: $0) }
            }
            return try endpoints.states + deliveries(ids, on: connection)
        case .reprocess: return try notification(target, parameters, on: connection)
        case .endpointEnable, .endpointDisable, .endpointPause:
            return try endpoints(on: connection, only: target).states
        case .endpointChange, .replayWebhooks: return try EndpointTable.list(id: target, on: connection).map(\.version)
        case .endpointRemove, .endpointTest:
            return try endpoints(on: connection, only: target, withPause: false).states
        case .endpointRotateSecret:
            return try endpoints(on: connection, only: target, withPause: false).states
                + connection.query(
                    """
                    SELECT concat_ws(' ', kind, created_ms, expires_ms) AS version FROM entitled.endpoint_secret
                    WHERE endpoint = $1 ORDER BY kind, created_ms
                    """, [.text(target)]
                ).map { try $0.text("version") }
        case .refundAnswer: return try refund(target, parameters, on: connection)
        case .purchaseExtend:
            return try purchase(target, parameters, on: connection) + extensions(target, parameters, on: connection)
        case .customerResend, .customerGiveUp:
            return try [holdings(of: target, on: connection)] + sending(parameters, on: connection).states
        case .bulkResend, .bulkGiveUp: return try sending(parameters, on: connection).states
        // What Apple knows, and who is a customer, is seen when it is done.
        case .bulkReprocess, .statusPoll, .orderLookup, .replayHistory, .outageLook, .bulkGrant, .endpointAdd: return []
        case .jobCancel:
            return try connection.query(
                "SELECT state FROM entitled.job WHERE id = $1", [.int8(Int64(target))]
            ).map { try $0.text("state") }
        }
    }

    /// A hash, in hex digits, of the ids and of the keys of the purchases that a customer has: what becomes theirs later is not
    /// meant by a change that was asked for before.
    package static func holdings(of customer: String, on connection: PostgresConnection) throws -> String {
        let ids = try CustomerTable.load([customer], on: connection)[customer]?.appUserIDs.sorted() ?? []
        let purchases = try owned(by: ids, selectOwned, on: connection).map { row in
            JSON.array([
                .int(try row.int("lane")), .string(try row.text("app")), .int(try row.int("environment")),
                .string(try row.text("original_transaction_id")),
            ])
        }
        return Hex.encode(Digest.sha256(JSON.array([.strings(ids), .array(purchases)]).bytes))
    }

    private static func customer(_ id: String, on connection: PostgresConnection) throws -> [String] {
        let ids = try CustomerTable.load([id], on: connection)[id]?.appUserIDs.sorted() ?? []
        return try ids + [owned(by: ids, selectVersion, on: connection).first?.optionalText("version") ?? ""]
    }

    private static let selectOwned = """
        SELECT lane, app, environment, original_transaction_id FROM entitled.purchase
        WHERE owner = ANY($1::text[]) /* cluster: AND lane = ANY($2::int2[]) */
        ORDER BY 1, 2, 3, 4
        """

    private static let selectVersion = """
        SELECT md5(string_agg(concat_ws(' ', lane, app, environment, original_transaction_id, version), ','
            ORDER BY lane, app, environment, original_transaction_id)) AS version
        FROM entitled.purchase WHERE owner = ANY($1::text[]) /* cluster: AND lane = ANY($2::int2[]) */
        """

    private static func owned(
        by ids: [String], _ sql: String, on connection: PostgresConnection
    ) throws -> [PostgresRow] {
        guard let lanes = try PurchaseLanes.values(ofOwners: ids, on: connection) else { return [] }
        return Array(try connection.query(sql, [.texts(ids)] + lanes))
    }

    private static let selectDeliveries = """
        SELECT d.endpoint, concat_ws(' ', d.id, d.state, d.attempts, d.round_start) AS version
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        ORDER BY d.lane, d.id
        """

    private static let selectEndpoints = """
        SELECT id, concat_ws(' ', disabled_reason, removed_ms IS NOT NULL) AS version FROM entitled.endpoint
        WHERE id = ANY($1::text[])
        """

    private static func deliveries(_ ids: [DeliveryID], on connection: PostgresConnection) throws -> [String] {
        let found = try connection.laneGroups.split(ids, by: \.lane).flatMap { part in
            try connection.query(
                selectDeliveries, [.int2s(part.elements.map(\.lane.number)), .uuids(part.elements.map(\.bytes))]
            ).map { (endpoint: try $0.text("endpoint"), version: try $0.text("version")) }
        }
        let endpoints = try connection.query(selectEndpoints, [.texts(Set(found.map(\.endpoint)).sorted())]).map {
            (try $0.text("id"), try $0.text("version"))
        }
        let versions = Dictionary(uniqueKeysWithValues: endpoints)
        return found.map { "\($0.version) \(versions[$0.endpoint] ?? "true")" }
    }

    private static func key(_ id: String, _ parameters: JSON) -> PurchaseKey {
        PurchaseKey(
            app: parameters["app"]?.stringValue ?? "",
            environment: parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
                ?? .production,
            originalTransactionID: id)
    }

    private static func refund(
        _ id: String, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> [String] {
        let key = key(id, parameters)
        return try connection.query(
            """
            SELECT concat_ws(' ', state, asked_ms, deadline_ms, decided_ms, answered_by, answer) AS version
            FROM entitled.refund_request
            WHERE lane = $1 AND transaction_id = $2 AND app = $3 AND environment = $4 AND original_transaction_id = $5
            """,
            [
                .int2(key.lane.number), .text(parameters["transaction"]?.stringValue), .text(key.app),
                .int2(key.environment.code), .text(id),
            ]
        ).map { try $0.text("version") }
    }

    private static func purchase(
        _ id: String, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> [String] {
        let key = key(id, parameters)
        return try connection.query(
            """
            SELECT concat_ws(' ', owner, version) AS version FROM entitled.purchase
            WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
            """, [.int2(key.lane.number), .text(id), .text(key.app), .int2(key.environment.code)]
        ).map { try $0.text("version") }
    }

    /// The extension that was asked for last and that Apple may have done, or is to do: the purchase tells of it later.
    private static func extensions(
        _ id: String, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> [String] {
        try connection.query(
            """
            WITH asked AS (
                SELECT id, state, cursor, parameters LIKE '%"' || $3 || '"%' AS is_own FROM entitled.job
                WHERE kind = $1 AND target = $2
            )
            SELECT max(a.id)::text AS version FROM asked a
            WHERE a.id < coalesce((SELECT min(o.id) FROM asked o WHERE o.is_own), \(Int64.max))
                AND (a.state IN ('running', 'done') OR a.cursor = ARRAY['\(ChangeTable.asked)'])
            HAVING max(a.id) IS NOT NULL
            """, [.text(ChangeKind.purchaseExtend.rawValue), .text(id), .text(parameters[requestID]?.stringValue)]
        ).map { try $0.text("version") }
    }

    private static func notification(
        _ uuid: String, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> [String] {
        let found = try NotificationQuery.find(
            uuid: uuid, app: parameters["app"]?.stringValue,
            environment: parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:)),
            on: connection)
        return found.whole.map { whole in
            let (state, hold) = (whole.summary.state, whole.summary.hold)
            return "\(state.rawValue) \(hold?.reason ?? "") \(hold?.attempts ?? 0)"
        } + found.dropped.map { "dropped \($0)" }
    }

    /// The endpoints that a selection of deliveries may be about.
    private static func sending(
        _ parameters: JSON, on connection: PostgresConnection
    ) throws -> (ids: [String], states: [String]) {
        try endpoints(on: connection, only: parameters["deliveries"]?["endpoint"]?.stringValue, withPause: false)
    }

    /// - Parameter withPause: workers pause an endpoint whenever its consumer asks for it, which keeps what is sent waiting, and
    ///   changes nothing else of it.
    private static func endpoints(
        on connection: PostgresConnection, only id: String? = nil, withPause: Bool = true
    ) throws -> (ids: [String], states: [String]) {
        let rows = try connection.query(
            """
            SELECT id, concat_ws(' ', id, coalesce(disabled_reason, '-'), CASE WHEN $2 THEN paused_until_ms END, removed_ms)
                AS version
            FROM entitled.endpoint WHERE $1::text IS NULL OR id = $1 ORDER BY id
            """, [.text(id), .bool(withPause)])
        return (try rows.map { try $0.text("id") }, try rows.map { try $0.text("version") })
    }
}
