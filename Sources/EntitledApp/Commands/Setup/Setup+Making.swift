import Base
import CLI
import Crypto
import Database
import Postgres
import Schemas

extension Setup {
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
                    "what is there has changed since this was planned, so nothing was done: run entitled setup again")
            }
            try now.carryOut(plan, progress)
        }
    }

    private static let keys = ["database.url"] + DatabaseRole.allCases.map(\.configurationKey)

    private func isSame(as other: Setup) -> Bool {
        names == other.names && files.folder == other.files.folder
            && Setup.keys.allSatisfy { url(of: $0) == other.url(of: $0) }
    }

    private func carryOut(_ plan: SetupPlan, _ progress: (SetupPlan.Step, Double) -> Void) throws {
        let administrator = try plan.needsSuperuser ? superuser() : administrator(.works)
        var ownerURL = configuration.database.url?.exposed ?? ""
        for (place, step) in plan.steps.enumerated() {
            progress(step, Double(place) / Double(plan.steps.count))
            try carryOut(step, &ownerURL, on: administrator)
        }
    }

    private func carryOut(
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
                "\(key) has the password of its role, and does not log in: \(error.message). pg_hba.conf of the server has to"
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
}
