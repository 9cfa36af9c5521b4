/// What went wrong between this process and Postgres.
///
/// Its description is safe to log: it never holds parameters, the details of a row, or a password.
package struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// The server is away, refuses us for now, or the connection was lost; a new connection may help.
        case connection
        /// The server answered a statement with an error; `sqlstate` says which.
        case query
        /// A parameter that Postgres cannot take, found before anything was sent.
        case encoding
        /// A result that is not of the type the caller reads.
        case decoding
        /// The connection string cannot be used as it is.
        case configuration
    }

    package let kind: Kind
    /// Five characters (Postgres manual, appendix A); nil where no server answered.
    package let sqlstate: String?
    package let message: String
    /// The violated constraint's name, where there is one.
    package let constraint: String?
    /// True if the statement may have been committed although it failed: the connection was lost while it committed.
    package let outcomeUnknown: Bool

    package init(
        _ kind: Kind, _ message: String, sqlstate: String? = nil, constraint: String? = nil,
        outcomeUnknown: Bool = false
    ) {
        self.kind = kind
        self.message = message
        self.sqlstate = sqlstate
        self.constraint = constraint
        self.outcomeUnknown = outcomeUnknown
    }

    /// Whether the same work, done again as a whole and on a new connection if need be, may succeed.
    ///
    /// Says nothing about whether doing it again is safe: see `outcomeUnknown`.
    package var isRetryable: Bool {
        if kind == .connection { return true }
        guard let sqlstate else { return false }
        // Deadlocks and serialization, resources, locks and cancels; a standby where the primary was.
        return ["40", "53", "08"].contains(String(sqlstate.prefix(2)))
            || ["55P03", "57014", "25006", "58030"].contains(sqlstate)
    }

    /// Whether what was written or read is at fault, and not the schema, a privilege or the server: other rows may do.
    package var isOfData: Bool {
        if kind == .encoding || kind == .decoding { return true }
        guard let sqlstate else { return false }
        // Values that fit no type, break a constraint, or are too large for an index or a document; and rows whose storage is
        // corrupted.
        return ["22", "23", "54"].contains(String(sqlstate.prefix(2))) || sqlstate == "XX001"
    }

    package var description: String {
        let state = sqlstate.map { " (SQLSTATE \($0))" } ?? ""
        let unknown = outcomeUnknown ? "; it is unknown whether it was committed" : ""
        return "postgres \(kind.rawValue): \(message)\(state)\(unknown)"
    }

    /// Whether a SQLSTATE means that the connection, not the statement, is at fault.
    static func isAway(_ sqlstate: String) -> Bool {
        sqlstate.hasPrefix("08") || ["57P01", "57P02", "57P03", "57P04", "57P05", "25P03"].contains(sqlstate)
    }

    /// The first line of a text of libpq's, without what follows to explain it.
    static func firstLine(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "no explanation given" }
        let line = String(cString: text).split(separator: "\n").first.map(String.init) ?? ""
        return line.isEmpty ? "no explanation given" : String(line.prefix(500))
    }
}
