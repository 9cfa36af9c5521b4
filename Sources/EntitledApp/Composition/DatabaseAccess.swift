import API
import Base
import Daemon
import Duties
import Postgres
import Schemas

/// How this installation's database is reached, by role.
struct DatabaseAccess: Sendable {
    private let configuration: Configuration.Database
    /// The URL of the private cluster, where it serves.
    private let privateURL: String?
    /// The guard against a database that is another one, or behind; nil for the private cluster, which is always the right one.
    private let watch: PositionWatch?
    /// What this process wrote, for judging standbys: a role that takes another's place must know it.
    let recentWrites = RecentWrites()

    /// - Parameter watch: that of a process; nil: what processes of this host have seen is read, and nothing is added.
    /// - Throws: where a private cluster is meant and none runs.
    init(_ configuration: Configuration, watch: PositionWatch? = nil) throws {
        let isPrivate = configuration.database.isPrivateCluster
        let url = isPrivate ? PrivateCluster.runningURL(stateDirectory: configuration.stateDirectory) : nil
        if isPrivate, url == nil {
            throw CommandFailure(
                "no database: database.url is not set, and no `entitled run` with its private Postgres is running in "
                    + configuration.stateDirectory)
        }
        self.init(
            configuration.database, privateURL: url,
            watch: isPrivate ? nil : watch ?? .ofCommands(configuration.stateDirectory))
    }

    /// For diagnosis: a private cluster that does not run is reported on connecting.
    init(_ configuration: Configuration.Database, stateDirectory: String) {
        let url = configuration.isPrivateCluster ? PrivateCluster.runningURL(stateDirectory: stateDirectory) : nil
        self.init(
            configuration, privateURL: url,
            watch: configuration.isPrivateCluster ? nil : .ofCommands(stateDirectory))
    }

    init(_ configuration: Configuration.Database, privateURL: String?, watch: PositionWatch? = nil) {
        self.configuration = configuration
        self.privateURL = privateURL
        self.watch = watch
    }

    /// The greatest adoption that this host has seen.
    var adoption: Int64 { watch?.seen?.adoption ?? 0 }

    /// A connection of the owner, to a database that is not refused.
    ///
    /// - Parameter adopts: whether none is refused.
    func connectAsOwner(adopts: Bool = false) throws -> PostgresConnection {
        try PostgresConnection.open(try ownerTarget()) { connection in
            if !adopts { try watch?.admit(connection) }
        }
    }

    func ownerTarget() throws -> PostgresTarget {
        guard let url = configuration.url?.exposed ?? privateURL else {
            throw CommandFailure("database.url is not set: `entitled migrate` connects as the owner")
        }
        return PostgresTarget(url: url, applicationName: "entitled migrate")
    }

    /// Whether a URL is known by which the role connects.
    func hasURL(of role: DatabaseRole) -> Bool {
        configuration.isPrivateCluster || configuration.url(for: role.configurationRole) != nil
    }

    /// Its own URL logs in as the role; the owner's URL takes it when it connects.
    func target(_ role: DatabaseRole) throws -> PostgresTarget {
        let name = "entitled \(role)"
        if let own = configuration.ownURL(of: role.configurationRole)?.exposed {
            return PostgresTarget(url: own, applicationName: name)
        }
        guard let url = configuration.url?.exposed ?? privateURL else {
            let isPrivate = configuration.isPrivateCluster
            throw CommandFailure(
                isPrivate
                    ? "database.url is not set, and no `entitled run` with its private Postgres is running"
                    : "neither database.url nor \(role.configurationKey) is set")
        }
        return PostgresTarget(url: url, role: role.rawValue, applicationName: name)
    }

    /// A checked connection for a command.
    func connect(_ role: DatabaseRole) throws -> PostgresConnection {
        do {
            let target = try target(role)
            return try DatabaseAccess.explained(role) {
                try PostgresConnection.open(target) { connection in
                    // First: what is wrong with another database is no reason to end.
                    try watch?.admit(connection)
                    try role.check(connection)
                }
            }
        } catch let rejection as DatabaseRole.Rejection where privateURL != nil && rejection.isMigratable {
            throw CommandFailure(
                "`entitled run` has not prepared its database for this program yet: try again in a few seconds, and restart "
                    + "`run` if a program of an earlier version serves it")
        }
    }

