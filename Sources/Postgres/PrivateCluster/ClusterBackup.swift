import FoundationEssentials
import Glibc

/// A copy of a private cluster in a folder of its own: `data/`, as pg_basebackup writes it, with a manifest that has a
/// checksum of each file.
///
/// It is of the files and not a dump, because a copy has everything (roles, privileges, settings), needs no rebuilt
/// index when it is restored, and can be checked without a server. So it is for the same major version of Postgres.
package struct ClusterBackup: Sendable {
    /// Absolute.
    package let folder: String
    var data: String { "\(folder)/data" }

    package init(folder: String) {
        self.folder =
            realpath(folder, nil).map { path in
                defer { free(path) }
                return String(cString: path)
            } ?? folder
    }

    /// The version of Postgres that made the data; nil without data.
    package var version: Int? {
        (try? String(contentsOfFile: "\(data)/PG_VERSION", encoding: .utf8)).flatMap { text in
            Int(text.prefix { $0.isNumber })
        }
    }

    /// Of all files so far.
    package var bytes: Int64 { ClusterBackup.bytes(of: folder) }

    static func bytes(of folder: String) -> Int64 {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.reduce(0) { sum, name in
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0 else { return sum }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: return sum + bytes(of: "\(folder)/\(name)")
            case S_IFREG: return sum + Int64(status.st_size)
            default: return sum
            }
        }
    }

    static func checkRoom(for bytes: Int64, in folder: String) throws(PrivateClusterError) {
        var room = statvfs()
        guard statvfs(folder, &room) == 0 else { return }
        let free = Int64(room.f_bavail) * Int64(room.f_frsize)
        guard free > bytes else {
            throw PrivateClusterError(
                "\(folder) has room for \(free / 1_000_000) MB, and \(bytes / 1_000_000) MB are needed")
        }
    }

    // MARK: - Making

    /// Copies the running cluster of a state folder into this folder, while everything goes on. A failure leaves nothing behind.
    ///
    /// - Parameter path: must not exist, or be empty.
    package static func make(of stateDirectory: String, in path: String) throws(PrivateClusterError) -> ClusterBackup {
        guard let cluster = ClusterFolder.find(stateDirectory), let running = cluster.running else {
            throw PrivateClusterError("no private Postgres runs in \(stateDirectory)")
        }
        let account = try ClusterAccount.choose(data: cluster.data)
        guard account.name != nil else {
            throw PrivateClusterError(
                "user \(account.user) has no name, which Postgres needs to log it in: add the user to /etc/passwd")
        }
        let programs = try PostgresPrograms.find(version: cluster.version)
        let isMade = mkdir(path, 0o700) == 0
        guard isMade || errno == EEXIST else {
            throw PrivateClusterError("cannot create \(path): \(String(cString: strerror(errno)))")
        }
        let backup = ClusterBackup(folder: path)
        guard isMade || (try? FileManager.default.contentsOfDirectory(atPath: backup.folder).isEmpty) == true else {
            throw PrivateClusterError("\(path) is not an empty folder: name one that does not exist")
        }
        do throws(PrivateClusterError) {
            try checkRoom(for: bytes(of: cluster.data), in: backup.folder)
            try copy(running.socket ?? cluster.socket, to: backup, programs, account)
        } catch {
            try? FileManager.default.removeItem(atPath: backup.data)
            if isMade { rmdir(backup.folder) }
            throw PrivateClusterError("the backup failed: \(error)")
        }
        return backup
    }

    private static func copy(
        _ socket: String, to backup: ClusterBackup, _ programs: PostgresPrograms, _ account: ClusterAccount
    ) throws(PrivateClusterError) {
        let folder = backup.folder
        // The folder is the other user's only for as long as that user writes into it.
        let isOther = geteuid() != account.user
        guard chmod(folder, 0o700) == 0, !isOther || lchown(folder, account.user, account.group) == 0 else {
            throw PrivateClusterError("cannot give \(folder) to user \(account.user)")
        }
        defer { if isOther { lchown(folder, geteuid(), getegid()) } }
        if let obstacle = account.obstacle(to: folder) {
            throw PrivateClusterError(
                "Postgres runs as user \(account.user), which may not enter \(obstacle); choose another folder")
        }
        let copying = [
            "/usr/bin/setpriv", "--pdeathsig=TERM", "--", "\(programs.folder)/pg_basebackup", "-h", socket, "-U",
            PrivateCluster.superuser, "-D", backup.data, "-X", "stream", "-c", "fast", "--no-password",
        ]
        let outcome = try ChildProcess.run(account.command(copying))
        guard outcome.status == 0 else { throw PrivateClusterError(PrivateClusterError.tail(outcome.output)) }
    }

    // MARK: - Checking

    /// Compares every file with the checksums of the manifest.
    package func verify() throws(PrivateClusterError) {
        guard let version else {
            throw PrivateClusterError("\(folder) is not a complete backup: data/PG_VERSION is missing")
        }
        let programs = try PostgresPrograms.find(version: version)
        let outcome = try ChildProcess.run(["\(programs.folder)/pg_verifybackup", "-q", data])
        guard outcome.status == 0 else {
            let first = outcome.output.split(separator: "\n").first { $0.contains("error") }
            throw PrivateClusterError(
                "\(folder) is damaged: \(first ?? "pg_verifybackup ended with \(outcome.status)")")
        }
    }

    /// The programs that restore it: those of its own version.
    package func checkPrograms() throws(PrivateClusterError) {
        _ = try PostgresPrograms.find(version: version)
    }
}
