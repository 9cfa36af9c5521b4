import Base
import CLI
import Crypto
import Database
import Postgres
import Schemas

/// Finds what an installation lacks, and makes it.
///
/// The file with a password is written before the role has it: what is interrupted between the two is continued by the next
/// run, which creates the role with the password of the file, or gives it to the role that bears the mark of such a run.
struct Setup {
    let configuration: Configuration
    let files: SecretFiles
    /// Of who may create roles and databases; nil: the server of this host, as its own user.
    let administratorURL: Redacted<String>?
    let names: SetupNames
    /// Whether roles that can log in already get new passwords.
    let renews: Bool

    /// - Parameter database: nil: the one of the administrator's URL.
    func superuser(in database: String? = nil) throws -> PostgresConnection {
        try LocalSuperuser(url: administratorURL, standing: configuration.database.url).connect(to: database)
    }

    func superuserTarget() throws -> PostgresTarget {
        try LocalSuperuser(url: administratorURL, standing: configuration.database.url).target
    }

    // MARK: - What is missing

    func plan() throws -> SetupPlan {
        var plan = SetupPlan()
        let owner = try login("database.url", configuration.database.url)
        let administrator = try administrator(owner)
        let database: PostgresConnection?
        if owner == .works {
            plan.kept.append("database.url")
            database = administrator
            try planSchema(&plan, on: administrator)
        } else {
            database = try planOwner(owner, &plan, on: administrator)
        }
        var withdrawn: [DatabaseRole] = []
        for role in DatabaseRole.allCases {
            let login = try login(role.configurationKey, url(of: role.configurationKey), isNew: !plan.steps.isEmpty)
            switch try permission(for: role, login, plan, on: administrator) {
            case .none: plan.kept.append(role.configurationKey)
            case .first: plan.steps.append(.login(role, renews: false))
            case .renewed: plan.steps.append(.login(role, renews: true))
            case .withdrawn: withdrawn.append(role)
            }
        }
        guard withdrawn.isEmpty else { throw SetupRefusal.withdrawn(withdrawn.map(\.rawValue)) }
        if !configuration.webhooks.secretKeys.isEmpty {
            plan.kept.append("webhooks.secret_keys")
        } else {
            switch try sealingKey(on: database) {
            case .copy: plan.steps.append(.sealingKey(isCopy: true))
            case .none: plan.steps.append(.sealingKey(isCopy: false))
            case .lost(let fingerprint): plan.lostKey = fingerprint
            }
        }
        return plan
    }

    /// What belongs to the database itself, where its owner cannot log in.
    ///
    /// - Returns: a connection to the database; nil: it is to be created.
    private func planOwner(
        _ owner: Login, _ plan: inout SetupPlan, on administrator: PostgresConnection
    ) throws -> PostgresConnection? {
        if let url = configuration.database.url, PostgresTarget(url: url.exposed).user == nil {
            throw CommandFailure("database.url names no user: correct \(files.path(of: "database.url")), or remove it")
        }
        let hasDatabase =
            try administrator.query("SELECT FROM pg_database WHERE datname = $1", [.text(names.database)]).first != nil
        let database = hasDatabase ? try superuser(in: names.database) : nil
        if case .refused(.noDatabase, _) = owner {
            guard !hasDatabase else { throw SetupRefusal.otherServer(names.database) }
            plan.kept.append("database.url")
        } else {
            let role = try StandingRole.find(names.owner, on: administrator)
            if let role { try permitOwner(role, owner, on: database ?? administrator) }
            plan.steps.append(.owner(exists: role != nil))
        }
        if !hasDatabase { plan.steps.append(.database) }
        plan.steps += [.publicPrivileges, .schema]
        return database
    }

