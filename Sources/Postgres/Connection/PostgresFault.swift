/// Whose trouble an error of Postgres is (Postgres manual, appendix A: error codes).
package enum PostgresFault: String, Sendable, CaseIterable {
    /// The server is away, or not the one that takes writes: a new connection may find it.
    case away
    /// It passes, or it is the server's own: the same work, done again, may succeed. Where it happens again and again for the same
    /// work and for no other, it is the work's.
    case passing
    /// What the statement was given cannot be stored or computed.
    case work
    /// Neither this work's nor passing: the schema, a right, the program.
    case setup

    /// Of these whatever begins with a listed class or is a listed code; the longest match counts.
    package static let table: [(code: String, fault: PostgresFault)] = [
        // Connection exceptions.
        ("08", .away),
        // Too many connections, while connecting.
        ("53300", .away),
        // A standby where the primary was.
        ("25006", .away),
        // Ended by an administrator, a crash, a start, a dropped database, idleness.
        ("57P01", .away), ("57P02", .away), ("57P03", .away), ("57P04", .away), ("57P05", .away),
        // Cancelled, by a time limit as a rule.
        ("57014", .passing),
        // Idle in a transaction, and a transaction that took too long: this process stood still.
        ("25P03", .passing), ("25P04", .passing),
        ("25P02", .passing),
        // Serialization, deadlock; a lock that was not to be had; the object is in use.
        ("40", .passing), ("55P03", .passing), ("55006", .passing),
        // No disk, no memory; the system.
        ("53", .passing), ("58", .passing), ("XX", .passing),
        // Cardinality, data, constraints, limits of the program.
        ("21", .work), ("22", .work), ("23", .work), ("54", .work),
    ]

    package init(sqlstate: String) {
        let matches = PostgresFault.table.filter { sqlstate.hasPrefix($0.code) }
        self = matches.max { $0.code.count < $1.code.count }?.fault ?? .setup
    }

    /// The time of a statement, of an idle transaction, of a transaction ran out.
    package static let timeouts: Set<String> = ["57014", "25P03", "25P04"]
}

extension PostgresError {
    package var fault: PostgresFault {
        if let sqlstate { return PostgresFault(sqlstate: sqlstate) }
        return switch kind {
        case .connection: .away
        case .encoding, .decoding: .work
        case .query, .configuration: .setup
        }
    }

    /// Whether time ran out.
    package var isTimeout: Bool { sqlstate.map(PostgresFault.timeouts.contains) ?? false }
}
