import FoundationEssentials
import Glibc

/// Who may log in to a private cluster (Postgres, chapter "Client Authentication"). Its socket's folder is closed to other users of
/// the host in any case.
struct ClusterAccess {
    /// Every role, without a password: while the cluster is made or upgraded.
    static let open = "local all all trust\n"

    /// The superuser only by the user of the operating system whom the cluster belongs to.
    static func closed(_ account: ClusterAccount) -> String {
        let method = account.name == nil ? "reject" : "peer map=entitled"
        return """
            # Written by entitled at each start.
            local all \(PrivateCluster.superuser) \(method)
            local replication \(PrivateCluster.superuser) \(method)
            local all all trust

            """
    }

    /// Whom the superuser's map names.
    static func map(_ account: ClusterAccount) -> String {
        account.name.map { "entitled \"\($0)\" \(PrivateCluster.superuser)\n" } ?? ""
    }
}

extension PrivateCluster {
    private var rulesFile: String { "\(folder.data)/pg_hba.conf" }
    private var mapFile: String { "\(folder.data)/pg_ident.conf" }

    var isClosed: Bool {
        (try? String(contentsOfFile: rulesFile, encoding: .utf8)) == ClusterAccess.closed(account)
    }

    private func reload() {
        if let process = folder.running?.process { kill(process, SIGHUP) }
    }

    private func closeAccess() throws(PrivateClusterError) {
        try account.write(ClusterAccess.map(account), to: mapFile)
        try account.write(ClusterAccess.closed(account), to: rulesFile)
        reload()
    }

    /// Runs something as the superuser, who is let in for as long as that takes; afterwards the cluster is closed.
    ///
    /// A process that dies meanwhile leaves it open, and the next start closes it.
    package func asSuperuser<Value>(
        in database: String = PrivateCluster.owner, _ body: (PostgresConnection) throws -> Value
    ) throws -> Value {
        try account.write(ClusterAccess.open, to: rulesFile)
        reload()
        let result = Result { try body(try connectAsSuperuser(database)) }
        try closeAccess()
        return try result.get()
    }

    /// The server reads its rules again some time after it was told to.
    private func connectAsSuperuser(_ database: String) throws(PostgresError) -> PostgresConnection {
        let deadline = ContinuousClock.now + PrivateCluster.patience
        while true {
            do throws(PostgresError) {
                return try PostgresConnection(
                    PostgresTarget(url: superuserURL(PrivateCluster.superuser, database: database)))
            } catch {
                guard error.message.contains("authentication failed") || error.message.contains("pg_hba"),
                    ContinuousClock.now < deadline
                else { throw error }
                usleep(20_000)
            }
        }
    }
}