    /// What an interrupted run has left to do in a database that is there.
    private func planSchema(_ plan: inout SetupPlan, on connection: PostgresConnection) throws {
        let version = try SchemaVersion.find(on: connection)?.version
        let isOld = version.map { $0 < SchemaVersion.current } ?? true
        guard try isOld || !StandingRole.missing(on: connection).isEmpty else { return }
        // A superuser of this host is none of a server that another names.
        if version == nil, isOwn("database.url") { plan.steps.append(.publicPrivileges) }
        plan.steps.append(.schema)
    }

    /// Whether this command has written the value.
    private func isOwn(_ key: String) -> Bool {
        configuration.settings.first { $0.key == key }?.origin == .variable(files.path(of: key))
    }

    func url(of key: String) -> Redacted<String>? { configuration.database.url(of: key) }

    enum Login: Equatable {
        case works, missing
        /// By every server that is reachable, with its message.
        case refused(LoginRefusal, String)
    }

    /// Whether the configuration has a URL, and it logs in.
    ///
    /// - Parameter isNew: whether the database may not be there yet.
    /// - Throws: where it does not for other reasons than that the server refuses it, and where a URL of elsewhere does not: it
    ///   is not for this command to change.
    private func login(_ key: String, _ url: Redacted<String>?, isNew: Bool = false) throws -> Login {
        guard let url else { return .missing }
        let target = PostgresTarget(url: url.exposed, applicationName: "entitled setup")
        do {
            _ = try PostgresConnection(target)
            return .works
        } catch {
            if error.kind == .connection, let refusal = try PostgresConnection.refusal(of: target) {
                if isOwn(key) { return .refused(refusal, error.message) }
                if isNew { return .works }
            }
            let remedy =
                isOwn(key)
                ? "Nothing was changed: entitled setup repairs logins that every server of the URL refuses. Start the server,"
                    + " or correct \(files.path(of: key))"
                : "Correct it, or take it away so that entitled setup makes one"
            throw CommandFailure("\(key) is set, and does not work: \(error.message). \(remedy)")
        }
    }

    // MARK: - What may be changed

    /// What a role of a process may get.
    private enum Permission {
        /// It has all.
        case none
        /// A login, which it never had.
        case first
        /// A new password.
        case renewed
        /// Nothing: its login was withdrawn, or not given by this command.
        case withdrawn
    }

    private func permission(
        for role: DatabaseRole, _ login: Login, _ plan: SetupPlan, on administrator: PostgresConnection
    ) throws -> Permission {
        let (name, key) = (role.rawValue, role.configurationKey)
        if login == .works { return .none }
        if let url = url(of: key) {
            try checkUser(role, url)
            try checkPlace(role, url, administrator)
        }
        if case .refused(.noDatabase, let message) = login {
            if plan.steps.contains(.database) { return .none }
            throw SetupRefusal.noDatabase(key, message, files.path(of: key))
        }
        // A role that is not there is created with the schema.
        guard let standing = try StandingRole.find(name, on: administrator) else { return .first }
        guard standing.powers.isEmpty, !standing.createsRoles else {
            throw SetupRefusal.powers(standing, key, remedy(key))
        }
        return try permission(toChange: standing, key, login)
    }

    /// - Throws: unless the role is the owner of the database, and gets a new password because one asks for it.
    private func permitOwner(_ role: StandingRole, _ login: Login, on connection: PostgresConnection) throws {
        let key = "database.url"
        guard role.powers.isEmpty else { throw SetupRefusal.powers(role, key, remedy(key)) }
        // An interrupted run may have created the role, and no database yet.
        if role.canLogIn, case .refused(.notAllowed, let message) = login {
            throw SetupRefusal.notAllowed(key, message)
        }
        guard try role.owns(names.database, on: connection) else {
            throw SetupRefusal.notOwner(role, key, names.database, remedy(key))
        }
        guard try permission(toChange: role, key, login) == .renewed else { throw SetupRefusal.withdrawn([role.name]) }
    }

