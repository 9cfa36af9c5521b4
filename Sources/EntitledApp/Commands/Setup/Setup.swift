import Base
import CLI
import Crypto
import Database
import Postgres
import Schemas

/// Finds what an installation lacks, and makes it.
///
/// The file with a password is written before the role has it: what is interrupted between the two is mended by the next
/// run, which gives the role the password of the file.
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
        let database: PostgresConnection?
        switch owner {
        case .works:
            plan.kept.append("database.url")
            database = try administrator(.works)
            try planSchema(&plan, on: database)
        case .fails, .missing: database = try planOwner(owner, &plan)
        }
        for role in DatabaseRole.allCases {
            let url = configuration.database.ownURL(of: role)
            switch try login(role.configurationKey, url, isNew: !plan.steps.isEmpty) {
            case .works: plan.kept.append(role.configurationKey)
            case .fails:
                try check(role, url)
                plan.steps.append(.login(role))
            case .missing:
                try refuseToRenew(role.rawValue, role.configurationKey, owner)
                plan.steps.append(.login(role))
            }
        }
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
    private func planOwner(_ owner: Login, _ plan: inout SetupPlan) throws -> PostgresConnection? {
        if let url = configuration.database.url, PostgresTarget(url: url.exposed).user == nil {
            throw CommandFailure("database.url names no user: correct \(files.path(of: "database.url")), or remove it")
        }
        let connection = try superuser()
        let exists =
            try connection.query(
                "SELECT FROM pg_roles WHERE rolname = $1", [.text(names.owner)]
            ).first != nil
        if owner == .missing { try refuseToRenew(names.owner, "database.url", .missing, on: connection) }
        plan.steps.append(.owner(exists: exists))
        let hasDatabase =
            try connection.query("SELECT FROM pg_database WHERE datname = $1", [.text(names.database)]).first != nil
        if !hasDatabase { plan.steps.append(.database) }
        plan.steps += [.publicPrivileges, .schema]
        return hasDatabase ? try superuser(in: names.database) : nil
    }

    /// What an interrupted run has left to do in a database that is there.
    private func planSchema(_ plan: inout SetupPlan, on connection: PostgresConnection?) throws {
        guard let connection else { return }
        let version = try SchemaVersion.find(on: connection)?.version
        guard version.map({ $0 < SchemaVersion.current }) ?? true else { return }
        // A superuser of this host is none of a server that another names.
        if version == nil, isOwn("database.url") { plan.steps.append(.publicPrivileges) }
        plan.steps.append(.schema)
    }

    /// Whether this command has written the value.
    private func isOwn(_ key: String) -> Bool {
        configuration.settings.first { $0.key == key }?.origin == .variable(files.path(of: key))
    }

    private enum Login {
        case works, fails, missing
    }

    /// That the role, its password or the database is not as the URL has it, and not that a server is away.
    /// (Postgres manual, appendix A.)
    private static let refusals: Set = ["28000", "28P01", "3D000"]

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
            let isRefused =
                try error.kind == .connection
                && !Setup.refusals.isDisjoint(with: PostgresConnection.refusals(of: target))
            if isRefused {
                if isOwn(key) { return .fails }
                if isNew { return .works }
            }
            let remedy =
                isOwn(key)
                ? "Nothing was changed: entitled setup repairs logins that a server refuses. Start the server, or correct"
                    + " \(files.path(of: key))"
                : "Correct it, or take it away so that entitled setup makes one"
            throw CommandFailure("\(key) is set, and does not work: \(error.message). \(remedy)")
        }
    }

    /// - Throws: where the file of a process lets another role log in.
    private func check(_ role: DatabaseRole, _ url: Redacted<String>?) throws {
        let user = url.flatMap { PostgresTarget(url: $0.exposed).user }
        guard user != role.rawValue else { return }
        let key = role.configurationKey
        throw CommandFailure(
            "\(key) does not work, and names the role \(user ?? "of no name") in place of \(role.rawValue): correct"
                + " \(files.path(of: key)), or remove it so that entitled setup makes one")
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

    // MARK: - Rights

    /// A role that can log in has a password on another host, most likely.
    private func refuseToRenew(
        _ role: String, _ key: String, _ owner: Login, on connection: PostgresConnection? = nil
    ) throws {
        guard !renews else { return }
        let connection = try connection ?? administrator(owner)
        let found = try connection.query(
            "SELECT rolcanlogin FROM pg_roles WHERE rolname = $1", [.text(role)]
        ).first
        guard let found, try found.bool("rolcanlogin") else { return }
        throw CommandFailure(
            "the Postgres role \(role) can log in already, and this host has no \(files.path(of: key)): copy \(files.folder)"
                + " from the host that has it, or set new passwords with --new-passwords")
    }

    /// Who may change the logins of roles: the owner, who created them, or a superuser.
    private func administrator(_ owner: Login) throws -> PostgresConnection {
        guard owner == .works, let url = configuration.database.url else { return try superuser() }
        return try PostgresConnection(PostgresTarget(url: url.exposed, applicationName: "entitled setup"))
    }

    // MARK: - Making it

    /// - Parameter progress: is told of each step before it begins, with the part that is done, 0 to 1.
    func make(_ plan: SetupPlan, _ progress: (SetupPlan.Step, Double) -> Void) throws {
        try files.makeFolder()
        try files.exclusively {
            let administrator = try plan.needsSuperuser ? superuser() : administrator(.works)
            var ownerURL = configuration.database.url?.exposed ?? ""
            for (place, step) in plan.steps.enumerated() {
                progress(step, Double(place) / Double(plan.steps.count))
                try make(step, &ownerURL, on: administrator)
            }
        }
    }

    private func make(
        _ step: SetupPlan.Step, _ ownerURL: inout String, on administrator: PostgresConnection
    ) throws {
        let (owner, database) = (PostgresIdentifier.quoted(names.owner), PostgresIdentifier.quoted(names.database))
        switch step {
        case .owner(let exists):
            ownerURL = try giveLogin(
                names.owner, "database.url", create: exists ? nil : "CREATEROLE", on: administrator)
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
            if case .newer(let found) = try Migrator.migrate(on: connect(ownerURL, of: "database.url")) {
                throw DatabaseRole.Rejection.newer(found: found)
            }
        case .login(let role):
            let key = role.configurationKey
            _ = try connect(giveLogin(role.rawValue, key, create: nil, on: administrator), of: key)
        case .sealingKey:
            // A process may have begun meanwhile.
            switch try sealingKey(on: connect(ownerURL, of: "database.url")) {
            case .copy(let key): try files.write(Base64.encode(key), of: "webhooks.secret_keys")
            case .none: try files.write(Base64.encode(SecureRandom.bytes(32)), of: "webhooks.secret_keys")
            case .lost(let fingerprint): throw lostKey(fingerprint)
            }
        }
    }

    /// Logs in by what is in a file now.
    private func connect(_ url: String, of key: String) throws -> PostgresConnection {
        do {
            return try PostgresConnection(PostgresTarget(url: url, applicationName: "entitled setup"))
        } catch {
            throw CommandFailure(
                "\(key) has the password of its role, and does not log in: \(error.message). pg_hba.conf of the server has to"
                    + " let the role in with a password")
        }
    }

    /// Gives a role the password of its file; where that has none, one is made, and the file is written first.
    ///
    /// - Parameter create: attributes of the role where it has to be created.
    /// - Returns: the URL of the file.
    private func giveLogin(
        _ role: String, _ key: String, create: String?, on administrator: PostgresConnection
    ) throws -> String {
        let standing = configuration.database.url(of: key)
        let found = standing.flatMap { PostgresTarget(url: $0.exposed).password }
        let password = found ?? Hex.encode(SecureRandom.bytes(24))
        var url = standing?.exposed ?? ""
        if found == nil {
            let server = (standing ?? configuration.database.url).map { PostgresTarget(url: $0.exposed) }
            url = try (server ?? superuserTarget()).loginURL(
                user: role, password: password, database: names.database, port: administrator.port)
            try files.write(url, of: key)
        }
        let verifier = try administrator.verifier(of: password, for: role)
        try administrator.query(
            "\(create == nil ? "ALTER" : "CREATE") ROLE \(PostgresIdentifier.quoted(role)) LOGIN \(create ?? "")"
                + " PASSWORD '\(verifier)'")
        return url
    }

    private func superuserTarget() throws -> PostgresTarget {
        try LocalSuperuser(url: administratorURL, standing: configuration.database.url).target
    }
}

extension Configuration.Database {
    fileprivate func ownURL(of role: DatabaseRole) -> Redacted<String>? { url(of: role.configurationKey) }

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
