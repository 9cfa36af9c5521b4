import Base
import Crypto
import Postgres

/// Endpoints and their secrets in the database.
package enum EndpointStore {
    /// How long the previous secret stays alive after a rotation: a day, as consumers need it to change over.
    package static let overlap = Duration.seconds(86_400)

    private static let columns = """
        e.id, e.url, e.environments, e.events, e.apps, e.disabled_reason, e.paused_until_ms, e.created_ms
        """
    private static let living = """
        FROM entitled.endpoint e WHERE e.removed_ms IS NULL AND ($1::text IS NULL OR e.id = $1)
        ORDER BY e.created_ms, e.id
        """

    /// With its live secrets, newest first, in one statement: an endpoint is never seen without its secret.
    private static let selectSealed = """
        SELECT \(columns), e.authorization_sealed, ARRAY(
            SELECT s.sealed FROM entitled.endpoint_secret s
            WHERE s.endpoint = e.id AND (s.expires_ms IS NULL OR s.expires_ms > $2) ORDER BY s.created_ms DESC
        )
        \(living)
        """

    /// Every endpoint with its opened secrets, or the one with this id. For the worker's role.
    package static func load(
        id: String? = nil, sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> [Endpoint] {
        try connection.query(selectSealed, [.text(id), .int8(now)]).map { row in
            let id = try row.text(0)
            let sealed = try row.byteStrings(9).compactMap { $0 }
            let secrets = sealed.compactMap { sealer.open($0, for: id) }
            let sealedAuthorization = try row.optionalBytes(8)
            let authorization = sealedAuthorization.flatMap { sealer.open($0, for: id) }
            let isWhole = secrets.count == sealed.count && (sealedAuthorization == nil) == (authorization == nil)
            return try endpoint(
                row, authorization: authorization.map { Redacted(String(decoding: $0, as: UTF8.self)) },
                secrets: secrets.map { Redacted($0) }, isSendable: isWhole && !secrets.isEmpty)
        }
    }

    /// The same without anything secret. For the api's role.
    package static func list(id: String? = nil, on connection: PostgresConnection) throws -> [Endpoint] {
        try connection.query("SELECT \(columns) \(living)", [.text(id)]).map { try endpoint($0) }
    }

    /// The same, with a share lock on each row until the transaction ends: none is disabled or removed meanwhile.
    static func lock(on connection: PostgresConnection) throws -> [Endpoint] {
        try connection.query("SELECT \(columns) \(living) FOR SHARE OF e", [.text(nil)]).map { try endpoint($0) }
    }

    /// The same for one endpoint; nil if there is no such.
    package static func lock(_ id: String, on connection: PostgresConnection) throws -> Endpoint? {
        try connection.query("SELECT \(columns) \(living) FOR SHARE OF e", [.text(id)]).first.map { try endpoint($0) }
    }

    private static func endpoint(
        _ row: PostgresRow, authorization: Redacted<String>? = nil, secrets: [Redacted<[UInt8]>] = [],
        isSendable: Bool = false
    ) throws -> Endpoint {
        Endpoint(
            id: try row.text(0), url: try row.text(1), authorization: authorization,
            environments: try row.texts(2).compactMap { $0.flatMap(StoreEnvironment.init(rawValue:)) },
            events: try row.texts(3).compactMap { $0 }, apps: try row.texts(4).compactMap { $0 },
            disabledReason: try row.optionalText(5), pausedUntil: try row.int(6), created: try row.int(7),
            secrets: secrets, isSendable: isSendable)
    }

    private static let selectSecrets = """
        SELECT endpoint, created_ms, sealed FROM entitled.endpoint_secret FOR UPDATE
        """
    private static let selectAuthorizations = """
        SELECT id, authorization_sealed FROM entitled.endpoint
        WHERE authorization_sealed IS NOT NULL AND removed_ms IS NULL FOR UPDATE
        """

    /// What `reseal` found.
    package struct Resealing: Sendable, Equatable {
        package var opened = 0
        package var unreadable = 0
    }

    /// Seals everything that opens with the newest key, so that older keys can be given up.
    package static func reseal(with sealer: SecretSealer, on connection: PostgresConnection) throws -> Resealing {
        var found = Resealing()
        for row in try connection.query(selectSecrets) {
            let (id, sealed) = (try row.text(0), try row.bytes(2))
            guard let plain = sealer.open(sealed, for: id) else {
                found.unreadable += 1
                continue
            }
            found.opened += 1
            guard !sealer.isNewest(sealed, for: id) else { continue }
            _ = try connection.query(
                "UPDATE entitled.endpoint_secret SET sealed = $3 WHERE endpoint = $1 AND created_ms = $2",
                [.text(id), .int8(try row.int(1)), .bytea(try sealer.seal(plain, for: id))])
        }
        for row in try connection.query(selectAuthorizations) {
            let (id, sealed) = (try row.text(0), try row.bytes(1))
            guard let plain = sealer.open(sealed, for: id) else {
                found.unreadable += 1
                continue
            }
            found.opened += 1
            guard !sealer.isNewest(sealed, for: id) else { continue }
            _ = try connection.query(
                "UPDATE entitled.endpoint SET authorization_sealed = $2 WHERE id = $1",
                [.text(id), .bytea(try sealer.seal(plain, for: id))])
        }
        return found
    }

    package struct Added: Sendable {
        package let id: String
        package let secret: Redacted<[UInt8]>
    }

    /// Makes an endpoint with its first secret, which is not shown again.
    package static func add(
        url: String, authorization: String?, environments: [StoreEnvironment], events: [String], apps: [String],
        sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> Added {
        let id = "we_" + Hex.encode(SecureRandom.bytes(8))
        let secret = SecureRandom.bytes(WebhookSecret.length)
        _ = try connection.query(
            """
            WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)),
            secret AS (
                INSERT INTO entitled.endpoint_secret (endpoint, created_ms, sealed)
                SELECT $1::text, $7::int8, $8::bytea FROM durable
            )
            INSERT INTO entitled.endpoint
                (id, url, authorization_sealed, environments, events, apps, created_ms)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
            [
                .text(id), .text(url),
                try authorization.map { .bytea(try sealer.seal(Array($0.utf8), for: id)) } ?? .bytea(nil),
                .texts(environments.map(\.rawValue)), .texts(events), .texts(apps), .int8(now),
                .bytea(try sealer.seal(secret, for: id)),
            ])
        return Added(id: id, secret: Redacted(secret))
    }

    /// Makes a new secret; the newest one before it stays alive for `overlap`, older ones end now. Nil if there is no
    /// such endpoint.
    package static func rotateSecret(
        of id: String, sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> Redacted<[UInt8]>? {
        let secret = SecureRandom.bytes(WebhookSecret.length)
        let rows = try connection.query(
            """
            WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true)),
            target AS MATERIALIZED (
                SELECT id FROM entitled.endpoint, durable WHERE id = $1 AND removed_ms IS NULL FOR NO KEY UPDATE
            ),
            newest AS MATERIALIZED (
                SELECT max(created_ms) AS created_ms FROM entitled.endpoint_secret WHERE endpoint = $1
            ),
            ended AS (
                UPDATE entitled.endpoint_secret s
                SET expires_ms = CASE WHEN s.created_ms = newest.created_ms THEN $2::int8 + $3::int8 ELSE $2::int8 END
                FROM newest, target WHERE s.endpoint = target.id AND (s.expires_ms IS NULL OR s.expires_ms > $2)
            )
            INSERT INTO entitled.endpoint_secret (endpoint, created_ms, sealed)
            SELECT target.id, greatest($2::int8, coalesce(newest.created_ms, 0) + 1), $4::bytea FROM target, newest
            RETURNING endpoint
            """,
            [
                .text(id), .int8(now), .int8(overlap.milliseconds), .bytea(try sealer.seal(secret, for: id)),
            ])
        return rows.isEmpty ? nil : Redacted(secret)
    }

    /// Stops sending; what is open is held, not lost. False if there is no such endpoint.
    package static func disable(
        _ id: String, reason: String, on connection: PostgresConnection
    ) throws -> Bool {
        try change(id, "disabled_reason = coalesce(disabled_reason, $2)", [.text(reason)], on: connection)
    }

    /// Sends again, also what was held meanwhile. False if there is no such endpoint.
    package static func enable(_ id: String, on connection: PostgresConnection) throws -> Bool {
        try change(id, "disabled_reason = NULL, paused_until_ms = 0", [], on: connection)
    }

    /// Takes it away; its open deliveries are given up, with the reason. False if there is no such endpoint.
    package static func remove(_ id: String, now: Int64, on connection: PostgresConnection) throws -> Bool {
        let removed = try change(id, "removed_ms = $2, disabled_reason = 'removed'", [.int8(now)], on: connection)
        if removed {
            _ = try connection.query("DELETE FROM entitled.endpoint_secret WHERE endpoint = $1", [.text(id)])
        }
        return removed
    }

    /// Changes the endpoint alone. Its deliveries follow (`DeliveryStore.followEndpoints`): whoever writes deliveries
    /// holds a share lock of the endpoint's row, so after this commit every one that was written under the former
    /// state can be seen, and no new one is.
    private static func change(
        _ id: String, _ assignment: String, _ values: [PostgresValue], on connection: PostgresConnection
    ) throws -> Bool {
        let rows = try connection.query(
            """
            WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true))
            UPDATE entitled.endpoint SET \(assignment) FROM durable
            WHERE id = $1 AND removed_ms IS NULL RETURNING id
            """, [.text(id)] + values)
        return !rows.isEmpty
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
