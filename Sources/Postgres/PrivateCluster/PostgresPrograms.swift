import FoundationEssentials
import Glibc

/// The server's programs of one version, as Debian and Ubuntu install them.
struct PostgresPrograms {
    let version: Int
    let folder: String

    static let root = "/usr/lib/postgresql"

    /// The newest version, or the one asked for: a data folder is read only by its own.
    static func find(version: Int?, in root: String = root) throws(PrivateClusterError) -> PostgresPrograms {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let found = names.compactMap { Int($0) }.sorted().filter { version in
            ["initdb", "pg_ctl", "postgres"].allSatisfy { access("\(root)/\(version)/bin/\($0)", X_OK) == 0 }
        }
        if let version {
            guard found.contains(version) else {
                let newer = found.last { $0 > version }
                throw PrivateClusterError(
                    "the data was made by Postgres \(version), whose programs are not in \(root)/\(version)/bin; "
                        + "install them: apt-get install postgresql-\(version)"
                        + (newer.map { "; with both installed, `entitled upgrade-postgres` goes on to \($0)" } ?? ""))
            }
            return PostgresPrograms(version: version, folder: "\(root)/\(version)/bin")
        }
        guard let newest = found.last else {
            throw PrivateClusterError(
                "no Postgres programs in \(root)/*/bin; install them (apt-get install postgresql) or set database.url")
        }
        return PostgresPrograms(version: newest, folder: "\(root)/\(newest)/bin")
    }
}
