import Base
import Postgres

/// Which of the keys seals: one for the whole installation, noted in the database, whatever order a host lists its keys
/// in. So nothing is sealed with a key that other hosts may not have yet, until an operator asks for it (`SecretRewrap`).
package enum SealingKeyRegister {
    /// The key in use is not among those of this host.
    package struct Missing: Error, Sendable, Equatable, CustomStringConvertible {
        package let fingerprint: String
        package var description: String {
            "the key \(fingerprint), which seals the webhook secrets, is not on this host"
        }
    }

    /// The fingerprint of the key that seals; nil before the first process.
    package static func inUse(on connection: PostgresConnection) throws -> String? {
        try connection.query(
            "SELECT fingerprint FROM entitled.sealing_key ORDER BY created_ms DESC, fingerprint LIMIT 1"
        ).first?.text("fingerprint")
    }

    /// Notes the first key of an installation. Among processes that begin at once one makes the key.
    ///
    /// - Parameter make: reads this host's keys, or makes one; not run where the database knows a key already.
    package static func begin(
        now: Int64, on connection: PostgresConnection, making make: () throws -> SecretSealer
    ) throws {
        guard try inUse(on: connection) == nil else { return }
        try exclusively(on: connection) {
            if try inUse(on: connection) == nil { try use(try make().fingerprint, now: now, on: connection) }
        }
    }

    /// The key in use, if it is not among these.
    package static func missing(from sealer: SecretSealer, on connection: PostgresConnection) throws -> String? {
        try inUse(on: connection).flatMap { sealer.fingerprints.contains($0) ? nil : $0 }
    }

    /// The hosts of live workers that have this key.
    ///
    /// - Parameter patience: how long ago a worker may have been seen; ms.
    static func hosts(
        with fingerprint: String, patience: Int64, on connection: PostgresConnection
    ) throws -> [String] {
        try connection.query(
            """
            SELECT DISTINCT host FROM entitled.worker
            WHERE seen_at > clock_timestamp() - $2 * interval '1 millisecond' AND sealing_keys @> ARRAY[$1::text]
            ORDER BY host
            """, [.text(fingerprint), .int8(patience)]
        ).map { try $0.text("host") }
    }

    /// Notes the key as the one that seals from now on.
    static func use(_ fingerprint: String, now: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(
            """
            INSERT INTO entitled.sealing_key (fingerprint, created_ms)
            SELECT $1::text, greatest($2::int8, coalesce(max(created_ms), 0) + 1) FROM entitled.sealing_key
            ON CONFLICT (fingerprint) DO UPDATE SET created_ms = excluded.created_ms
            """, [.text(fingerprint), .int8(now)])
    }

    /// Whether a process with these keys can work here; the first one of an installation has its newest key noted.
    ///
    /// - Throws: `Missing`.
    package static func check(_ sealer: SecretSealer, now: Int64, on connection: PostgresConnection) throws {
        if let known = try inUse(on: connection), sealer.fingerprints.contains(known) { return }
        try exclusively(on: connection) { _ = try chosen(sealer, now: now, on: connection) }
    }

    /// Seals with the key in use. It does not change before the transaction is over, so that a process that seals everything
    /// anew afterwards finds what was sealed here.
    ///
    /// - Throws: `Missing`.
    static func sealing<Result>(
        with sealer: SecretSealer, now: Int64, on connection: PostgresConnection,
        _ body: (SecretSealer) throws -> Result
    ) throws -> Result {
        try exclusively(on: connection) { try body(try chosen(sealer, now: now, on: connection)) }
    }

    /// In a transaction of its own, unless the caller has begun one.
    static func exclusively<Result>(
        on connection: PostgresConnection, _ body: () throws -> Result
    ) throws -> Result {
        func locked() throws -> Result {
            // Endpoints are changed in here, whose rows every transaction that makes events shares: a command that is
            // stopped half-way must not keep them for long.
            _ = try connection.query(
                """
                SELECT \(Durability.setting),
                    set_config('idle_in_transaction_session_timeout', '5s', true)
                """)
            _ = try connection.query("LOCK TABLE entitled.sealing_key IN SHARE ROW EXCLUSIVE MODE")
            return try body()
        }
        return try connection.isInTransaction ? locked() : connection.transaction(locked)
    }

    private static func chosen(
        _ sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> SecretSealer {
        guard let known = try inUse(on: connection) else {
            try use(sealer.fingerprint, now: now, on: connection)
            return sealer
        }
        guard let chosen = sealer.preferring(known) else { throw Missing(fingerprint: known) }
        return chosen
    }
}
