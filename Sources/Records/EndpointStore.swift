import Base
import Crypto
import Postgres

/// Endpoints and their secrets in the database.
package enum EndpointStore {
    /// How long the previous secret stays alive after a rotation: a day, as consumers need it to change over.
    package static let overlap = Duration.seconds(86_400)

    private static let select = """
        SELECT id, url, authorization_sealed, environments, events, apps, disabled_reason, paused_until_ms, created_ms
        FROM entitled.endpoint WHERE removed_ms IS NULL AND ($1::text IS NULL OR id = $1) ORDER BY created_ms, id
        """

    private static let selectPublic = select.replacing("authorization_sealed", with: "NULL::bytea")

    private static let selectSecrets = """
        SELECT endpoint, sealed FROM entitled.endpoint_secret
        WHERE ($1::text IS NULL OR endpoint = $1) AND (expires_ms IS NULL OR expires_ms > $2)
        ORDER BY endpoint, created_ms DESC
        """

    /// Every endpoint with its opened secrets, or the one with this id. For the worker's role.
    package static func load(
        id: String? = nil, sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> [Endpoint] {
        var secrets: [String: [Redacted<[UInt8]>]] = [:]
        for row in try connection.query(selectSecrets, [.text(id), .int8(now)]) {
            let endpoint = try row.text(0)
            guard let secret = sealer.open(try row.bytes(1), for: endpoint) else { continue }
            secrets[endpoint, default: []].append(Redacted(secret))
        }
        return try read(select, id: id, sealer: sealer, secrets: secrets, on: connection)
    }

    /// The same without anything secret. For the api's role.
    package static func list(
        id: String? = nil, on connection: PostgresConnection
    ) throws -> [Endpoint] {
        try read(selectPublic, id: id, sealer: nil, secrets: [:], on: connection)
    }

    private static func read(
        _ sql: String, id: String?, sealer: SecretSealer?, secrets: [String: [Redacted<[UInt8]>]],
        on connection: PostgresConnection
    ) throws -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for row in try connection.query(sql, [.text(id)]) {
            let id = try row.text(0)
            let sealed = try row.optionalBytes(2)
            let opened = sealed.flatMap { sealer?.open($0, for: id) }
            endpoints.append(
                Endpoint(
                    id: id, url: try row.text(1),
                    authorization: opened.map { Redacted(String(decoding: $0, as: UTF8.self)) },
                    environments: try row.texts(3).compactMap { $0.flatMap(StoreEnvironment.init(rawValue:)) },
                    events: try row.texts(4).compactMap { $0 }, apps: try row.texts(5).compactMap { $0 }, disabledReason: try row.optionalText(6),
                    pausedUntil: try row.int(7), created: try row.int(8), secrets: secrets[id] ?? []))
        }
        return endpoints
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
        try change(
            id, "disabled_reason = coalesce(disabled_reason, $2)", [.text(reason)],
            deliveries: "state = \(DeliveryState.held.rawValue), reason = 'endpoint disabled'", [],
            in: [.pending], on: connection)
    }

    /// Sends again, also what was held meanwhile. False if there is no such endpoint.
    package static func enable(
        _ id: String, now: Int64, on connection: PostgresConnection
    ) throws -> Bool {
        try change(
            id, "disabled_reason = NULL, paused_until_ms = 0", [],
            deliveries: """
                state = \(DeliveryState.pending.rawValue), reason = NULL, next_ms = $2, round_start = attempts
                """, [.int8(now)], in: [.held], on: connection)
    }

    /// Takes it away; its open deliveries are given up, with the reason. False if there is no such endpoint.
    package static func remove(
        _ id: String, now: Int64, on connection: PostgresConnection
    ) throws -> Bool {
        let removed = try change(
            id, "removed_ms = $2, disabled_reason = 'removed'", [.int8(now)],
            deliveries: "state = \(DeliveryState.dead.rawValue), reason = 'endpoint removed'", [],
            in: [.pending, .held], on: connection)
        if removed {
            _ = try connection.query("DELETE FROM entitled.endpoint_secret WHERE endpoint = $1", [.text(id)])
        }
        return removed
    }

    /// Changes an endpoint, then its deliveries, in one transaction of two statements: whoever writes deliveries holds
    /// a share lock of the endpoint's row (`DeliveryStore`), so the second statement sees every delivery that was
    /// written under the endpoint's former state.
    private static func change(
        _ id: String, _ assignment: String, _ values: [PostgresValue], deliveries: String,
        _ deliveryValues: [PostgresValue], in states: [DeliveryState], on connection: PostgresConnection
    ) throws -> Bool {
        let list = states.map { String($0.rawValue) }.joined(separator: ", ")
        return try connection.transaction {
            _ = try connection.query("SELECT set_config('synchronous_commit', 'on', true)")
            let rows = try connection.query(
                "UPDATE entitled.endpoint SET \(assignment) WHERE id = $1 AND removed_ms IS NULL RETURNING id",
                [.text(id)] + values)
            guard !rows.isEmpty else { return false }
            _ = try connection.query(
                "UPDATE entitled.delivery SET \(deliveries) WHERE endpoint = $1 AND state IN (\(list))",
                [.text(id)] + deliveryValues)
            return true
        }
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
