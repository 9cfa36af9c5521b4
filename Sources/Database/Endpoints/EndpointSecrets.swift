import Base
import Crypto
import Postgres

/// The secrets and key pairs of endpoints: each signs from when it is made until its end.
package enum EndpointSecrets {
    enum Kind: Int16, ColumnDecodable {
        case secret = 0
        case keyPair = 1
    }

    /// How long former secrets sign at most after a rotation, unless something else is asked for.
    package static let standardOverlap = Duration.seconds(86_400)
    package static let overlapLimit = Duration.seconds(30 * 86_400)
    /// Secrets of an endpoint that live at a time; as many key pairs.
    package static let limit = 10

    /// A secret or key pair that signs, as everybody may see it.
    package struct Summary: Sendable, Equatable {
        /// Of a key pair: 32 bytes.
        package let publicKey: [UInt8]?
        /// Milliseconds.
        package let created: Int64
        /// When it ends; nil: it is the newest.
        package let expires: Int64?
    }

    /// Those of an endpoint that live, newest first. For the api's role.
    package static func list(
        of endpoint: String, now: Int64, on connection: PostgresConnection
    ) throws -> (secrets: [Summary], keyPairs: [Summary]) {
        let rows = try connection.query(
            """
            SELECT kind, public_key, created_ms, expires_ms FROM entitled.endpoint_secret
            WHERE endpoint = $1 AND (expires_ms IS NULL OR expires_ms > $2) ORDER BY created_ms DESC
            """, [.text(endpoint), .int8(now)])
        let found = try rows.map { row in
            (
                kind: try row.value("kind", as: Kind.self),
                summary: Summary(
                    publicKey: try row.optionalBytes("public_key"), created: try row.int("created_ms"),
                    expires: try row.optionalInt("expires_ms"))
            )
        }
        return (found.filter { $0.kind == .secret }.map(\.summary), found.filter { $0.kind == .keyPair }.map(\.summary))
    }

    // MARK: - Who signs with them

    /// So long senders sign with the secrets that they have read. Then they begin no request until they have looked whether
    /// there are others, which takes the database.
    package static let trust = Duration.seconds(2)
    /// So long after a rotation was committed no sender signs without the new secret, or with one that was ended: what a
    /// caller is told the rotation, and a little for the moment between a signature and its request.
    package static let spreading = trust + .milliseconds(500)

    private static let selectVersion = """
        SELECT (count(*) + coalesce(sum(created_ms + coalesce(expires_ms, 0)), 0))::int8 AS version
        FROM entitled.endpoint_secret
        """

    /// Another number whenever secrets were made, ended or removed.
    package static func version(on connection: PostgresConnection) throws -> Int64 {
        try connection.query(selectVersion).one().int("version")
    }

    // MARK: - Rotation

    package struct Rotated: Sendable {
        package let secret: WebhookSecret
        /// Of the new key pair, where the endpoint has one.
        package let publicKey: [UInt8]?
        /// When the last of the former ones ends; nil if none lives any more.
        package let formerEnd: Int64?
    }

    /// So many secrets live already, and the first of them ends then.
    package struct TooMany: Error, Sendable, Equatable {
        package let firstEnd: Int64
    }

    /// Makes a new secret, and a new key pair where there is one. Each former one keeps the end that it has, but ends
    /// after `overlap` at the latest: zero ends all of them now. Nil if there is no such endpoint.
    ///
    /// - Parameter secret: what the consumer has already; nil: a new one.
    /// - Throws: `TooMany`, `SealingKeyRegister.Missing`.
    package static func rotate(
        of id: String, to secret: WebhookSecret? = nil, overlap: Duration = standardOverlap, sealer: SecretSealer,
        now: Int64,
        on connection: PostgresConnection
    ) throws -> Rotated? {
        try SealingKeyRegister.sealing(with: sealer, now: now, on: connection) { sealer in
            guard try lockEndpoint(id, on: connection) else { return nil }
            let hasKeyPair = try !list(of: id, now: now, on: connection).keyPairs.isEmpty
            try endFormer(of: id, at: now + overlap.milliseconds, now: now, on: connection)
            let former = try list(of: id, now: now, on: connection)
            for kind in [former.secrets, former.keyPairs] where kind.count >= limit {
                throw TooMany(firstEnd: kind.compactMap(\.expires).min() ?? now)
            }
            return Rotated(
                secret: try add(secret ?? .generate(), to: id, sealer, now: now, on: connection),
                publicKey: hasKeyPair ? try makeKeyPair(of: id, sealer, now: now, on: connection) : nil,
                formerEnd: former.secrets.compactMap(\.expires).max())
        }
    }

    /// Holds the row until the transaction ends; false if there is no such endpoint.
    static func lockEndpoint(_ id: String, on connection: PostgresConnection) throws -> Bool {
        try !connection.query(
            "SELECT 1 FROM entitled.endpoint WHERE id = $1 AND removed_ms IS NULL FOR NO KEY UPDATE", [.text(id)]
        ).isEmpty
    }

    private static func endFormer(
        of id: String, at end: Int64, now: Int64, on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            "UPDATE entitled.endpoint_secret SET expires_ms = least(expires_ms, $2) WHERE endpoint = $1",
            [.text(id), .int8(end)])
        _ = try connection.query(
            "DELETE FROM entitled.endpoint_secret WHERE endpoint = $1 AND expires_ms <= $2", [.text(id), .int8(now)])
    }

    // MARK: - Making

    /// In a transaction that seals (`SealingKeyRegister.sealing`).
    static func add(
        _ secret: WebhookSecret, to id: String, _ sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> WebhookSecret {
        try insert(.secret, try sealer.seal(secret.plaintext, for: id), nil, of: id, now: now, on: connection)
        return secret
    }

    /// The public half.
    static func makeKeyPair(
        of id: String, _ sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> [UInt8] {
        let seed = SecureRandom.bytes(Ed25519Key.size)
        guard let key = Ed25519Key(seed: seed) else { throw NoKeyPair() }
        let sealed = try sealer.seal(seed, for: SecretSealer.signingKey(of: id))
        try insert(.keyPair, sealed, key.publicKey, of: id, now: now, on: connection)
        return key.publicKey
    }

    /// OpenSSL has no ed25519.
    struct NoKeyPair: Error {}

    /// After all others of its kind, also within a millisecond.
    private static func insert(
        _ kind: Kind, _ sealed: [UInt8], _ publicKey: [UInt8]?, of id: String, now: Int64,
        on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            """
            INSERT INTO entitled.endpoint_secret (endpoint, kind, created_ms, sealed, public_key)
            SELECT $1::text, $2::int2, greatest($3::int8, coalesce(max(created_ms), 0) + 1), $4::bytea, $5::bytea
            FROM entitled.endpoint_secret WHERE endpoint = $1 AND kind = $2
            """, [.text(id), .int2(kind.rawValue), .int8(now), .bytea(sealed), .bytea(publicKey)])
    }

    /// Ends all secrets, whether a key opens them or not, and makes a new one. Key pairs stay as they are. In a
    /// transaction that seals.
    static func replace(
        of id: String, _ sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> WebhookSecret {
        _ = try connection.query(
            "DELETE FROM entitled.endpoint_secret WHERE endpoint = $1 AND kind = $2",
            [.text(id), .int2(Kind.secret.rawValue)])
        return try add(.generate(), to: id, sealer, now: now, on: connection)
    }

    /// No key pair signs any more.
    static func removeKeyPairs(of id: String, on connection: PostgresConnection) throws {
        _ = try connection.query(
            "DELETE FROM entitled.endpoint_secret WHERE endpoint = $1 AND kind = $2",
            [.text(id), .int2(Kind.keyPair.rawValue)])
    }
}
