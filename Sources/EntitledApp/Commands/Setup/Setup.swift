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
    private func superuser(in database: String? = nil) throws -> PostgresConnection {
        try LocalSuperuser(url: administratorURL, standing: configuration.database.url).connect(to: database)
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

    private func url(of key: String) -> Redacted<String>? { configuration.database.url(of: key) }

    private enum Login: Equatable {
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
            throw CommandFailure("\(key) is set but does not work: \(error.message). \(remedy)")
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
        return try permission(standing, key, login)
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
        guard try permission(role, key, login) == .renewed else { throw SetupRefusal.withdrawn([role.name]) }
    }

    /// - Throws: where a new password does not help, or may be another's loss.
    private func permission(_ role: StandingRole, _ key: String, _ login: Login) throws -> Permission {
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
    private func administrator(_ owner: Login) throws -> PostgresConnection {
        guard owner == .works, let url = configuration.database.url else { return try superuser() }
        return try PostgresConnection(PostgresTarget(url: url.exposed, applicationName: "entitled setup"))
    }

    // MARK: - The sealing key

    private enum SealingKey {
        /// The key of the state directory is the right one.
        case copy([UInt8])
        /// None is in use.
        case none
        /// The one with this fingerprint is in use, and the state directory does not have it.
        case lost(String)
    }

    /// - Parameter connection: to the database; nil: there is none yet.
    private func sealingKey(on connection: PostgresConnection?) throws -> SealingKey {
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

    // MARK: - Making it

    /// Makes what was confirmed, unless something has changed since.
    ///
    /// - Parameters:
    ///   - anew: the same setup, of the configuration as it is now.
    ///   - progress: is told of each step before it begins, with the part that is done, 0 to 1.
    func make(_ plan: SetupPlan, anew: () throws -> Setup, _ progress: (SetupPlan.Step, Double) -> Void) throws {
        try files.makeFolder()
        try files.exclusively {
            let now = try anew()
            guard now.isSame(as: self), try now.plan() == plan else {
                throw CommandFailure(
                    "the installation has changed since this was planned, so nothing was done: run entitled setup again"
                )
            }
            try now.make(plan, progress)
        }
    }

    private static let keys = ["database.url"] + DatabaseRole.allCases.map(\.configurationKey)

    private func isSame(as other: Setup) -> Bool {
        names == other.names && files.folder == other.files.folder
            && Setup.keys.allSatisfy { url(of: $0) == other.url(of: $0) }
    }

    private func make(_ plan: SetupPlan, _ progress: (SetupPlan.Step, Double) -> Void) throws {
        let administrator = try plan.needsSuperuser ? superuser() : administrator(.works)
        var ownerURL = configuration.database.url?.exposed ?? ""
        for (place, step) in plan.steps.enumerated() {
            progress(step, Double(place) / Double(plan.steps.count))
            try make(step, &ownerURL, on: administrator)
        }
    }

    private func make(
        _ step: SetupPlan.Step, _ ownerURL: inout String, on administrator: PostgresConnection
    ) throws {
        let (owner, database) = (PostgresIdentifier.quoted(names.owner), PostgresIdentifier.quoted(names.database))
        switch step {
        case .owner(let exists):
            ownerURL = try giveLogin(names.owner, "database.url", exists ? .renew : .create, on: administrator)
        case .database:
            // Without being a superuser one has to be a member of the owner to give it a database.
            let isSuperuser = try administrator.query(
                "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
            ).one().bool("rolsuper")
            if !isSuperuser { try administrator.query("GRANT \(owner) TO CURRENT_USER") }
            try administrator.query("CREATE DATABASE \(database) OWNER \(owner)")
        case .publicPrivileges:
            try PublicPrivileges.withdraw(on: superuser(in: names.database))
        case .schema:
            let connection = try connect(ownerURL, of: "database.url")
            try StandingRole.makeMissing(on: connection)
            if case .newer(let found) = try Migrator.migrate(on: connection) {
                throw DatabaseRole.Rejection.newer(found: found)
            }
        case .login(let role, let renews):
            let key = role.configurationKey
            if !renews, try StandingRole.find(role.rawValue, on: administrator)?.isUnfinished != true {
                throw SetupRefusal.withdrawn([role.rawValue])
            }
            _ = try connect(giveLogin(role.rawValue, key, renews ? .renew : .first, on: administrator), of: key)
        case .sealingKey:
            // A process may have begun meanwhile.
            let key =
                switch try sealingKey(on: connect(ownerURL, of: "database.url")) {
                case .copy(let key): key
                case .none: SecureRandom.bytes(32)
                case .lost(let fingerprint): throw lostKey(fingerprint)
                }
            try files.write(Base64.encode(key), of: "webhooks.secret_keys", isNew: true)
        }
    }

    /// Logs in by what is in a file now.
    private func connect(_ url: String, of key: String) throws -> PostgresConnection {
        do {
            return try PostgresConnection(PostgresTarget(url: url, applicationName: "entitled setup"))
        } catch {
            throw CommandFailure(
                "\(key) has the password of its role but cannot log in: \(error.message). pg_hba.conf of the server"
                    + " has to"
                    + " let the role in with a password")
        }
    }

    private enum Giving {
        /// To a role that is not there.
        case create
        /// To a role of a process that has had none.
        case first
        /// A new password to a role that can log in.
        case renew
    }

    /// Gives a role the password of its file; where that has none, or a new one is asked for, one is made, and the file is
    /// written first. A password that was replaced on purpose does not come back.
    ///
    /// - Returns: the URL of the file.
    private func giveLogin(
        _ role: String, _ key: String, _ giving: Giving, on administrator: PostgresConnection
    ) throws -> String {
        let standing = url(of: key).map { PostgresTarget(url: $0.exposed) }
        let found = giving == .renew ? nil : standing?.password
        let password = found ?? Hex.encode(SecureRandom.bytes(24))
        var url = standing?.url.exposed ?? ""
        if found == nil {
            if let changed = try standing?.replacing(password: password) {
                url = changed
            } else {
                let server = standing ?? configuration.database.url.map { PostgresTarget(url: $0.exposed) }
                url = try (server ?? superuserTarget()).loginURL(
                    user: role, password: password, database: names.database, port: administrator.port)
            }
            try files.write(url, of: key, isNew: standing == nil)
        }
        let (name, verifier) = (
            PostgresIdentifier.quoted(role), try administrator.verifier(of: password, for: role)
        )
        let script =
            switch giving {
            case .create: "CREATE ROLE \(name) LOGIN CREATEROLE PASSWORD '\(verifier)'"
            case .first: "ALTER ROLE \(name) LOGIN PASSWORD '\(verifier)'; COMMENT ON ROLE \(name) IS NULL"
            case .renew: "ALTER ROLE \(name) PASSWORD '\(verifier)'"
            }
        try administrator.execute(script: script)
        return url
    }

    private func superuserTarget() throws -> PostgresTarget {
        try LocalSuperuser(url: administratorURL, standing: configuration.database.url).target
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
