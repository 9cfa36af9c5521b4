import Base
import CLI
import FoundationEssentials
import Glibc
import Postgres

/// How `entitled setup` reaches Postgres as a user who may create roles and databases.
struct LocalSuperuser {
    /// The user of the system and of Postgres whom Debian's packages make.
    private static let name = "postgres"
    private static let sockets = "/var/run/postgresql"
    /// What a socket's file is called before its port.
    private static let prefix = ".s.PGSQL."

    /// The port of this host's server. Of several servers the one of the usual port is meant; a single one may have any.
    private static var localPort: String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: sockets)) ?? []
        let ports = names.filter { $0.hasPrefix(prefix) }.compactMap { UInt16($0.dropFirst(prefix.count)) }
        return ports.count == 1 ? String(ports[0]) : "5432"
    }

    /// Nil: the server of this host, as its own user.
    private let url: Redacted<String>?
    let target: PostgresTarget

    /// - Parameters:
    ///   - url: nil: the server of this host.
    ///   - standing: the URL of a database that is to be administered; nil: there is none yet.
    /// - Throws: where that is a database of another server.
    init(url: Redacted<String>?, standing: Redacted<String>?) throws {
        self.url = url
        let servers = try standing.map { try PostgresTarget(url: $0.exposed).servers(port: "5432") } ?? []
        let places = servers.map { LocalSuperuser.place($0) }
        let named = places.map { "\($0.host):\($0.port)" }.joined(separator: ", ")
        guard let url else {
            let port = places.first { $0.host == "localhost" }?.port
            guard port != nil || standing == nil else {
                throw CommandFailure(
                    "database.url is of the server \(named), and not of this host: name an administrator of that server"
                        + " by --superuser-url-file")
            }
            let query =
                "host=\(LocalSuperuser.sockets)&user=\(LocalSuperuser.name)&port=\(port ?? LocalSuperuser.localPort)"
            target = PostgresTarget(url: "postgresql:///postgres?\(query)", applicationName: "entitled setup")
            return
        }
        target = PostgresTarget(url: url.exposed, applicationName: "entitled setup")
        let own = try target.servers(port: "5432").map { LocalSuperuser.place($0) }
        guard standing == nil || own.contains(where: { server in places.contains { $0 == server } }) else {
            throw CommandFailure(
                "--superuser-url-file names the server \(own.map { "\($0.host):\($0.port)" }.joined(separator: ", ")), and"
                    + " database.url \(named): name the administrator of that server as database.url names it")
        }
    }

    /// Loopback addresses are this host, as a unix socket is.
    private static func place(_ server: (host: String, port: String)) -> (host: String, port: String) {
        (server.host.hasPrefix("127.") || server.host == "::1" ? "localhost" : server.host, server.port)
    }

    /// - Parameter database: nil: the one of the URL.
    func connect(to database: String? = nil) throws -> PostgresConnection {
        let target = target.with(database: database)
        guard url == nil else { return try PostgresConnection(target) }
        do {
            return try LocalSuperuser.asPostgres { try PostgresConnection(target) }
        } catch let error as PostgresError {
            throw CommandFailure(
                "no Postgres of this host: \(error.message). Install one (apt-get install postgresql) or start it (systemctl start postgresql), or name"
                    + " another server's administrator by --superuser-url-file")
        }
    }

    /// Postgres trusts the user of the system (peer authentication) as whom the connection is opened.
    private static func asPostgres<Result>(_ body: () throws -> Result) throws -> Result {
        let own = geteuid()
        guard let account = getpwnam(name) else {
            throw CommandFailure(
                "this host has no user \(name), and so no Postgres of its own: install one (apt-get install postgresql), or"
                    + " name another server's administrator by --superuser-url-file")
        }
        if own == account.pointee.pw_uid { return try body() }
        guard own == 0, seteuid(account.pointee.pw_uid) == 0 else {
            throw CommandFailure(
                "only root can become the user \(name) of this host: run entitled setup as root, or name an administrator"
                    + " of Postgres by --superuser-url-file")
        }
        defer { seteuid(own) }
        return try body()
    }
}
