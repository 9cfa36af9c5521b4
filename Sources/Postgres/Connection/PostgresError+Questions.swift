/// What the program asks of an error before it decides how to go on. A test has the answers for every code that is judged.
extension PostgresError {
    /// Nil where no server answered.
    package var cause: PostgresCause? { sqlstate.map { PostgresCause(sqlstate: $0) } }

    package var fault: PostgresFault {
        if let cause { return cause.fault }
        return switch kind {
        case .connection: .away
        case .encoding, .decoding: .work
        case .query, .configuration: .setup
        }
    }

    /// Whether the session is gone, or there was none. The server need not be away: it ends a session that stood still, too.
    package var isConnectionLost: Bool { kind == .connection }

    /// Whether the same work, done again as a whole and on a new connection if need be, may succeed.
    ///
    /// Says nothing about whether doing it again is safe: see `outcomeUnknown`.
    package var isRetryable: Bool { isConnectionLost || cause?.isWorthRetrying ?? false }

    /// Whether another transaction was at the same rows or tables: this one yields, and is done again later.
    package var isContention: Bool { cause == .victim || cause == .locked }

    /// Whether the transaction was rolled back so that another one goes on. It may begin again at once, where waiting for a lock
    /// in vain has taken its time already.
    package var isVictim: Bool { cause == .victim }

    /// Whether another session changes the same object of the catalogue. Postgres reports that as an internal error, and gives
    /// others of these the same code: bound the attempts.
    package var isCatalogueContention: Bool { isContention || cause == .internalError }

    /// Whether the statement was cancelled, by a time limit as a rule.
    package var isCancelled: Bool { cause == .cancelled }

    /// Whether the time of a statement, of an idle transaction or of a transaction ran out.
    package var isTimeout: Bool { cause == .cancelled || cause == .stalled }

    /// Whether the server takes no writes: a standby where the primary was.
    package var isOfStandby: Bool { cause == .standby }

    /// Whether what was written or read is at fault, and not the schema, a privilege or the server: other rows may do. A damaged
    /// row is the server's trouble, and yet other rows may do.
    package var isOfData: Bool {
        kind == .encoding || kind == .decoding || cause == .data || cause == .damagedRow
    }

    /// The same where it lies in a value, so that rows with other values are stored for certain. A constraint may fail for each,
    /// as a partition that is missing does, and a damaged index, too.
    package var isOfOneRow: Bool {
        isOfData && cause != .damagedRow && sqlstate?.hasPrefix("23") != true
    }

    /// Whether the role lacks a privilege.
    package var isForbidden: Bool { cause == .forbidden }

    /// Whether the schema has no such table, column or namespace.
    package var isUndefined: Bool { cause == .undefined }

    /// Codes after which it is unknown whether the statement was committed.
    static let unknownOutcomes: Set<String> = ["40003", "08007"]
}

extension Error {
    /// Whose trouble it is; what is no error of Postgres lies in the work.
    package var fault: PostgresFault { (self as? PostgresError)?.fault ?? .work }

    package var isConnectionLost: Bool { (self as? PostgresError)?.isConnectionLost ?? false }

    package var isTimeout: Bool { (self as? PostgresError)?.isTimeout ?? false }
}