    /// A session that checks every new connection; a refusal is told to `refused`, because waiting does not mend it.
    func session(
        _ role: DatabaseRole, logger: Logger, check: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in },
        refused: @escaping @Sendable (String) -> Void
    ) throws -> PostgresSession {
        // Who logs in as a role has the role's own settings; who takes the role does not.
        let hasOwnSettings = configuration.ownURL(of: role.configurationRole) != nil
        let watch = watch
        return PostgresSession(try target(role), logger: logger, epoch: watch?.epoch ?? ConnectionEpoch()) {
            connection in
            do {
                try watch?.admit(connection)
                try role.check(connection)
                if !hasOwnSettings {
                    _ = try connection.query(
                        "SELECT set_config('statement_timeout', $1, false)", [.text(role.statementTimeout)])
                }
                try check(connection)
            } catch let refusal as DatabaseRole.Rejection {
                refused("\(refusal)")
                throw refusal
            } catch let refusal as CommandFailure {
                refused("\(refusal)")
                throw refusal
            }
        }
    }

    /// Whether the API may read from a standby.
    var hasStandby: Bool { configuration.apiReadURL != nil }

    /// A session with the standby that the API reads from; what is wrong with it keeps nothing from working.
    func standbySession(
        logger: Logger, check: @escaping @Sendable (PostgresConnection) throws -> Void
    ) throws -> PostgresSession? {
        guard let url = configuration.apiReadURL else { return nil }
        let target = PostgresTarget(
            url: url.exposed, applicationName: "entitled api standby", connectTimeout: .seconds(2), prefers: .standby)
        return PostgresSession(target, logger: logger.with(["database": .string("standby")])) { connection in
            try DatabaseRole.api.check(connection)
            try check(connection)
        }
    }

    /// Whether the database is ours and ready, before a process starts: what only a person can mend is thrown; a
    /// database that is away is not, because processes wait for it.
    func checkBeforeStart(_ roles: [DatabaseRole], logger: Logger) throws {
        for role in roles {
            do {
                _ = try connect(role)
            } catch let error as PostgresError where error.isConnectionLost {
                logger.warning("database not reached at startup", ["error": .string("\(error)")])
                return
            }
        }
    }

    /// Roles that do not exist are the sign of a database that was not migrated.
    private static func explained<Result>(_ role: DatabaseRole, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as PostgresError
            where error.sqlstate == "22023" || error.message.contains("role \"\(role.rawValue)\" does not exist")
        {
            throw DatabaseRole.Rejection.notMigrated
        } catch let error as PostgresError where error.message.contains("unsupported startup parameter") {
            // PgBouncer's answer to `options`, unless it is told to ignore them.
            throw DatabaseRole.Rejection.roleNotTaken(wanted: role)
        }
    }
}

extension PositionWatch {
    /// Reads what the processes of the host have seen, if it may.
    fileprivate static func ofCommands(_ stateDirectory: String) -> PositionWatch {
        PositionWatch(SightingFile(folder: stateDirectory, logger: .silent), isReadOnly: true)
    }
}

extension DatabaseRole: CustomStringConvertible {
    package var description: String { configurationRole.rawValue }

    fileprivate var configurationRole: Configuration.Database.Role {
        switch self {
        case .ingest: .ingest
        case .worker: .worker
        case .api: .api
        case .console: .console
        }
    }
}

extension DatabaseRole.Rejection {
    /// Whether a migration ends it. `run` migrates its private Postgres by itself, before it serves.
    fileprivate var isMigratable: Bool {
        switch self {
        case .notMigrated, .older, .misplaced: true
        case .wrongRole, .roleNotTaken, .newer: false
        }
    }
}
