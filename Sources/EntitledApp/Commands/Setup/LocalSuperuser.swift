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

    /// Of several servers the one of the usual port is meant; a single one may have any.
    private static var local: String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: sockets)) ?? []
        let ports = names.filter { $0.hasPrefix(prefix) }.compactMap { UInt16($0.dropFirst(prefix.count)) }
        let port = ports.count == 1 ? ports[0] : 5432
        return "postgresql:///postgres?host=\(sockets)&user=\(name)&port=\(port)"
    }

    /// Nil: the server of this host, as its own user.
    let url: Redacted<String>?

    var target: PostgresTarget { target(database: nil) }

    private func target(database: String?) -> PostgresTarget {
        PostgresTarget(url: url?.exposed ?? LocalSuperuser.local, applicationName: "entitled setup")
            .with(database: database)
    }

    /// - Parameter database: nil: the one of the URL.
    func connect(to database: String? = nil) throws -> PostgresConnection {
        let target = target(database: database)
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
