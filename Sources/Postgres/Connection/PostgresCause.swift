/// Why Postgres ended a statement or a session, as far as this program tells the reasons apart (Postgres manual, appendix A:
/// error codes).
///
/// Every question about an error of Postgres (`PostgresError+Questions.swift`) follows from its cause, so that all places that
/// ask it get one answer.
package enum PostgresCause: String, Sendable, CaseIterable {
    /// The connection failed; too many connections; ended by an administrator, a crash, a start, a dropped database, idleness.
    case away
    /// A standby where the primary was.
    case standby
    /// Idle in a transaction, or a transaction that took too long: this process stood still.
    case stalled
    /// By a time limit as a rule.
    case cancelled
    /// Chosen to end a deadlock, or overtaken by a change of the same row; the transaction left nothing.
    case victim
    /// A lock was not to be had in time.
    case locked
    /// Rolled back for another reason; the object is in use.
    case busy
    /// No disk, no memory; reading or writing a file failed.
    case resources
    /// After an error in the same transaction, which had its own reason.
    case aborted
    /// Postgres says so, too, where two sessions write the same row of the catalogue.
    case internalError
    /// A row's storage is corrupted.
    case damagedRow
    /// Other faults of the server, which a person has to mend.
    case server
    /// Cardinality, data, constraints, limits of the program.
    case data
    /// A privilege is missing.
    case forbidden
    /// The schema has no such table, column or namespace: an older one, as a rule.
    case undefined
    /// Everything else: the schema, a setting, the program.
    case other

    /// Of these whatever begins with a listed class or is a listed code; the longest match counts.
    package static let table: [(code: String, cause: PostgresCause)] = [
        ("08", .away), ("53300", .away),
        ("57P01", .away), ("57P02", .away), ("57P03", .away), ("57P04", .away), ("57P05", .away),
        ("25006", .standby),
        ("25P03", .stalled), ("25P04", .stalled),
        ("57014", .cancelled),
        ("40001", .victim), ("40P01", .victim),
        ("55P03", .locked),
        ("40", .busy), ("55006", .busy),
        ("53", .resources), ("58030", .resources),
        ("25P02", .aborted),
        ("XX000", .internalError), ("XX001", .damagedRow), ("XX", .server), ("58", .server),
        ("21", .data), ("22", .data), ("23", .data), ("54", .data),
        ("42501", .forbidden),
        ("42P01", .undefined), ("42703", .undefined), ("3F000", .undefined),
    ]

    package init(sqlstate: String) {
        let matches = PostgresCause.table.filter { sqlstate.hasPrefix($0.code) }
        self = matches.max { $0.code.count < $1.code.count }?.cause ?? .other
    }

    /// Whose trouble it is.
    package var fault: PostgresFault {
        switch self {
        case .away, .standby: .away
        case .stalled, .cancelled, .victim, .locked, .busy, .resources, .aborted, .internalError, .damagedRow, .server:
            .passing
        case .data: .work
        case .forbidden, .undefined, .other: .setup
        }
    }

    /// Whether the server ends the session with it.
    var endsSession: Bool { self == .away || self == .stalled }

    /// Whether a client that asks again some seconds later may be answered. Not so of what is passing only because it is no
    /// work's: corrupted files and internal errors, which a log line of level error has to show.
    var isWorthRetrying: Bool {
        switch self {
        case .away, .standby, .stalled, .cancelled, .victim, .locked, .busy, .resources: true
        case .aborted, .internalError, .damagedRow, .server, .data, .forbidden, .undefined, .other: false
        }
    }
}
