import Base
import Daemon
import FoundationEssentials
import Glibc
import Synchronization

/// A Postgres of our own, in the state folder, reached by a unix socket only: what `entitled run` uses where no
/// `database.url` is given.
///
/// It outlives a process that is killed, and the next one goes on with it. One process at a time runs it; others find
/// it by `runningURL`.
package final class PrivateCluster: Sendable {
    /// The role that logs in, and the database, which it owns.
    package static let owner = "entitled"
    /// The role that initdb makes. Only the cluster's own user may log in as it (`ClusterAccess`).
    static let superuser = "entitled_superuser"

    static let patience = Duration.seconds(60)

    let folder: ClusterFolder
    let account: ClusterAccount
    let settings: PrivateClusterSettings
    let logger: Logger
    private let lock: Int32

    /// Finds programs, user and folders; starts nothing yet.
    ///
    /// Fails where another process runs the same cluster.
    package init(
        stateDirectory: String, settings: PrivateClusterSettings = .durable, logger: Logger = .silent
    ) throws(PrivateClusterError) {
        folder = try ClusterFolder.make(stateDirectory)
        account = try ClusterAccount.choose(data: folder.data)
        self.settings = settings
        self.logger = logger
        try PrivateCluster.openWay(to: folder.state, for: account)
        try ClusterFolder.makePrivate(folder.home, account)
        lock = open(folder.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else {
            throw PrivateClusterError("cannot open \(folder.lock): \(String(cString: strerror(errno)))")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw PrivateClusterError("another process runs the private Postgres in \(folder.home)")
        }
    }

    deinit {
        close(lock)
    }

    /// The state folder is ours, so it may be opened; what is above it is the operator's.
    private static func openWay(to state: String, for account: ClusterAccount) throws(PrivateClusterError) {
        guard let obstacle = account.obstacle(to: state) else { return }
        var status = stat()
        if obstacle == state, stat(state, &status) == 0, status.st_uid == geteuid(),
            chmod(state, status.st_mode & 0o7777 | S_IXOTH) == 0
        {
            return
        }
        throw PrivateClusterError(
            "Postgres runs as user \(account.user), which may not enter \(obstacle); choose another state_dir")
    }

    /// For the database `entitled`, or another of the same cluster.
    package func url(database: String = PrivateCluster.owner) -> String {
        PrivateCluster.url(socket: folder.running?.socket ?? folder.socket, database: database)
    }

    /// For other processes of this host; nil if the cluster of this state folder does not run.
    package static func runningURL(stateDirectory: String) -> String? {
        guard let folder = ClusterFolder.find(stateDirectory), let running = folder.running else { return nil }
        return url(socket: running.socket ?? folder.socket, database: owner)
    }

    /// As the superuser, who is let in only where `ClusterAccess` says so.
    func superuserURL(_ user: String, database: String) -> String {
        PrivateCluster.url(socket: folder.running?.socket ?? folder.socket, database: database, user: user)
    }

    private static func url(socket: String, database: String, user: String = owner) -> String {
        let host = socket.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            let isPlain = byte < 128 && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isPlain ? String(scalar) : "%" + Hex.encode([byte]).uppercased()
        }
        return "postgresql://\(user)@/\(database)?host=\(host.joined())"
    }

    package var isRunning: Bool { folder.running != nil }

    /// Whether the server has ended for certain; where that cannot be told, neither this nor `isRunning` is true.
    package var hasEnded: Bool { folder.hasEnded }

    // MARK: - Starting

    /// Makes the cluster if there is none, starts it if it does not run, and returns when it takes connections.
    package func start() throws(PrivateClusterError) {
        let programs = try PostgresPrograms.find(version: folder.version)
        if folder.version == nil {
            if let former = folder.former {
                throw PrivateClusterError(
                    "\(folder.data) is missing, and \(former) has the data from before an upgrade that was interrupted: "
                        + "mv \(former) \(folder.data)")
            }
            try make(programs)
        }
        try serve(programs)
        try settings.isOwnerSuperuser ? makeDatabase() : makeOwner()
    }

    /// Starts a server that ended by itself again; never makes a cluster.
    func startAgain() throws(PrivateClusterError) {
        guard let version = folder.version else { throw PrivateClusterError("\(folder.data) no longer exists") }
        try serve(try PostgresPrograms.find(version: version))
    }

    private func serve(_ programs: PostgresPrograms) throws(PrivateClusterError) {
        if folder.running != nil, try adopt() {
            logger.notice("private database adopted", ["folder": .string(folder.home)])
            return
        }
        try launch(programs)
        logger.notice(
            "private database started",
            ["folder": .string(folder.home), "version": .int(Int64(programs.version))])
    }

    private func make(_ programs: PostgresPrograms) throws(PrivateClusterError) {
        // On a slow disk it takes a while.
        logger.notice("private database creation started", ["folder": .string(folder.home)])
        try initialize(programs)
        try account.run(["/bin/mv", "-T", "--", folder.unfinished, folder.data])
    }

    var superuserName: String { settings.isOwnerSuperuser ? PrivateCluster.owner : PrivateCluster.superuser }

    /// Removes what a creation, a restore or an upgrade left that was interrupted; of a restore, it may not be the account's yet.
    func removeUnfinished() throws(PrivateClusterError) {
        let outcome = try ChildProcess.run(["/bin/rm", "-rf", "--", folder.unfinished])
        guard outcome.status == 0 else { throw PrivateClusterError(PrivateClusterError.tail(outcome.output)) }
    }

    /// Makes an empty cluster beside the data.
    func initialize(_ programs: PostgresPrograms, options: [String] = []) throws(PrivateClusterError) {
        try removeUnfinished()
        let command =
            [
                "\(programs.folder)/initdb", "-D", folder.unfinished, "-U", superuserName, "-E", "UTF8", "--no-locale",
                "--auth-local=trust", "--auth-host=reject", "--no-instructions",
            ] + options + (settings.isDurable ? [] : ["--no-sync"])
        let outcome = try ChildProcess.run(account.command(command))
        guard outcome.status == 0 else {
            throw PrivateClusterError("initdb failed (\(outcome.status)): \(PrivateClusterError.tail(outcome.output))")
        }
        let include = "\ninclude_if_exists = '\(PrivateClusterSettings.file)'\n"
        try account.append(include, to: "\(folder.unfinished)/postgresql.conf")
    }

    private func launch(_ programs: PostgresPrograms) throws(PrivateClusterError) {
        endRemains()
        try folder.disarmIdentityFile(account)
        try ClusterFolder.makePrivate(folder.socket, account)
        // Its lock names a process, whose number another one may have by now.
        let socket = "\(folder.socket)/.s.PGSQL.5432"
        try account.run(["/bin/rm", "-f", "--", socket, "\(socket).lock"])
        let settingsFile = "\(folder.data)/\(PrivateClusterSettings.file)"
        let text = settings.text(socket: folder.socket)
        if (try? String(contentsOfFile: settingsFile, encoding: .utf8)) != text {
            try account.write(text, to: settingsFile)
        }
        let logged = ClusterLog.size(folder.log)
        let seconds = PrivateCluster.patience.components.seconds
        let command = [
            "\(programs.folder)/pg_ctl", "start", "-s", "-w", "-t", "\(seconds)", "-D", "data", "-l", "server.log",
        ]
        // By relative paths, because pg_ctl hands them to a shell without care for quotes.
        let outcome = try ChildProcess.run(account.command(command), in: folder.home)
        guard outcome.status == 0 else {
            folder.removeSocketFolder()
            let log = ClusterLog.tail(folder.log, from: logged)
            throw PrivateClusterError(
                "Postgres did not start: \(folder.shortage)\(PrivateClusterError.tail(outcome.output)) "
                    + "\(folder.log) ends with: \(log)")
        }
    }

    /// Ends the processes of this folder that postmaster.pid does not lead to, since a new server does not start beside
    /// them: the children of a server that was killed, which end by themselves unless they stand still.
    private func endRemains() {
        for signal in [0, SIGQUIT, SIGKILL] {
            let remains = folder.remains
            guard !remains.isEmpty else { return }
            if signal != 0 {
                logger.warning(
                    "private database processes ended",
                    ["count": .int(Int64(remains.count)), "signal": .int(Int64(signal))])
                for process in remains { kill(process, signal) }
            }
            let deadline = ContinuousClock.now + .seconds(1)
            while !folder.remains.isEmpty, ContinuousClock.now < deadline { usleep(20_000) }
        }
    }

    /// Waits for a server that runs already; false if it ends instead.
    private func adopt() throws(PrivateClusterError) -> Bool {
        let deadline = ContinuousClock.now + PrivateCluster.patience
        var reason = ""
        while folder.running != nil {
            do throws(PostgresError) {
                _ = try PostgresConnection(PostgresTarget(url: url(database: "postgres")))
                return true
            } catch {
                reason = error.description
            }
            guard ContinuousClock.now < deadline else {
                throw PrivateClusterError(
                    "the Postgres that was left running in \(folder.home) does not answer: \(reason)")
            }
            usleep(50_000)
        }
        return false
    }

    private func makeDatabase() throws(PrivateClusterError) {
        do throws(PostgresError) {
            let connection = try PostgresConnection(PostgresTarget(url: url(database: "postgres")))
            let name = PrivateCluster.owner
            if try connection.query("SELECT 1 FROM pg_database WHERE datname = $1", [.text(name)]).isEmpty {
                try connection.query("CREATE DATABASE \(name)")
            }
        } catch {
            throw PrivateClusterError("the private Postgres started, but: \(error)")
        }
    }

    // MARK: - Stopping

    package enum StopMode: String, Sendable {
        /// Rolls open transactions back and writes a checkpoint.
        case fast
        /// As after a crash: the next start recovers.
        case immediate
    }

    /// Stops the server; returns when it has ended. Does nothing where none runs.
    package func stop(_ mode: StopMode = .fast, timeout: Duration = .seconds(20)) throws(PrivateClusterError) {
        guard folder.running != nil else { return }
        let programs = try PostgresPrograms.find(version: folder.version)
        let seconds = max(1, timeout.components.seconds)
        let command = [
            "\(programs.folder)/pg_ctl", "stop", "-s", "-w", "-t", "\(seconds)", "-D", "data", "-m", mode.rawValue,
        ]
        let outcome = try ChildProcess.run(account.command(command), in: folder.home)
        guard outcome.status == 0 || folder.running == nil else {
            if mode == .fast { return try stop(.immediate, timeout: .seconds(5)) }
            throw PrivateClusterError("Postgres does not stop: \(PrivateClusterError.tail(outcome.output))")
        }
        folder.removeSocketFolder()
        logger.notice("private database stopped", ["folder": .string(folder.home)])
    }
}
