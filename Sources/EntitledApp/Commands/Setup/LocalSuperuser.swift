import Base
import CLI
import FoundationEssentials
import Glibc
import Postgres

/// How `entitled setup` reaches Postgres as a user who may create roles and databases.
struct LocalSuperuser {
    /// The user of the system and of Postgres whom Debian's packages make.
    private static let name = "postgres"
    /// What a socket's file is called before its port.
    private static let prefix = ".s.PGSQL."

    /// The port of this host's server. Of several servers the one of the usual port is meant; a single one may have any.
    private static var localPort: String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: DatabasePlace.socketFolder)) ?? []
        let ports = names.filter { $0.hasPrefix(prefix) }.compactMap { UInt16($0.dropFirst(prefix.count)) }
        return ports.count == 1 ? String(ports[0]) : DatabasePlace.port
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
        let servers = try standing.map { try DatabasePlace.servers(of: PostgresTarget(url: $0.exposed)) } ?? []
        let named = DatabasePlace.text(servers)
        guard let url else {
            let local = servers.first { $0.host == "localhost" }
            guard local != nil || standing == nil else {
                throw CommandFailure(
                    "database.url is of the server \(named), and not of this host: name an administrator of that server"
                        + " by --superuser-url-file")
            }
            // A socket elsewhere is another server's, whatever its port.
            let folder = PercentEncoding.encode(local?.socketFolder ?? DatabasePlace.socketFolder)
            let query =
                "host=\(folder)&user=\(LocalSuperuser.name)&port=\(local?.port ?? LocalSuperuser.localPort)"
            target = PostgresTarget(url: "postgresql:///postgres?\(query)", applicationName: "entitled setup")
            return
        }
        target = PostgresTarget(url: url.exposed, applicationName: "entitled setup")
        let own = try DatabasePlace.servers(of: target)
        guard standing == nil || own.allSatisfy({ server in servers.contains { $0.isSame(as: server) } }) else {
            throw CommandFailure(
                "--superuser-url-file names the server \(DatabasePlace.text(own)), and database.url \(named): name the"
                    + " administrator of that server as database.url names it")
        }
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
