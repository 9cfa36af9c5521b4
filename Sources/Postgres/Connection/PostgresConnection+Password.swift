import CLibpq

extension PostgresConnection {
    /// What the server keeps of a password (SCRAM-SHA-256): with it in a statement, the password itself is neither sent nor
    /// logged.
    package func verifier(of password: String, for role: String) throws(PostgresError) -> String {
        guard let text = PQencryptPasswordConn(handle, password, role, "scram-sha-256") else {
            throw PostgresError(.configuration, PostgresError.firstLine(PQerrorMessage(handle)))
        }
        defer { PQfreemem(text) }
        return String(cString: text)
    }
}
