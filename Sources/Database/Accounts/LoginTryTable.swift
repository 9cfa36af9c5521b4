import Base
import Crypto
import Postgres

/// Attempts to log in with a password. They lie in the database, so that all processes count together, under digests: a typed
/// name may be a password by mistake.
package enum LoginTryTable {
    /// Failures that cost nothing, and ms in which they count.
    private static let free = 5
    private static let window: Int64 = 15 * 60_000

    /// As whom attempts count.
    package enum Subject: Sendable, Equatable {
        case name(String)
        /// A user who is logged in and has to tell the password again.
        case user(String)
        /// In CIDR notation.
        case network(String)

        fileprivate var digest: [UInt8] {
            switch self {
            case .name(let name): Digest.sha256(Array("name:\(name)".utf8))
            case .user(let name): Digest.sha256(Array("user:\(name)".utf8))
            case .network(let network): Digest.sha256(Array("net:\(network)".utf8))
            }
        }

        /// The longest wait, in ms. By a name it is short: otherwise any stranger who knows it could keep its owner out.
        fileprivate var longest: Int64 {
            switch self {
            case .name, .user: 30_000
            case .network: 15 * 60_000
            }
        }
    }

    /// Failures of a subject since its last success count.
    private static let count = """
        SELECT subject, count(*) AS failures, max(at_ms) AS last_ms FROM entitled.console_try t
        WHERE subject = ANY($1) AND at_ms > $2 AND is_failure AND at_ms > coalesce(
            (SELECT max(at_ms) FROM entitled.console_try s WHERE s.subject = t.subject AND NOT s.is_failure), 0)
        GROUP BY subject
        """

    /// How long the next attempt has to wait from now on, in ms; 0: it need not.
    ///
    /// - Parameter now: ms since 1970.
    package static func wait(
        for subjects: [Subject], now: Int64, on connection: PostgresConnection
    ) throws -> Int64 {
        let rows = try connection.query(count, [.byteas(subjects.map(\.digest)), .int8(now - window)])
        return try rows.map { row in
            let subject = try row.bytes("subject")
            let longest = subjects.first { $0.digest == subject }?.longest ?? 0
            let pause = pause(after: Int(try row.int("failures")), atMost: longest)
            return max(0, try row.int("last_ms") + pause - now)
        }.max() ?? 0
    }

    /// 2, 4, 8 … seconds from the fifth failure on; ms.
    package static func pause(after failures: Int, atMost longest: Int64) -> Int64 {
        guard failures >= free else { return 0 }
        return min(longest, 1000 << Int64(min(failures - free + 1, 20)))
    }

    /// Notes the outcome of an attempt. A success counts for the name alone: from the same network others may try other names.
    ///
    /// - Parameter now: ms since 1970.
    package static func note(
        _ subjects: [Subject], isFailure: Bool, now: Int64, on connection: PostgresConnection
    ) throws {
        let noted = subjects.filter { subject in
            if case .network = subject { isFailure } else { true }
        }
        _ = try connection.query(
            """
            INSERT INTO entitled.console_try (subject, at_ms, is_failure) SELECT s, $2, $3 FROM unnest($1::bytea[]) AS s
            """, [.byteas(noted.map(\.digest)), .int8(now), .bool(isFailure)])
    }
}
