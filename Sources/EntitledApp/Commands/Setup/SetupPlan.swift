import Base
import Database
import Postgres
import Schemas

/// What an installation lacks, and how `entitled setup` makes it.
struct SetupPlan {
    enum Step: Equatable {
        /// The owner of the database.
        case owner(exists: Bool)
        case database
        case publicPrivileges
        case schema
        /// The login of a process' role.
        case login(DatabaseRole)
        /// The key that seals the secrets of endpoints; one that state_dir has already is copied.
        case sealingKey(isCopy: Bool)

        /// For people: completes "entitled setup will …".
        func text(_ names: SetupNames) -> String {
            switch self {
            case .owner(let exists):
                exists
                    ? "set the password of the Postgres role \(names.owner), the owner"
                    : "create the Postgres role \(names.owner), the owner"
            case .database: "create the database \(names.database)"
            case .publicPrivileges: "withdraw what Postgres allows every role and no process needs"
            case .schema: "create or upgrade the schema, roles and privileges (entitled migrate)"
            case .login(let role): "let \(role.rawValue) log in with a password"
            case .sealingKey(let isCopy):
                "\(isCopy ? "copy" : "make") the key that seals the secrets of endpoints"
            }
        }

        /// The configuration key of which the step writes the file; nil: it writes none.
        var key: String? {
            switch self {
            case .owner: "database.url"
            case .login(let role): role.configurationKey
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
            case .login(let role): role.rawValue
            case .sealingKey: "sealing_key"
            }
        }
    }

    /// In the order in which they are made.
    var steps: [Step] = []
    /// What is there and works: keys of the configuration.
    var kept: [String] = []

    /// Whether one of the steps takes a user who may create roles and databases.
    var needsSuperuser: Bool {
        steps.contains { step in
            if case .owner = step { return true }
            return step == .database || step == .publicPrivileges
        }
    }
}

/// Plain identifiers of Postgres.
struct SetupNames {
    let owner: String
    let database: String
}
