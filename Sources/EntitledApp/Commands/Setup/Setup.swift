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
    let superuser: LocalSuperuser
    let names: SetupNames
    /// Whether roles that can log in already get new passwords.
    let renews: Bool

    // MARK: - What is missing

    func plan() throws -> SetupPlan {
        var plan = SetupPlan()
        let owner = try login("database.url", configuration.database.url)
        switch owner {
        case .works:
            plan.kept.append("database.url")
            try planSchema(&plan)
        case .fails, .missing: try planOwner(owner, &plan)
        }
        for role in DatabaseRole.allCases {
            let url = configuration.database.ownURL(of: role)
            switch try login(role.configurationKey, url, isNew: !plan.steps.isEmpty) {
            case .works: plan.kept.append(role.configurationKey)
            case .fails: plan.steps.append(.login(role))
            case .missing:
                try refuseToRenew(role.rawValue, role.configurationKey, owner)
                plan.steps.append(.login(role))
            }
        }
        if configuration.webhooks.secretKeys.isEmpty {
            plan.steps.append(.sealingKey(isCopy: try SealingKeys.ofStateDirectory(configuration) != nil))
        } else {
            plan.kept.append("webhooks.secret_keys")
        }
        return plan
    }

    /// What belongs to the database itself, where its owner cannot log in, or can.
    private func planOwner(_ owner: Login, _ plan: inout SetupPlan) throws {
        let connection = try superuser.connect()
        let exists =
            try connection.query(
                "SELECT FROM pg_roles WHERE rolname = $1", [.text(names.owner)]
            ).first != nil
        if owner == .missing { try refuseToRenew(names.owner, "database.url", .missing, on: connection) }
        plan.steps.append(.owner(exists: exists))
        if try connection.query("SELECT FROM pg_database WHERE datname = $1", [.text(names.database)]).first == nil {
            plan.steps.append(.database)
        }
        plan.steps += [.publicPrivileges, .schema]
    }

    /// What an interrupted run has left to do in a database that is there.
    private func planSchema(_ plan: inout SetupPlan) throws {
        let connection = try administrator(.works)
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

    /// Whether the configuration has a URL, and it logs in.
    ///
    /// - Parameter isNew: whether the database may not be there yet.
    /// - Throws: where a URL of elsewhere does not: it is not for this command to change.
    private func login(_ key: String, _ url: Redacted<String>?, isNew: Bool = false) throws -> Login {
        guard let url else { return .missing }
        do {
            _ = try PostgresConnection(PostgresTarget(url: url.exposed, applicationName: "entitled setup"))
            return .works
        } catch {
            guard isOwn(key) else {
                if isNew { return .works }
                throw CommandFailure(
                    "\(key) is set, and does not work: \(error.message). Correct it, or take it away so that entitled setup"
                        + " makes one")
            }
            return .fails
        }
    }

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
        guard owner == .works, let url = configuration.database.url else { return try superuser.connect() }
        return try PostgresConnection(PostgresTarget(url: url.exposed, applicationName: "entitled setup"))
    }

    // MARK: - Making it

    /// - Parameter progress: is told of each step before it begins, with the part that is done, 0 to 1.
    func make(_ plan: SetupPlan, _ progress: (SetupPlan.Step, Double) -> Void) throws {
        try files.makeFolder()
        let administrator = try plan.needsSuperuser ? superuser.connect() : administrator(.works)
        var ownerURL = configuration.database.url?.exposed ?? ""
        for (place, step) in plan.steps.enumerated() {
            progress(step, Double(place) / Double(plan.steps.count))
            switch step {
            case .owner(let exists):
                ownerURL = try giveLogin(
                    names.owner, "database.url", create: exists ? nil : "CREATEROLE", on: administrator)
            case .database:
                // Without being a superuser one has to be a member of the owner to give it a database.
                let isSuperuser = try administrator.query(
                    "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
                ).one().bool("rolsuper")
                if !isSuperuser { try administrator.query("GRANT \(names.owner) TO CURRENT_USER") }
                try administrator.query("CREATE DATABASE \(names.database) OWNER \(names.owner)")
            case .publicPrivileges:
                try PublicPrivileges.withdraw(on: superuser.connect(to: names.database))
            case .schema:
                let owner = try PostgresConnection(PostgresTarget(url: ownerURL, applicationName: "entitled setup"))
                if case .newer(let found) = try Migrator.migrate(on: owner) {
                    throw DatabaseRole.Rejection.newer(found: found)
                }
            case .login(let role):
                _ = try giveLogin(role.rawValue, role.configurationKey, create: nil, on: administrator)
            case .sealingKey:
                let key = try SealingKeys.ofStateDirectory(configuration) ?? SecureRandom.bytes(32)
                try files.write(Base64.encode(key), of: "webhooks.secret_keys")
            }
        }
    }

    /// Writes the file of a login, then gives the role its password.
    ///
    /// - Parameter create: attributes of the role where it has to be created.
    private func giveLogin(
        _ role: String, _ key: String, create: String?, on administrator: PostgresConnection
    ) throws -> String {
        let standing = configuration.database.url(of: key).map { PostgresTarget(url: $0.exposed) }
        let password = standing?.password ?? Hex.encode(SecureRandom.bytes(24))
        let server = configuration.database.url.map { PostgresTarget(url: $0.exposed) } ?? superuser.target
        let url = try server.loginURL(
            user: role, password: password, database: database, port: administrator.port)
        try files.write(url, of: key)
        let verifier = try administrator.verifier(of: password, for: role)
        try administrator.query(
            "\(create == nil ? "ALTER" : "CREATE") ROLE \(role) LOGIN \(create ?? "") PASSWORD '\(verifier)'")
        return url
    }

    /// The one of the owner's URL, where that is set by another than this command.
    private var database: String {
        guard let url = configuration.database.url,
            let name = PostgresTarget(url: url.exposed).database
        else { return names.database }
        return name
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
