import Base
import Crypto
import Postgres
import Subscriptions

/// Endpoints and their secrets in the database.
package enum EndpointTable {
    private static let selectAsking = """
        SELECT EXISTS (SELECT FROM entitled.endpoint WHERE $1 = ANY(events) AND removed_ms IS NULL)
        """

    /// Whether an endpoint names this type among those that it wants.
    static func isAskedFor(_ type: EventType, on connection: PostgresConnection) throws -> Bool {
        try connection.query(selectAsking, [.text(type.rawValue)]).one().bool("exists")
    }

    private static let columns = """
        e.id, e.url, e.environments, e.events, e.apps, e.disabled_reason, e.paused_until_ms, e.created_ms,
        e.retry_schedule_ms, e.header_names, e.has_authorization, e.format, e.ordering,
        content.excepted_events, content.includes_subscriber, content.extension_version
        """
    /// Schemas before 27 lack these columns: then a name without its table is that of the defaults around.
    private static let table = """
        entitled.endpoint e
        CROSS JOIN (SELECT '{}'::text[] AS excepted_events, false AS includes_subscriber,
            NULL::text AS extension_version) defaults
        CROSS JOIN LATERAL (
            SELECT excepted_events, includes_subscriber, extension_version FROM entitled.endpoint own
            WHERE own.id = e.id
        ) content
        """
    private static let living = """
        FROM \(table) WHERE e.removed_ms IS NULL AND ($1::text IS NULL OR e.id = $1)
        ORDER BY e.created_ms, e.id
        """

    /// With its live secrets and key pairs, newest first, in one statement: an endpoint is never seen without its secret.
    private static let selectSealed = """
        SELECT \(columns), e.authorization_sealed, e.headers_sealed, ARRAY(
            SELECT s.sealed FROM entitled.endpoint_secret s
            WHERE s.endpoint = e.id AND s.kind = 0 AND (s.expires_ms IS NULL OR s.expires_ms > $2)
            ORDER BY s.created_ms DESC
        ) AS secrets, ARRAY(
            SELECT s.sealed FROM entitled.endpoint_secret s
            WHERE s.endpoint = e.id AND s.kind = 1 AND (s.expires_ms IS NULL OR s.expires_ms > $2)
            ORDER BY s.created_ms DESC
        ) AS signing_keys
        \(living)
        """

    /// Every endpoint with its opened secrets, or the one with this id. For the worker's role.
    package static func load(
        id: String? = nil, sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> [Endpoint] {
        try connection.query(selectSealed, [.text(id), .int8(now)]).map { row in
            try endpoint(row, opened: try Opened(row, of: try row.text("id"), sealer))
        }
    }

    /// What is sealed of an endpoint, opened as far as the keys go.
    private struct Opened {
        var authorization: Redacted<String>?
        var headers: [CustomHeader] = []
        var secrets: [WebhookSecret] = []
        var signingKeys: [Redacted<[UInt8]>] = []
        var unreadable: [SealedPart] = []
        var isWhole = false

        init() {}

        init(_ row: PostgresRow, of id: String, _ sealer: SecretSealer) throws {
            let sealedSecrets = try row.byteStrings("secrets").compactMap { $0 }
            let sealedKeys = try row.byteStrings("signing_keys").compactMap { $0 }
            let (sealedAuthorization, sealedHeaders) = (
                try row.optionalBytes("authorization_sealed"), try row.optionalBytes("headers_sealed")
            )
            secrets = sealedSecrets.compactMap { sealer.open($0, for: id) }.map(WebhookSecret.init(plaintext:))
            signingKeys = sealedKeys.compactMap { sealer.open($0, for: SecretSealer.signingKey(of: id)) }
                .map { Redacted($0) }
            authorization = sealedAuthorization.flatMap { sealer.open($0, for: id) }
                .map { Redacted(String(decoding: $0, as: UTF8.self)) }
            let headers = sealedHeaders.flatMap { sealer.open($0, for: SecretSealer.headers(of: id)) }
                .flatMap(CustomHeaderText.decode)
            self.headers = headers ?? []
            if secrets.count < sealedSecrets.count { unreadable.append(.secret) }
            if signingKeys.count < sealedKeys.count { unreadable.append(.privateKey) }
            if sealedAuthorization != nil, authorization == nil { unreadable.append(.authorization) }
            if sealedHeaders != nil, headers == nil { unreadable.append(.headers) }
            isWhole = !secrets.isEmpty && unreadable.isEmpty
        }
    }

    /// The same without anything secret. For the api's role.
    package static func list(id: String? = nil, on connection: PostgresConnection) throws -> [Endpoint] {
        try connection.query("SELECT \(columns) \(living)", [.text(id)]).map { try endpoint($0) }
    }

    /// Those that get this, with a share lock on each row until the transaction ends: none is disabled or removed
    /// meanwhile.
    static func lock(_ format: EndpointFormat, on connection: PostgresConnection) throws -> [Endpoint] {
        try connection.query(
            """
            SELECT \(columns) FROM \(table) WHERE e.removed_ms IS NULL AND e.format = $1
            ORDER BY e.created_ms, e.id FOR SHARE OF e
            """, [.int2(format.rawValue)]
        ).map { try endpoint($0) }
    }

    /// The same for one endpoint; nil if there is no such.
    package static func lock(_ id: String, on connection: PostgresConnection) throws -> Endpoint? {
        try connection.query("SELECT \(columns) \(living) FOR SHARE OF e", [.text(id)]).first.map { try endpoint($0) }
    }

    private static func endpoint(_ row: PostgresRow, opened: Opened = Opened()) throws -> Endpoint {
        Endpoint(
            id: try row.text("id"), url: try row.text("url"), authorization: opened.authorization,
            environments: try row.texts("environments").compactMap { $0.flatMap(StoreEnvironment.init(rawValue:)) },
            events: try row.texts("events").compactMap { $0 },
            exceptedEvents: try row.texts("excepted_events").compactMap { $0 },
            apps: try row.texts("apps").compactMap { $0 },
            format: try row.value("format"),
            includesSubscriber: try row.bool("includes_subscriber"),
            extensionVersion: try row.optionalText("extension_version"),
            ordering: try row.value("ordering"),
            retrySchedule: try row.isNull("retry_schedule_ms")
                ? nil : RetrySchedule(waits: try row.ints("retry_schedule_ms").compactMap { $0 }),
            hasAuthorization: try row.bool("has_authorization"),
            headerNames: try row.texts("header_names").compactMap { $0 },
            headers: opened.headers, disabledReason: try row.optionalText("disabled_reason"),
            pausedUntil: try row.int("paused_until_ms"),
            created: try row.int("created_ms"), secrets: opened.secrets, signingKeys: opened.signingKeys,
            isSendable: opened.isWhole, unreadable: opened.unreadable)
    }

    package struct Added: Sendable {
        package let id: String
        package let secret: WebhookSecret
        /// Of an asymmetric one.
        package let publicKey: [UInt8]?
    }

    private static let idPrefix = "we_"
    private static let idBytes = 8

    package static func newID() -> String { idPrefix + Hex.encode(SecureRandom.bytes(idBytes)) }

    /// Whether a text is an id as new endpoints get it.
    package static func isNewID(_ text: String) -> Bool {
        text.hasPrefix(idPrefix) && text.utf8.count == idPrefix.utf8.count + 2 * idBytes
            && text.utf8.dropFirst(idPrefix.utf8.count).allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// Whether there is, or was, an endpoint of an id.
    package static func isTaken(_ id: String, on connection: PostgresConnection) throws -> Bool {
        try !connection.query("SELECT FROM entitled.endpoint WHERE id = $1", [.text(id)]).isEmpty
    }

    /// Makes an endpoint with its first secret, which is not shown again.
    ///
    /// - Parameters:
    ///   - id: of `newID`.
    ///   - extensionVersion: of RevenueCat's Firebase extension, where it receives the events.
    ///   - retrySchedule: nil for the configuration's.
    ///   - isAsymmetric: whether a key pair signs too.
    ///   - secret: what the consumer has already; nil: a new one.
    package static func add(
        _ id: String = newID(), url: String, authorization: String?, environments: [StoreEnvironment], events: [String],
        exceptedEvents: [String] = [], apps: [String], includesSubscriber: Bool = false,
        extensionVersion: String? = nil, ordering: Ordering = .none, retrySchedule: RetrySchedule? = nil,
        headers: [CustomHeader] = [],
        format: EndpointFormat = .revenuecat, isAsymmetric: Bool = false, secret: WebhookSecret? = nil,
        sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> Added {
        try SealingKeyRegister.sealing(with: sealer, now: now, on: connection) { sealer in
            _ = try connection.query(
                """
                INSERT INTO entitled.endpoint
                    (id, url, authorization_sealed, environments, events, apps, retry_schedule_ms, header_names,
                    headers_sealed, format, created_ms, has_authorization, ordering)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $3 IS NOT NULL, $12)
                """,
                [
                    .text(id), .text(url),
                    try authorization.map { .bytea(try sealer.seal(Array($0.utf8), for: id)) } ?? .bytea(nil),
                    .texts(environments.map(\.rawValue)), .texts(events), .texts(apps),
                    retrySchedule.map { .int8s($0.waits) } ?? .null, .texts(headers.map(\.name)),
                    .bytea(try sealed(headers, of: id, with: sealer)), .int2(format.rawValue), .int8(now),
                    .text(ordering.rawValue),
                ])
            if !exceptedEvents.isEmpty || includesSubscriber || extensionVersion != nil {
                try EndpointContent.write(
                    exceptedEvents, includesSubscriber: includesSubscriber, extensionVersion: extensionVersion, of: id,
                    on: connection)
            }
            let secret = try EndpointSecrets.add(secret ?? .generate(), to: id, sealer, now: now, on: connection)
            let publicKey =
                isAsymmetric ? try EndpointSecrets.makeKeyPair(of: id, sealer, now: now, on: connection) : nil
            return Added(id: id, secret: secret, publicKey: publicKey)
        }
    }

    /// Nil for none.
    static func sealed(
        _ headers: [CustomHeader], of id: String, with sealer: SecretSealer
    ) throws -> [UInt8]? {
        guard !headers.isEmpty else { return nil }
        return try sealer.seal(CustomHeaderText.encode(headers), for: SecretSealer.headers(of: id))
    }

    private static let disable = """
        WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
        UPDATE entitled.endpoint e SET disabled_reason = $2 FROM durable
        WHERE e.id = $1 AND e.removed_ms IS NULL AND e.disabled_reason IS NULL
            AND ($3::int8 IS NULL OR EXISTS (
                SELECT 1 FROM entitled.endpoint_health h WHERE h.endpoint = e.id AND h.failing_since_ms = $3))
        RETURNING 1
        """

    private static let noteDisabled = """
        INSERT INTO entitled.endpoint_health AS h (endpoint, disabled_code, disabled_ms)
        VALUES ($1, $2, (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8)
        ON CONFLICT (endpoint) DO UPDATE SET disabled_code = excluded.disabled_code,
            disabled_ms = excluded.disabled_ms, is_disabling_told = false
        """

    private static let isThere =
        "SELECT EXISTS (SELECT 1 FROM entitled.endpoint WHERE id = $1 AND removed_ms IS NULL) AS is_there"

    private static func disable(
        _ id: String, _ reason: String, code: EndpointDisabling, failingSince: Int64?,
        on connection: PostgresConnection
    ) throws -> Bool {
        try connection.joinedTransaction {
            let isDisabled = try !connection.query(disable, [.text(id), .text(reason), .int8(failingSince)]).isEmpty
            if isDisabled { _ = try connection.query(noteDisabled, [.text(id), .text(code.rawValue)]) }
            return isDisabled
        }
    }

    /// Stops sending; what is open is held, not lost. False if there is no such endpoint.
    package static func disable(
        _ id: String, reason: String, on connection: PostgresConnection
    ) throws -> Bool {
        if try disable(id, reason, code: .byOperator, failingSince: nil, on: connection) { return true }
        return try connection.query(isThere, [.text(id)]).one().bool("is_there")
    }

    /// The same for a reason of its own. False if it is disabled already, or there is no such endpoint.
    ///
    /// - Parameter failingSince: only if its streak of failures still is the one that began then.
    package static func disable(
        _ id: String, because cause: EndpointDisabling, failingSince: Int64? = nil, on connection: PostgresConnection
    ) throws -> Bool {
        try disable(id, cause.text, code: cause, failingSince: failingSince, on: connection)
    }

    /// Sends again, also what was held meanwhile; what failed before counts no more. False if there is no such endpoint.
    package static func enable(_ id: String, on connection: PostgresConnection) throws -> Bool {
        try connection.query(
            """
            WITH durable AS MATERIALIZED (SELECT \(Durability.setting)),
            enabled AS (
                UPDATE entitled.endpoint SET disabled_reason = NULL, paused_until_ms = 0 FROM durable
                WHERE id = $1 AND removed_ms IS NULL RETURNING id
            ),
            healed AS (
                UPDATE entitled.endpoint_health h
                SET failing_since_ms = NULL, failures = 0, warned = 0, disabled_code = NULL, disabled_ms = NULL,
                    is_disabling_told = false
                FROM enabled WHERE h.endpoint = enabled.id
            )
            SELECT EXISTS (SELECT 1 FROM enabled)
            """, [.text(id)]
        ).one().bool("exists")
    }

    /// Takes it away; its open deliveries are given up, with the reason. False if there is no such endpoint.
    package static func remove(_ id: String, now: Int64, on connection: PostgresConnection) throws -> Bool {
        let removed = try change(
            id,
            """
            removed_ms = $2, disabled_reason = 'removed', authorization_sealed = NULL, has_authorization = false,
            header_names = '{}', headers_sealed = NULL
            """, [.int8(now)], on: connection)
        if removed {
            _ = try connection.query("DELETE FROM entitled.endpoint_secret WHERE endpoint = $1", [.text(id)])
            _ = try connection.query("DELETE FROM entitled.endpoint_health WHERE endpoint = $1", [.text(id)])
        }
        return removed
    }

    /// Changes the endpoint alone. Its deliveries follow (`DeliveryTable.followEndpoints`): a transaction that writes deliveries
    /// holds a share lock of the endpoint's row, so after this commit every one that was written under the former
    /// state can be seen, and no new one is.
    private static func change(
        _ id: String, _ assignment: String, _ values: [PostgresValue], on connection: PostgresConnection
    ) throws -> Bool {
        let rows = try connection.query(
            """
            WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
            UPDATE entitled.endpoint SET \(assignment) FROM durable
            WHERE id = $1 AND removed_ms IS NULL RETURNING id
            """, [.text(id)] + values)
        return !rows.isEmpty
    }

    /// Sends nothing to an endpoint before this instant, even where it was paused for longer.
    ///
    /// - Parameter until: ms since 1970.
    /// - Returns: false if there is no such endpoint.
    package static func pause(_ id: String, until: Int64, on connection: PostgresConnection) throws -> Bool {
        try !connection.query(
            "UPDATE entitled.endpoint SET paused_until_ms = $2 WHERE id = $1 AND removed_ms IS NULL RETURNING id",
            [.text(id), .int8(until)]
        ).isEmpty
    }

    /// Sends nothing before this instant; only ever later than planned.
    package static func pause(
        _ pauses: [String: Int64], on connection: PostgresConnection
    ) throws {
        let sorted = pauses.sorted { $0.key < $1.key }
        _ = try connection.query(
            """
            UPDATE entitled.endpoint e SET paused_until_ms = greatest(e.paused_until_ms, t.until)
            FROM unnest($1::text[], $2::int8[]) AS t(id, until) WHERE e.id = t.id
            """, [.texts(sorted.map(\.key)), .int8s(sorted.map(\.value))])
    }
}
