import Glibc

extension PrivateCluster {
    /// Whether a state folder holds a cluster already.
    package static func exists(stateDirectory: String) -> Bool {
        ClusterFolder.find(stateDirectory).map { access($0.data, F_OK) == 0 } ?? false
    }

    /// The bytes of the cluster's files; 0 without one.
    package static func bytes(stateDirectory: String) -> Int64 {
        ClusterFolder.find(stateDirectory).map { ClusterBackup.bytes(of: $0.data) } ?? 0
    }

    /// The bytes of a restore under way.
    package var restoredBytes: Int64 { ClusterBackup.bytes(of: folder.unfinished) }

    /// Takes the data of a backup that was checked; all of it or, if it is interrupted, none.
    ///
    /// - Parameter prepare: runs when everything is copied, before the data are this cluster's.
    package func restore(_ backup: ClusterBackup, prepare: () throws -> Void) throws {
        guard access(folder.data, F_OK) != 0 else {
            throw PrivateClusterError("\(folder.data) exists; restore into another state_dir, or move it away")
        }
        try removeUnfinished()
        try ClusterBackup.checkRoom(for: backup.bytes, in: folder.home)
        do {
            // Of a restore that is killed, nothing must write on beside the next one.
            let copying = ["/usr/bin/setpriv", "--pdeathsig=KILL", "--", "/bin/cp"]
            try run(copying + ["-a", "--reflink=auto", "-T", "--", backup.data, folder.unfinished])
            if geteuid() != account.user {
                try run(["/bin/chown", "-R", "\(account.user):\(account.group)", "--", folder.unfinished])
            }
            // Postgres starts only where no other user reads.
            try account.run(["/bin/chmod", "-R", "u=rwX,go=", "--", folder.unfinished])
            try account.run(["/bin/rm", "-f", "--", "\(folder.unfinished)/backup_manifest"])
            try run(["/bin/sync", "-f", folder.unfinished])
            try prepare()
            try account.run(["/bin/mv", "-T", "--", folder.unfinished, folder.data])
        } catch {
            try? removeUnfinished()
            throw error
        }
        try run(["/bin/sync", "-f", folder.home])
    }

    private func run(_ command: [String]) throws(PrivateClusterError) {
        let outcome = try ChildProcess.run(command)
        guard outcome.status == 0 else { throw PrivateClusterError(PrivateClusterError.tail(outcome.output)) }
    }
}
