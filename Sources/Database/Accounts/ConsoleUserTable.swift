import Base
import Postgres

/// A person who operates this installation.
package struct ConsoleUser: Sendable, Equatable {
    package let name: String
    package let role: OperatorRole
    package let hasPassword: Bool
    /// IANA name; nil: UTC.
    package let zone: String?
    /// Instants in ms since 1970.
    package let created: Int64
    package let ended: Int64?
}

/// Operators in the database. They are made and removed on the host only.
package enum ConsoleUserTable {
    /// Characters of a name at most.
    package static let nameLimit = 64

    /// Letters, digits and a few signs, so that a name reads the same wherever it stands: in log lines, pages and commands.
    package static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= nameLimit
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "._@+-".utf8.contains(byte)
                }
            }
    }

    package enum Addition: Sendable, Equatable {
        /// Also a user who was removed before: without the password and the keys of that time.
        case added
        /// There is a user of this name, with this role.
        case exists(OperatorRole)
    }

    private static let insert = """
        INSERT INTO entitled.console_user (name, role, created_ms) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE
            SET role = excluded.role, password = NULL, created_ms = excluded.created_ms, ended_ms = NULL
            WHERE console_user.ended_ms IS NOT NULL
        RETURNING name
        """

    /// - Parameter now: ms since 1970.
    package static func add(
        _ name: String, _ role: OperatorRole, now: Int64, on connection: PostgresConnection
    ) throws -> Addition {
        let parameters: [PostgresValue] = [.text(name), .text(role.rawValue), .int8(now)]
        // A user that is removed in between leaves neither a row here nor one to find.
        for _ in 0..<3 {
            if try connection.query(insert, parameters).first != nil { return .added }
            if let user = try find(name, on: connection) { return .exists(user.role) }
        }
        return .exists(role)
    }

    private static let select = """
        SELECT name, role, password IS NOT NULL AS has_password, zone, created_ms, ended_ms FROM entitled.console_user
        """

    private static func user(_ row: PostgresRow) throws -> ConsoleUser? {
        // A role of a later version opens nothing here.
        guard let role = OperatorRole(rawValue: try row.text("role")) else { return nil }
        return ConsoleUser(
            name: try row.text("name"), role: role, hasPassword: try row.bool("has_password"),
            zone: try row.optionalText("zone"), created: try row.int("created_ms"),
            ended: try row.optionalInt("ended_ms"))
    }

    /// The user of this name who is there; nil: none, or one who was removed.
    package static func find(_ name: String, on connection: PostgresConnection) throws -> ConsoleUser? {
        try connection.query("\(select) WHERE name = $1 AND ended_ms IS NULL", [.text(name)]).first.flatMap(user)
    }

    /// In the order of their names.
    ///
    /// - Parameter live: without those who were removed.
    package static func list(live: Bool = false, on connection: PostgresConnection) throws -> [ConsoleUser] {
        try connection.query("\(select) WHERE NOT $1 OR ended_ms IS NULL ORDER BY name", [.bool(live)])
            .compactMap(user)
    }

    /// Whether the user of this name who is there was the one at this instant: another may have had the name before.
    ///
    /// - Parameter instant: ms since 1970, by the database's clock.
    package static func isSame(
        _ name: String, as instant: Int64, on connection: PostgresConnection
    ) throws -> Bool {
        try find(name, on: connection).map { $0.created <= instant } ?? false
    }

    private static let end = """
        WITH gone AS (
            UPDATE entitled.console_user SET ended_ms = $2, password = NULL WHERE name = $1 AND ended_ms IS NULL
            RETURNING name
        ), keys AS (
            UPDATE entitled.operator_key k SET ended_ms = $2 FROM gone
            WHERE k.user_name = gone.name AND k.ended_ms IS NULL
        )
        SELECT name FROM gone
        """

    /// Removes a user, whose keys end at once.
    ///
    /// - Parameter now: ms since 1970.
    /// - Returns: false where there is no such user.
    package static func remove(_ name: String, now: Int64, on connection: PostgresConnection) throws -> Bool {
        try connection.query(end, [.text(name), .int8(now)]).first != nil
    }
}
