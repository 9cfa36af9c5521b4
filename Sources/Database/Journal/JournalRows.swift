import Base
import Crypto
import Postgres
import Subscriptions

/// Writes what a journal has and the database lost.
package enum JournalRows {
    private static let advance = "SELECT entitled.advance_actions($1)"

    /// New actions get greater numbers than those of the journal.
    package static func passNumbers(_ number: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(advance, [.int8(number)])
    }

    private static func rows(_ entries: [JournalEntry]) -> PostgresValue {
        .jsonb(JSON.array(entries.map(\.row)).bytes)
    }

    /// The rows among these, of one kind, that the database lacks, by their places.
    package static func missing(
        _ kind: JournalEntry.Kind, _ entries: [JournalEntry], on connection: PostgresConnection
    ) throws -> Set<Int> {
        let sql: String
        switch kind {
        case .sealingKey:
            sql = "SELECT FROM entitled.sealing_key k WHERE k.fingerprint = t.entry ->> 'fingerprint'"
        case .apiKey:
            sql = """
                SELECT FROM entitled.api_key k WHERE k.id = t.entry ->> 'id'
                    AND (k.revoked_ms IS NOT NULL OR t.entry ->> 'revoked_ms' IS NULL)
                """
        // What ended since the backup, ends again; nothing is made.
        case .consoleUser:
            sql = """
                SELECT WHERE NOT EXISTS (
                    SELECT FROM entitled.console_user u WHERE u.name = t.entry ->> 'name' AND u.ended_ms IS NULL
                        AND (u.created_ms < (t.entry ->> 'created_ms')::int8
                            OR u.created_ms = (t.entry ->> 'created_ms')::int8 AND t.entry ->> 'ended_ms' IS NOT NULL))
                """
        case .operatorKey:
            sql = """
                SELECT WHERE NOT EXISTS (
                    SELECT FROM entitled.operator_key k WHERE k.id = t.entry ->> 'id' AND k.ended_ms IS NULL)
                    OR t.entry ->> 'ended_ms' IS NULL
                """
        case .customer:
            sql = """
                SELECT FROM entitled.app_user_id a JOIN entitled.customer c
                    ON c.original_app_user_id = a.original_app_user_id
                WHERE a.id = t.entry ->> 'app_user_id' AND NOT \(isOverrideLater(
                    "t.entry ->> 'offering_override'", "(t.entry ->> 'offering_override_ms')::int8"))
                    AND (c.app_environment IS NOT NULL OR t.entry ->> 'app_environment' IS NULL)
                """
        case .action:
            // One whose number another action had got in the meantime has another number.
            sql = """
                SELECT FROM entitled.action a WHERE a.seq = (t.entry ->> 'seq')::int8 AND a.at_ms = (t.entry ->> 'at_ms')::int8
                UNION ALL
                SELECT FROM entitled.action a WHERE a.app_user_id = t.entry ->> 'app_user_id'
                    AND a.at_ms = (t.entry ->> 'at_ms')::int8 AND a.kind = t.entry ->> 'kind'
                """
        case .attribute:
            sql = """
                SELECT FROM entitled.customer_attribute a WHERE a.app_user_id = t.entry ->> 'app_user_id'
                    AND a.key = t.entry ->> 'key' AND a.updated_ms >= (t.entry ->> 'updated_ms')::int8
                """
        case .fact: return try missing(entries.map(fact), on: connection)
        case .endpoint, .deletion: return Set(entries.indices)
        }
        let found = try connection.query(
            """
            SELECT t.place FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS t(entry, place) WHERE NOT EXISTS (\(sql))
            """, [rows(entries)])
        return Set(try found.map { Int(try $0.int("place")) - 1 })
    }

    // MARK: - Keys and endpoints

    private static let insertSealingKeys = """
        INSERT INTO entitled.sealing_key (fingerprint, created_ms)
        SELECT fingerprint, created_ms FROM jsonb_to_recordset($1::jsonb) AS t(fingerprint text, created_ms int8)
        ON CONFLICT DO NOTHING
        """
    private static let insertAPIKeys = """
        INSERT INTO entitled.api_key AS k (id, kind, app, scope, name, hint, hash, created_ms, revoked_ms)
        SELECT DISTINCT ON (id) id, kind, app, scope, name, hint, hash, created_ms, revoked_ms
        FROM jsonb_to_recordset($1::jsonb) AS t(id text, kind text, app text, scope text, name text, hint text, hash bytea,
            created_ms int8, revoked_ms int8)
        ORDER BY id, revoked_ms
        ON CONFLICT (id) DO UPDATE SET revoked_ms = coalesce(k.revoked_ms, excluded.revoked_ms)
        """

    /// An operator who got the name since stays; one before whom another got it was removed in between. The check of a journal's lines is no signature, so its entries take rights
    /// away and give none: an operator who is not in the backup is made on the host.
    private static let endUsers = """
        WITH gone AS (
            UPDATE entitled.console_user u SET ended_ms = coalesce(t.ended_ms, t.created_ms), password = NULL
            FROM jsonb_to_recordset($1::jsonb) AS t(name text, created_ms int8, ended_ms int8)
            WHERE u.name = t.name AND u.ended_ms IS NULL
                AND (u.created_ms < t.created_ms OR u.created_ms = t.created_ms AND t.ended_ms IS NOT NULL)
            RETURNING u.name, u.ended_ms
        )
        UPDATE entitled.operator_key k SET ended_ms = gone.ended_ms FROM gone
        WHERE k.user_name = gone.name AND k.ended_ms IS NULL
        """
    private static let endOperatorKeys = """
        UPDATE entitled.operator_key k SET ended_ms = t.ended_ms
        FROM jsonb_to_recordset($1::jsonb) AS t(id text, ended_ms int8)
        WHERE k.id = t.id AND k.ended_ms IS NULL AND t.ended_ms IS NOT NULL
        """

    /// The kinds that `add` takes, in their order.
    package static let keys: [JournalEntry.Kind] = [.sealingKey, .apiKey, .consoleUser, .operatorKey]

    /// Adds keys that the database lacks, and ends operators and their keys that ended. What was revoked or removed stays so: of
    /// several entries about one the last state counts.
    package static func add(
        _ kind: JournalEntry.Kind, _ entries: [JournalEntry], on connection: PostgresConnection
    ) throws {
        let sql: String? =
            switch kind {
            case .sealingKey: insertSealingKeys
            case .apiKey: insertAPIKeys
            case .consoleUser: endUsers
            case .operatorKey: endOperatorKeys
            case .endpoint, .deletion, .customer, .action, .fact, .attribute: nil
            }
        if let sql, !entries.isEmpty { _ = try connection.query(sql, [rows(entries)]) }
    }

    /// What columns are that the journal of an older program does not know.
    private static let defaults = """
        {"paused_until_ms": 0, "excepted_events": [], "includes_subscriber": false}
        """
    private static let insertEndpoint = """
        INSERT INTO entitled.endpoint SELECT (jsonb_populate_record(NULL::entitled.endpoint, $2::jsonb || $1::jsonb)).*
        ON CONFLICT DO NOTHING RETURNING id
        """
    private static let selectColumns = """
        SELECT quote_ident(attname) AS name FROM pg_attribute
        WHERE attrelid = 'entitled.endpoint'::regclass AND attnum > 0 AND NOT attisdropped
            AND attname NOT IN ('id', 'created_ms', 'paused_until_ms')
        ORDER BY attnum
        """
    private static let dropSecrets = "DELETE FROM entitled.endpoint_secret WHERE endpoint = $1"
    private static let insertSecrets = """
        INSERT INTO entitled.endpoint_secret SELECT * FROM jsonb_populate_recordset(NULL::entitled.endpoint_secret, $1::jsonb)
        """

    /// A row that is there is changed in its place: transactions that make deliveries hold it.
    private static func putEndpoint(_ row: JSON, _ id: String, on connection: PostgresConnection) throws {
        let (new, defaults) = (PostgresValue.jsonb(row.bytes), PostgresValue.jsonb(Array(JournalRows.defaults.utf8)))
        if try connection.query(insertEndpoint, [new, defaults]).isEmpty {
            let columns = try connection.query(selectColumns).map { try $0.text("name") }
            _ = try connection.query(
                """
                UPDATE entitled.endpoint SET (\(columns.joined(separator: ", "))) = (
                    SELECT \(columns.map { "r.\($0)" }.joined(separator: ", "))
                    FROM jsonb_populate_record(NULL::entitled.endpoint, $2::jsonb || $1::jsonb) r) WHERE id = $3
                """, [new, defaults, .text(id)])
        }
        _ = try connection.query(dropSecrets, [.text(id)])
        _ = try connection.query(insertSecrets, [.jsonb((row["secrets"] ?? .array([])).bytes)])
    }

    /// Brings an endpoint to the last state that a journal has.
    package static func put(
        _ history: EndpointHistory, writes: Bool, on connection: PostgresConnection
    ) throws -> EndpointHistory.Step {
        guard writes else { return history.step(from: try JournalQuery.endpoint(history.id, on: connection)) }
        return try SealingKeyRegister.exclusively(on: connection) {
            let step = history.step(from: try JournalQuery.endpoint(history.id, on: connection))
            if step == .apply { try putEndpoint(history.last.row, history.id, on: connection) }
            return step
        }
    }

    /// Whether these keys open everything that is sealed of an endpoint.
    package static func opens(_ entry: JournalEntry, with sealer: SecretSealer) -> Bool {
        guard let id = entry.row["id"]?.stringValue, (entry.row["removed_ms"] ?? .null) == .null else { return true }
        func opens(_ text: JSON?, _ bound: String) -> Bool {
            guard let sealed = text?.stringValue.flatMap({ Hex.decode(String($0.dropFirst(2))) }) else { return true }
            return sealer.open(sealed, for: bound) != nil
        }
        return opens(entry.row["authorization_sealed"], id)
            && opens(entry.row["headers_sealed"], SecretSealer.headers(of: id))
            && (entry.row["secrets"]?.arrayValue ?? []).allSatisfy { secret in
                opens(secret["sealed"], secret["kind"] == .int(1) ? SecretSealer.signingKey(of: id) : id)
            }
    }

    // MARK: - Customers and actions

    private static let insertIDs = """
        INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms, of_account)
        SELECT app_user_id, app_user_id, first_seen_ms, of_account FROM (
            SELECT DISTINCT ON (app_user_id) * FROM jsonb_to_recordset($1::jsonb)
                AS t(app_user_id text, first_seen_ms int8, of_account bool) ORDER BY app_user_id, first_seen_ms
        ) AS once ON CONFLICT DO NOTHING
        """
    private static let insertCustomers = """
        INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
        SELECT a.id, a.first_seen_ms FROM entitled.app_user_id a
        WHERE a.id = ANY($1::text[]) AND a.original_app_user_id = a.id ORDER BY a.id ON CONFLICT DO NOTHING
        """
    /// Whether an entry's offering was chosen after that of the customer `c`; times are not known from before they were kept.
    private static func isOverrideLater(_ override: String, _ instant: String) -> String {
        """
        (coalesce(\(instant), -1) > coalesce(c.offering_override_ms, -1) OR \(instant) IS NULL
            AND c.offering_override_ms IS NULL AND c.offering_override IS NULL AND \(override) IS NOT NULL)
        """
    }
    private static let laterOverride = isOverrideLater("t.offering_override", "t.offering_override_ms")
    private static let complete = """
        UPDATE entitled.customer c SET
            offering_override = CASE WHEN \(laterOverride) THEN t.offering_override ELSE c.offering_override END,
            offering_override_ms = CASE WHEN \(laterOverride) THEN t.offering_override_ms ELSE c.offering_override_ms END,
            original_application_version = coalesce(c.original_application_version, t.original_application_version),
            app_purchased_ms = coalesce(c.app_purchased_ms, t.app_purchased_ms),
            app_environment = coalesce(c.app_environment, t.app_environment)
        FROM jsonb_to_recordset($1::jsonb) AS t(app_user_id text, offering_override text,
            offering_override_ms int8, original_application_version text, app_purchased_ms int8, app_environment int2)
        JOIN entitled.app_user_id a ON a.id = t.app_user_id
        WHERE c.original_app_user_id = a.original_app_user_id
            AND (t.offering_override IS NOT NULL OR t.offering_override_ms IS NOT NULL OR t.app_environment IS NOT NULL)
        """

    /// Makes the customers of ids, each for itself: what joins them comes with actions.
    package static func addCustomers(_ entries: [JournalEntry], on connection: PostgresConnection) throws {
        guard !entries.isEmpty else { return }
        _ = try connection.query(insertIDs, [rows(entries)])
        _ = try connection.query(insertCustomers, [.texts(entries.flatMap(\.names).sorted())])
        _ = try connection.query(complete, [rows(entries)])
    }

    private static let actionColumns =
        "seq int8, kind text, at_ms int8, actor text, reason text, app_user_id text, other text, detail text"
    private static let insertNumbered = """
        INSERT INTO entitled.action (seq, kind, at_ms, actor, reason, app_user_id, other, detail)
        SELECT * FROM jsonb_to_recordset($1::jsonb) AS t(\(actionColumns)) ON CONFLICT DO NOTHING RETURNING seq
        """
    private static let insertUnnumbered = """
        INSERT INTO entitled.action (kind, at_ms, actor, reason, app_user_id, other, detail)
        SELECT kind, at_ms, actor, reason, app_user_id, other, detail
        FROM jsonb_to_recordset($1::jsonb) AS t(\(actionColumns)) ORDER BY seq
        """

    /// Under the numbers that they had; those whose number another action has by now get new ones.
    package static func addActions(_ entries: [JournalEntry], on connection: PostgresConnection) throws {
        guard !entries.isEmpty else { return }
        let numbered = Set(try connection.query(insertNumbered, [rows(entries)]).map { try $0.int("seq") })
        let others = entries.filter { $0.row["seq"]?.intValue.map(numbered.contains) != true }
        if !others.isEmpty { _ = try connection.query(insertUnnumbered, [rows(others)]) }
    }

    private static let putAttributes = """
        INSERT INTO entitled.customer_attribute AS a (app_user_id, key, value, updated_ms)
        SELECT DISTINCT ON (app_user_id, key) app_user_id, key, value, updated_ms FROM jsonb_to_recordset($1::jsonb)
            AS t(app_user_id text, key text, value text, updated_ms int8) ORDER BY app_user_id, key, updated_ms DESC
        ON CONFLICT (app_user_id, key) DO UPDATE SET value = excluded.value, updated_ms = excluded.updated_ms
        WHERE a.updated_ms < excluded.updated_ms
        """

    package static func addAttributes(_ entries: [JournalEntry], on connection: PostgresConnection) throws {
        if !entries.isEmpty { _ = try connection.query(putAttributes, [rows(entries)]) }
    }

    // MARK: - Facts

    /// Nil where the entry is of no purchase.
    package static func fact(_ entry: JournalEntry) -> FactTable.New? {
        guard let app = entry.row["app"]?.stringValue,
            let environment = entry.row["environment"]?.intValue.flatMap({ StoreEnvironment(code: Int16(clamping: $0)) }
            ),
            let id = entry.row["original_transaction_id"]?.stringValue,
            let kind = entry.row["kind"]?.intValue.flatMap({ FactRow.Kind(rawValue: Int16(clamping: $0)) }),
            let signed = entry.row["signed_ms"]?.intValue, let seq = entry.row["seq"]?.intValue,
            let payload = entry.row["payload"]?.stringValue,
            // What Apple signed comes from Apple.
            [.assignment, .grant, .context, .post].contains(kind)
        else { return nil }
        return FactTable.New(
            key: PurchaseKey(app: app, environment: environment, originalTransactionID: id), seq: seq,
            fact: FactRow(kind: kind, signedDate: signed, header: nil, signature: nil, payload: Array(payload.utf8)))
    }

    private static let selectMissing = """
        SELECT t.place FROM \(PurchaseKeys.unnest("digest uuid", isNumbered: true))
        WHERE NOT EXISTS (
            SELECT FROM entitled.fact f WHERE \(PurchaseKeys.equal("f")) AND f.digest = t.digest)
        """

    private static func missing(
        _ facts: [FactTable.New?], on connection: PostgresConnection
    ) throws -> Set<Int> {
        let known = facts.enumerated().compactMap { place, fact in fact.map { (place, $0) } }
        return Set(
            try connection.laneGroups.split(known, by: \.1.key.lane).flatMap { part in
                try connection.query(
                    selectMissing,
                    PurchaseKeys(part.elements.map(\.1.key)).parameters
                        + [.uuids(part.elements.map(\.1.fact.digest))]
                ).map { part.elements[Int(try $0.int("place")) - 1].0 }
            })
    }

    // MARK: - Deletions

    private static let selectIDs = """
        SELECT id, first_seen_ms FROM entitled.app_user_id WHERE id > $1 ORDER BY id LIMIT 5000
        """

    /// The ids of customers that these deletions reach, each with the place of its deletion.
    ///
    /// - Parameter deletions: by the hash of a name: the place, and when the name was deleted, in ms.
    package static func reached(
        by deletions: [[UInt8]: (place: Int, at: Int64)], _ names: DeletedNames, on connection: PostgresConnection
    ) throws -> [(id: String, place: Int)] {
        var found: [(String, Int)] = []
        var last = ""
        while case let rows = try connection.query(selectIDs, [.text(last)]), !rows.isEmpty {
            for row in rows {
                last = try row.text("id")
                guard let deletion = deletions[names.hash(last)], try row.int("first_seen_ms") <= deletion.at else {
                    continue
                }
                found.append((last, deletion.place))
            }
        }
        return found
    }
}
