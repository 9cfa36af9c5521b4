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

    package var description: String {
        let state = sqlstate.map { " (SQLSTATE \($0))" } ?? ""
        let unknown = outcomeUnknown ? "; it is unknown whether it was committed" : ""
        return "postgres \(kind.rawValue): \(message)\(state)\(unknown)"
    }

    /// The first line of a text of libpq's, without what follows to explain it.
    static func firstLine(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "no explanation given" }
        let line = String(cString: text).split(separator: "\n").first.map(String.init) ?? ""
        return line.isEmpty ? "no explanation given" : String(line.prefix(500))
    }
}
