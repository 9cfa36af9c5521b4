import Base
import Postgres

/// Attempts to log in with a password. They lie in the database, so that all processes count together.
package enum LoginTryTable {
    /// Failures that cost nothing, ms in which they count, and the longest wait in ms.
    private static let free = 5
    private static let window: Int64 = 15 * 60_000
    private static let longest: Int64 = 15 * 60_000
    private static let kept: Int64 = 86_400_000

    /// As whom attempts count.
    package enum Subject: Sendable, Equatable {
        case name(String)
        /// In CIDR notation.
        case network(String)

        fileprivate var text: String {
            switch self {
            case .name(let name): "name:\(name)"
            case .network(let network): "net:\(network)"
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
        let rows = try connection.query(count, [.texts(subjects.map(\.text)), .int8(now - window)])
        return try rows.map { row in
            max(0, try row.int("last_ms") + pause(after: Int(try row.int("failures"))) - now)
        }.max() ?? 0
    }

    /// 2, 4, 8 … seconds from the fifth failure on; ms.
    package static func pause(after failures: Int) -> Int64 {
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
            if case .name = subject { true } else { isFailure }
        }
        _ = try connection.query(
            "INSERT INTO entitled.console_try (subject, at_ms, is_failure) SELECT s, $2, $3 FROM unnest($1::text[]) AS s",
            [.texts(noted.map(\.text)), .int8(now), .bool(isFailure)])
        _ = try connection.query("DELETE FROM entitled.console_try WHERE at_ms < $1", [.int8(now - kept)])
    }
}
