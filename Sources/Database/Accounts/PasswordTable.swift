import Base
import Postgres

/// Passwords of operators.
package enum PasswordTable {
    /// The hash of a living user's password; nil: there is no such user, or none with a password.
    package static func hash(of user: String, on connection: PostgresConnection) throws -> PasswordHash? {
        try connection.query(
            "SELECT password FROM entitled.console_user WHERE name = $1 AND ended_ms IS NULL", [.text(user)]
        ).first?.optionalText("password").flatMap { PasswordHash($0) }
    }

    /// Whether this is still what is kept of a user's password; it stays so until the transaction is over.
    package static func holds(_ hash: PasswordHash, of user: String, on connection: PostgresConnection) throws -> Bool {
        try connection.query(
            "SELECT password FROM entitled.console_user WHERE name = $1 AND ended_ms IS NULL FOR UPDATE", [.text(user)]
        ).first?.optionalText("password") == hash.text
    }

    /// - Parameter hash: nil takes the password away.
    /// - Returns: false where there is no such user.
    package static func set(
        _ hash: PasswordHash?, of user: String, on connection: PostgresConnection
    ) throws -> Bool {
        try connection.query(
            "UPDATE entitled.console_user SET password = $2 WHERE name = $1 AND ended_ms IS NULL RETURNING name",
            [.text(user), .text(hash?.text)]
        ).first != nil
    }

    /// Sets the zone in which pages show times to an operator.
    ///
    /// - Parameter zone: an IANA name; nil: UTC.
    package static func setZone(_ zone: String?, of user: String, on connection: PostgresConnection) throws {
        _ = try connection.query(
            "UPDATE entitled.console_user SET zone = $2 WHERE name = $1 AND ended_ms IS NULL",
            [.text(user), .text(zone)])
    }
}
