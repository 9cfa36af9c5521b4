import Postgres

/// The servers and the database that a URL leads to, as far as its text says.
struct DatabasePlace: CustomStringConvertible {
    /// One server, by the way to it.
    struct Server: CustomStringConvertible {
        /// As the URL has it; nil: it is reached by TCP.
        let socketFolder: String?
        /// Loopback addresses and unix sockets are `localhost`.
        let host: String
        let port: String

        var description: String { "\(socketFolder ?? host):\(port)" }

        /// Whether both are this host, or the same other one. Sockets in different folders belong to different servers.
        func isSame(as other: Server) -> Bool {
            guard port == other.port, host == other.host else { return false }
            guard let socketFolder, let folder = other.socketFolder else { return true }
            return DatabasePlace.bare(socketFolder) == DatabasePlace.bare(folder)
        }
    }

    /// Where Debian's servers and libpq put the socket.
    static let socketFolder = "/var/run/postgresql"
    static let port = "5432"

    let servers: [Server]
    /// Of hosts that are named as well: libpq then connects to these.
    private let addresses: String?
    let database: String?

    /// - Parameter database: nil: that of the URL.
    init(_ target: PostgresTarget, database: String? = nil) throws {
        servers = try DatabasePlace.servers(of: target)
        let given = try target.parsed()
        addresses = given["host"] == nil ? nil : given["hostaddr"]
        self.database = database ?? given["dbname"] ?? given["user"]
    }

    static func servers(of target: PostgresTarget) throws -> [Server] {
        let given = try target.parsed()
        let names = (given["host"] ?? given["hostaddr"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        return try zip(names, target.servers(port: port)).map { name, server in
            let isSocket = name.isEmpty || name.hasPrefix("/") || name.hasPrefix("@")
            let isLoopback = server.host.hasPrefix("127.") || server.host == "::1"
            return Server(
                socketFolder: isSocket ? (name.isEmpty ? socketFolder : String(name)) : nil,
                host: isLoopback ? "localhost" : server.host.lowercased(), port: server.port)
        }
    }

    /// The same folder by one name.
    fileprivate static func bare(_ name: String) -> String {
        let bare = name.count > 1 && name.hasSuffix("/") ? String(name.dropLast()) : name
        return bare.hasPrefix("/var/run/") ? String(bare.dropFirst("/var".count)) : bare
    }

    func isSame(as other: DatabasePlace) -> Bool {
        database == other.database && addresses == other.addresses && servers.count == other.servers.count
            && zip(servers, other.servers).allSatisfy { $0.isSame(as: $1) }
    }

    var description: String { DatabasePlace.text(servers) + (database.map { "/\($0)" } ?? "") }

    static func text(_ servers: [Server]) -> String { servers.map(\.description).joined(separator: ", ") }
}
