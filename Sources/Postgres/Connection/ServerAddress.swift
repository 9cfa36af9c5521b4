import CLibpq

/// One of the servers that a connection string names, as it names it.
struct ServerAddress: Sendable, Hashable {
    let host: String
    let port: String

    init(host: String, port: String) {
        (self.host, self.port) = (host, port)
    }

    /// Where a connection leads to; nil: nowhere yet.
    init?(of connection: OpaquePointer) {
        guard let host = PQhost(connection), let port = PQport(connection) else { return nil }
        self.init(host: String(cString: host), port: String(cString: port))
    }
}
