import Daemon
import FoundationEssentials
import Glibc

extension PrivateCluster {
    /// What an upgrade did.
    package struct Upgrade: Sendable {
        package let from: Int
        package let to: Int
        /// The folder with the former data; they may be removed once all is well.
        package let former: String
    }

    /// The version that made the data; nil without a cluster.
    package var version: Int? { folder.version }

    /// The newest version whose programs are installed.
    package static func newestInstalled() throws(PrivateClusterError) -> Int {
        try PostgresPrograms.find(version: nil).version
    }

    /// Brings the data to the newest installed major version by pg_upgrade, which copies them. The server must not run for
    /// others; it is stopped afterwards. A failure leaves the former data in place.
    ///
    /// - Returns: nil where the data are of that version already.
    package func upgrade() throws -> Upgrade? {
        guard let version = folder.version else {
            throw PrivateClusterError("there is no private Postgres in \(folder.state)")
        }
        let new = try PostgresPrograms.find(version: nil)
        guard new.version > version else { return nil }
        let old = try PostgresPrograms.find(version: version)
        try ClusterBackup.checkRoom(for: ClusterBackup.bytes(of: folder.data), in: folder.home)
        // What a crash left is recovered, and the server ends in order, as pg_upgrade wants it.
        try start()
        try stop()
        let former = folder.former(version)
        guard access(former, F_OK) != 0 else {
            throw PrivateClusterError("\(former) of an earlier upgrade exists: remove it, or move it away")
        }
        do {
            try initialize(new, options: try checksumOptions(old, new))
            try copyData(from: old, to: new)
            try account.run(["/bin/mv", "-T", "--", folder.data, former])
            try account.run(["/bin/mv", "-T", "--", folder.unfinished, folder.data])
            try start()
            // Statistics are not copied.
            try PostgresConnection(PostgresTarget(url: url())).execute(script: "ANALYZE")
            try stop()
        } catch {
            try? stop()
            if access(former, F_OK) == 0 {
                try removeUnfinished()
                if access(folder.data, F_OK) == 0 {
                    try account.run(["/bin/mv", "-T", "--", folder.data, folder.unfinished])
                }
                try account.run(["/bin/mv", "-T", "--", former, folder.data])
            }
            throw error
        }
        return Upgrade(from: version, to: new.version, former: former)
    }

    /// Both must have checksums of pages or both none; which of the two is the default depends on the version.
    private func checksumOptions(_ old: PostgresPrograms, _ new: PostgresPrograms) throws -> [String] {
        let outcome = try ChildProcess.run(account.command(["\(old.folder)/pg_controldata", folder.data]))
        let line = outcome.output.split(separator: "\n").first { $0.hasPrefix("Data page checksum version:") }
        guard outcome.status == 0, let line else {
            throw PrivateClusterError("pg_controldata: \(PrivateClusterError.tail(outcome.output))")
        }
        if !line.hasSuffix(" 0") { return ["--data-checksums"] }
        return new.version >= 18 ? ["--no-data-checksums"] : []
    }

    private func copyData(from old: PostgresPrograms, to new: PostgresPrograms) throws {
        // The socket's folder is closed to others, and the next start closes the cluster again.
        try account.write(ClusterAccess.open, to: "\(folder.data)/pg_hba.conf")
        try ClusterFolder.makePrivate(folder.socket, account)
        let outcome = try ChildProcess.run(
            account.command([
                "\(new.folder)/pg_upgrade", "-b", old.folder, "-B", new.folder, "-d", folder.data, "-D",
                folder.unfinished, "-U", superuserName, "-s", folder.socket,
            ]), in: folder.home)
        try account.run(["/bin/rm", "-f", "--", "\(folder.home)/delete_old_cluster.sh"])
        guard outcome.status == 0 else {
            throw PrivateClusterError(
                "pg_upgrade from \(old.version) to \(new.version) failed: \(PrivateClusterError.tail(outcome.output))")
        }
        // What the operator set by ALTER SYSTEM.
        try account.run([
            "/bin/cp", "--", "\(folder.data)/postgresql.auto.conf", "\(folder.unfinished)/postgresql.auto.conf",
        ])
    }
}
