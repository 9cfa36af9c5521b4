import CLI
import Postgres

/// Why `entitled setup` leaves a login as it is, and what a person does about it.
enum SetupRefusal {
    /// - Parameter remedy: a sentence without its full stop.
    static func powers(_ role: StandingRole, _ key: String, _ remedy: String) -> CommandFailure {
        let powers = role.powers + (role.createsRoles ? ["CREATEROLE"] : [])
        return CommandFailure(
            "\(key) means the Postgres role \(role.name), which has \(powers.joined(separator: ", ")): entitled setup sets no"
                + " password of such a role. \(remedy)")
    }

    static func notOwner(_ role: StandingRole, _ key: String, _ database: String, _ remedy: String) -> CommandFailure {
        CommandFailure(
            "\(key) means the Postgres role \(role.name), which is there and owns neither the database \(database) nor its"
                + " schema entitled: entitled setup sets no password of a role that may be another's. \(remedy)")
    }

    static func expired(_ role: StandingRole, _ expiry: String) -> CommandFailure {
        CommandFailure(
            "the password of the Postgres role \(role.name) expired at \(expiry), so the role cannot log in. Nothing"
                + " was"
                + " changed: to let it, run ALTER ROLE \(PostgresIdentifier.quoted(role.name)) VALID UNTIL 'infinity'")
    }

    static func withdrawn(_ names: [String]) -> CommandFailure {
        let statements = names.map { "ALTER ROLE \(PostgresIdentifier.quoted($0)) LOGIN" }
        return CommandFailure(
            "the Postgres roles that may not log in (NOLOGIN), \(names.joined(separator: ", ")), stay as they are, because that"
                + " may have been done on purpose. To let them, run \(statements.joined(separator: "; ")), and then entitled"
                + " setup --new-passwords")
    }

    static func notAllowed(_ key: String, _ message: String) -> CommandFailure {
        CommandFailure(
            "\(key) is set but does not work: \(message). Nothing was changed, as a new password would not help:"
                + " pg_hba.conf of the server has to let the role in with a password")
    }

    static func noDatabase(_ key: String, _ message: String, _ path: String) -> CommandFailure {
        CommandFailure("\(key) is set but does not work: \(message). Nothing was changed: correct \(path)")
    }

    static func otherServer(_ database: String) -> CommandFailure {
        CommandFailure(
            "the administrator's server has a database \(database), and that of database.url has none: they are not the same"
                + " server. Name the administrator of the other one by --superuser-url-file, or correct database.url")
    }

    static func otherPlace(_ key: String, _ own: String, _ wanted: String, _ path: String) -> CommandFailure {
        CommandFailure(
            "\(key) does not work and leads to \(own), while database.url leads to \(wanted): entitled setup repairs"
                + " logins at"
                + " that address alone, because a password that is changed there could end a login elsewhere. Nothing was"
                + " changed: correct \(path), or what keeps the login out there (a pooler such as PgBouncer has passwords"
                + " of its own)")
    }

    static func takenElsewhere(_ role: StandingRole, _ path: String, _ folder: String) -> CommandFailure {
        CommandFailure(
            "the Postgres role \(role.name) can log in already, and this host has no \(path): copy \(folder)"
                + " from the host that has it, or set new passwords with --new-passwords")
    }

    static func otherPassword(_ role: StandingRole, _ path: String) -> CommandFailure {
        CommandFailure(
            "the Postgres role \(role.name) has another password than \(path), which may have been changed on purpose."
                + " Nothing was changed: write that password into the file, or have both set anew with --new-passwords;"
                + " files of other hosts no longer work then")
    }
}
