import Base
import CLI
import Database
import Postgres
import Schemas

/// What an installation lacks, and how `entitled setup` makes it.
struct SetupPlan: Equatable {
    enum Step: Equatable {
        /// The owner of the database; one that exists gets a new password.
        case owner(exists: Bool)
        case database
        case publicPrivileges
        case schema
        /// The login of a process' role; one that may log in already gets a new password.
        case login(DatabaseRole, renews: Bool)
        /// The key that seals the secrets of endpoints; one that state_dir has already is copied.
        case sealingKey(isCopy: Bool)

        /// For people: completes "entitled setup will …".
        func text(_ names: SetupNames) -> String {
            switch self {
            case .owner(let exists):
                exists
                    ? "set a new password of the Postgres role \(names.owner), the owner"
                    : "create the Postgres role \(names.owner), the owner"
            case .database: "create the database \(names.database)"
            case .publicPrivileges: "withdraw what Postgres allows every role and no process needs"
            case .schema: "create or upgrade the schema, roles and privileges (entitled migrate)"
            case .login(let role, let renews):
                renews ? "set a new password of \(role.rawValue)" : "let \(role.rawValue) log in with a password"
            case .sealingKey(let isCopy):
                "\(isCopy ? "copy" : "make") the key that seals the secrets of endpoints"
            }
        }

        /// The configuration key of which the step writes the file; nil: it writes none.
        var key: String? {
            switch self {
            case .owner: "database.url"
            case .login(let role, _): role.configurationKey
            case .sealingKey: "webhooks.secret_keys"
            case .database, .publicPrivileges, .schema: nil
            }
        }

        /// As `--json` names it.
        var word: String {
            switch self {
            case .owner: "owner"
            case .database: "database"
            case .publicPrivileges: "public_privileges"
            case .schema: "schema"
            case .login(let role, _): role.rawValue
            case .sealingKey: "sealing_key"
            }
        }
    }

    /// In the order in which they are made.
    var steps: [Step] = []
    /// What is there and works: keys of the configuration.
    var kept: [String] = []
    /// The fingerprint of the key in use, where this host lacks it; no other is made in its place.
    var lostKey: String?

    /// Whether one of the steps takes a user who may create roles and databases.
    var needsSuperuser: Bool {
        steps.contains { step in
            if case .owner = step { return true }
            return step == .database || step == .publicPrivileges
        }
    }
}

/// The role and the database that are made or repaired: those of `database.url`, where there is one.
struct SetupNames: Equatable {
    private static let usual = "entitled"

    let owner: String
    let database: String

    /// - Parameters:
    ///   - owner: as an option names it; nil: it does not.
    ///   - database: likewise.
    ///   - standing: the value of `database.url`.
    /// - Throws: where an option contradicts it.
    init(owner: String?, database: String?, standing: Redacted<String>?) throws {
        let target = standing.map { PostgresTarget(url: $0.exposed) }
        self.owner = try SetupNames.name("--owner", owner, target?.user)
        // As libpq has it.
        self.database = try SetupNames.name("--database", database, target?.database ?? target?.user)
    }

    private static func name(_ option: String, _ given: String?, _ standing: String?) throws -> String {
        guard let given, let standing, given != standing else { return standing ?? given ?? usual }
        throw UsageError(
            "\(option) \(given) contradicts database.url, which names \(standing): leave the option out; for another"
                + " installation, name another secrets_dir")
    }
}