    /// - Throws: where a new password does not help, or may be another's loss.
    private func permission(toChange role: StandingRole, _ key: String, _ login: Login) throws -> Permission {
        if let expiry = role.expiry { throw SetupRefusal.expired(role, expiry) }
        if !role.canLogIn { return role.isUnfinished ? .first : .withdrawn }
        if case .refused(.notAllowed, let message) = login { throw SetupRefusal.notAllowed(key, message) }
        guard renews else {
            throw login == .missing
                ? SetupRefusal.takenElsewhere(role, files.path(of: key), files.folder)
                : SetupRefusal.otherPassword(role, files.path(of: key))
        }
        return .renewed
    }

    /// What a person does where the role is the wrong one.
    private func remedy(_ key: String) -> String {
        if url(of: key) != nil { return "Correct \(files.path(of: key))" }
        return key == "database.url" ? "Name another by --owner, or drop it if nothing needs it" : "Set \(key) yourself"
    }

    /// - Throws: where the file of a process lets another role log in.
    private func checkUser(_ role: DatabaseRole, _ url: Redacted<String>) throws {
        let user = PostgresTarget(url: url.exposed).user
        guard user != role.rawValue else { return }
        let key = role.configurationKey
        throw CommandFailure(
            "\(key) does not work, and names the role \(user ?? "of no name") in place of \(role.rawValue): correct"
                + " \(files.path(of: key)), or remove it so that entitled setup makes one")
    }

    /// - Throws: where the file of a process leads elsewhere than to the server that would be changed.
    private func checkPlace(_ role: DatabaseRole, _ url: Redacted<String>, _ administrator: PostgresConnection) throws {
        let key = role.configurationKey
        let own = try DatabasePlace(PostgresTarget(url: url.exposed))
        let wanted = try DatabasePlace(
            configuration.database.url.map { PostgresTarget(url: $0.exposed) } ?? superuserTarget(),
            database: names.database)
        guard !own.isSame(as: wanted) else { return }
        throw SetupRefusal.otherPlace(key, "\(own)", "\(wanted)", files.path(of: key))
    }

    /// Who may change the logins of roles: the owner, who created them, or a superuser.
    func administrator(_ owner: Login) throws -> PostgresConnection {
        guard owner == .works, let url = configuration.database.url else { return try superuser() }
        return try PostgresConnection(PostgresTarget(url: url.exposed, applicationName: "entitled setup"))
    }

    // MARK: - The sealing key

    enum SealingKey {
        /// The key of the state directory is the right one.
        case copy([UInt8])
        /// None is in use.
        case none
        /// The one with this fingerprint is in use, and the state directory does not have it.
        case lost(String)
    }

    /// - Parameter connection: to the database; nil: there is none yet.
    func sealingKey(on connection: PostgresConnection?) throws -> SealingKey {
        let key = try SealingKeys.ofStateDirectory(configuration)
        if let connection,
            try connection.query("SELECT to_regclass('entitled.sealing_key') IS NOT NULL AS is_there").one().bool(
                "is_there"),
            let known = try SealingKeyRegister.inUse(on: connection),
            key.map({ SecretSealer(keys: [Redacted($0)]).fingerprint }) != known
        {
            return .lost(known)
        }
        return key.map(SealingKey.copy) ?? .none
    }

    /// Why no sealing key was made, and what helps.
    func lostKey(_ fingerprint: String) -> CommandFailure {
        let path = files.path(of: "webhooks.secret_keys")
        return CommandFailure(
            "the database has webhook secrets sealed with the key \(fingerprint), which this host does not have; another one"
                + " would not open them, so none was made. Restore \(path) from a backup of \(files.folder) or from another"
                + " host; if the key is lost: entitled secrets reset, then entitled setup again")
    }
}

extension Configuration.Database {
    fileprivate func url(of key: String) -> Redacted<String>? {
        switch key {
        case DatabaseRole.ingest.configurationKey: ingestURL
        case DatabaseRole.worker.configurationKey: workerURL
        case DatabaseRole.api.configurationKey: apiURL
        case DatabaseRole.console.configurationKey: consoleURL
        default: url
        }
    }
}
