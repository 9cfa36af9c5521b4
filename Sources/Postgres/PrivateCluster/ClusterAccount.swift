import Glibc

/// The user whom the cluster's files and processes belong to; never root, which Postgres refuses.
struct ClusterAccount {
    let user: uid_t
    let group: gid_t

    /// Ourselves; started by root the owner of the data, or for new data `postgres`, or `nobody`.
    ///
    /// - Parameter data: the data folder, which need not exist.
    static func choose(data: String) throws(PrivateClusterError) -> ClusterAccount {
        let owner = owner(of: data)
        guard geteuid() == 0 else {
            if let owner, owner.user != geteuid() {
                throw PrivateClusterError("\(data) belongs to user \(owner.user), and this process is not that user")
            }
            return ClusterAccount(user: geteuid(), group: getegid())
        }
        guard let account = owner ?? named("postgres") ?? named("nobody") else {
            throw PrivateClusterError(
                "Postgres cannot run as root, and this host has no user postgres; create that user")
        }
        guard account.user != 0 else {
            throw PrivateClusterError(
                "\(data) belongs to root, and Postgres does not run as root; give it away by chown")
        }
        return account
    }

    /// The user's name; nil where the system has none, as in some containers.
    var name: String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            guard let text = buffer.baseAddress, getpwuid_r(user, &entry, text, buffer.count, &found) == 0, let found,
                let name = found.pointee.pw_name
            else { return nil }
            let read = String(cString: name)
            return read.contains("\"") || read.contains("\n") ? nil : read
        }
    }

    /// The command, run as this user.
    func command(_ arguments: [String]) -> [String] {
        guard geteuid() != user else { return arguments }
        return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--"] + arguments
    }

    /// Writes a file as this user, so that a link in a folder of theirs leads nowhere that only root may write. On a full
    /// disk the former file stays.
    func write(_ text: String, to path: String) throws(PrivateClusterError) {
        try shell("printf %s \"$2\" > \"$1.new\" && mv -fT -- \"$1.new\" \"$1\"", path, text)
    }

    /// The same, at the end of a file.
    func append(_ text: String, to path: String) throws(PrivateClusterError) {
        try shell("printf %s \"$2\" >> \"$1\"", path, text)
    }

    private func shell(_ script: String, _ path: String, _ text: String) throws(PrivateClusterError) {
        do {
            try run(["/bin/sh", "-c", "umask 077; \(script)", "sh", path, text])
        } catch {
            throw PrivateClusterError("cannot write \(path): \(error)")
        }
    }

    /// Runs a command as this user; its output where it fails.
    func run(_ arguments: [String]) throws(PrivateClusterError) {
        let outcome = try ChildProcess.run(command(arguments))
        guard outcome.status == 0 else { throw PrivateClusterError(PrivateClusterError.tail(outcome.output)) }
    }

    /// The first folder on the way to this one that the user may not enter; nil if there is none.
    func obstacle(to folder: String) -> String? {
        var path = ""
        for name in folder.split(separator: "/") {
            path += "/\(name)"
            var status = stat()
            guard stat(path, &status) == 0 else { return path }
            let bit = status.st_uid == user ? S_IXUSR : status.st_gid == group ? S_IXGRP : S_IXOTH
            guard status.st_mode & bit != 0 else { return path }
        }
        return nil
    }

    private static func owner(of path: String) -> ClusterAccount? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return ClusterAccount(user: status.st_uid, group: status.st_gid)
    }

    private static func named(_ name: String) -> ClusterAccount? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            guard let text = buffer.baseAddress, getpwnam_r(name, &entry, text, buffer.count, &found) == 0, let found
            else { return nil }
            return ClusterAccount(user: found.pointee.pw_uid, group: found.pointee.pw_gid)
        }
    }
}
