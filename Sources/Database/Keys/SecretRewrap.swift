import Base
import Postgres

/// Seals everything with the newest key, so that older keys can be given up.
///
/// The newest key is noted as the one in use first: whatever is sealed from then on has it. The rest follows value by
/// value, so that no transaction of a worker waits for an endpoint; cut short, it is begun again.
package enum SecretRewrap {
    /// A sealed value that no key opens.
    package struct Unreadable: Sendable, Equatable {
        package let endpoint: String
        /// `secret`, `private key`, `authorization` or `headers`.
        package let what: String
    }

    package struct RewrapResult: Sendable, Equatable {
        /// Values that the newest key seals now.
        package var sealed = 0
        /// Those of them that another key sealed before.
        package var changed = 0
        package var unreadable: [Unreadable] = []
    }

    /// - Parameters:
    ///   - patience: how long ago a worker may have been seen that must know the key; ms.
    ///   - isForced: whatever workers lack, and also if the key in use is lost. What it sealed is unreadable then, and
    ///     has to be given anew.
    /// - Throws: `Unprepared`, before anything is changed; `SealingKeyRegister.Missing`.
    package static func run(
        with sealer: SecretSealer, patience: Int64, isForced: Bool = false, now: Int64,
        on connection: PostgresConnection
    ) throws -> RewrapResult {
        if !isForced { try SealingKeyRegister.check(sealer, now: now, on: connection) }
        try SealingKeyRegister.exclusively(on: connection) {
            let hosts = isForced ? [] : try lacking(sealer.fingerprint, patience, on: connection)
            guard hosts.isEmpty else { throw Unprepared(hosts: hosts) }
            if try SealingKeyRegister.inUse(on: connection) != sealer.fingerprint {
                try SealingKeyRegister.use(sealer.fingerprint, now: now, on: connection)
            }
            _ = try connection.query("DELETE FROM entitled.endpoint_secret WHERE expires_ms <= $1", [.int8(now)])
        }
        var outcome = RewrapResult()
        for value in try values(on: connection) {
            guard let plain = sealer.open(value.sealed, for: value.bound) else {
                outcome.unreadable.append(Unreadable(endpoint: value.endpoint, what: value.what))
                continue
            }
            outcome.sealed += 1
            guard !sealer.isNewest(value.sealed, for: value.bound) else { continue }
            outcome.changed += 1
            try replace(value, by: try sealer.seal(plain, for: value.bound), on: connection)
        }
        return outcome
    }

    // MARK: - Who has the key

    /// Workers run that lack the newest key: what it seals they could not open.
    package struct Unprepared: Error, Sendable, Equatable {
        package let hosts: [String]
    }

    private static func lacking(
        _ fingerprint: String, _ patience: Int64, on connection: PostgresConnection
    ) throws -> [String] {
        try connection.query(
            """
            SELECT DISTINCT host FROM entitled.worker
            WHERE seen_at > clock_timestamp() - $2 * interval '1 millisecond' AND NOT sealing_keys @> ARRAY[$1::text]
            ORDER BY host
            """, [.text(fingerprint), .int8(patience)]
        ).map { try $0.text("host") }
    }

    // MARK: - The values

    private struct Value {
        let endpoint: String
        let what: String
        let bound: String
        let sealed: [UInt8]
        /// Changes the value where it is still the one that was read; $1 endpoint, $2 new, $3 old.
        let update: String
    }

    private static let select = """
        SELECT endpoint, kind, sealed FROM entitled.endpoint_secret
        UNION ALL SELECT id, 2, authorization_sealed FROM entitled.endpoint
            WHERE authorization_sealed IS NOT NULL AND removed_ms IS NULL
        UNION ALL SELECT id, 3, headers_sealed FROM entitled.endpoint
            WHERE headers_sealed IS NOT NULL AND removed_ms IS NULL
        ORDER BY 1, 2
        """

    private static func values(on connection: PostgresConnection) throws -> [Value] {
        try connection.query(select).map { row in
            let (id, sealed) = (try row.text("endpoint"), try row.bytes("sealed"))
            func value(_ what: String, boundTo bound: String, _ target: String, _ column: String) -> Value {
                Value(
                    endpoint: id, what: what, bound: bound, sealed: sealed,
                    update: """
                        WITH durable AS MATERIALIZED (SELECT \(Durability.setting))
                        UPDATE entitled.\(target) SET \(column) = $2 FROM durable WHERE \(key(target)) = $1
                            AND \(column) = $3
                        """)
            }
            let signingKey = SecretSealer.signingKey(of: id)
            switch try row.int("kind") {
            case 0: return value("secret", boundTo: id, "endpoint_secret", "sealed")
            case 1: return value("private key", boundTo: signingKey, "endpoint_secret", "sealed")
            case 2: return value("authorization", boundTo: id, "endpoint", "authorization_sealed")
            default: return value("headers", boundTo: SecretSealer.headers(of: id), "endpoint", "headers_sealed")
            }
        }
    }

    private static func key(_ table: String) -> String { table == "endpoint" ? "id" : "endpoint" }

    /// A value that was changed meanwhile has the newest key already.
    private static func replace(_ value: Value, by sealed: [UInt8], on connection: PostgresConnection) throws {
        _ = try connection.query(value.update, [.text(value.endpoint), .bytea(sealed), .bytea(value.sealed)])
    }
}
