import Postgres
import Schemas

/// A Postgres role as the server has it, before `entitled setup` gives it a login.
struct StandingRole {
    /// The comment of a role that `entitled setup` has created and that has had no login yet. It tells what an interrupted run
    /// has left from a role whose login was withdrawn on purpose, and is gone once the role has a login.
    static let mark = "Created by entitled setup, which has not let it log in yet."

    let name: String
    let canLogIn: Bool
    /// What the role may do beyond a process' needs, as ALTER ROLE says it; CREATEROLE apart.
    let powers: [String]
    let createsRoles: Bool
    /// The time in the past until which its password was valid; nil: it is valid.
    let expiry: String?
    /// Whether it has the mark and no login.
    let isUnfinished: Bool

    private static let select = """
        SELECT rolcanlogin, rolcreaterole, concat_ws(' ', CASE WHEN rolsuper THEN 'SUPERUSER' END,
                CASE WHEN rolreplication THEN 'REPLICATION' END, CASE WHEN rolbypassrls THEN 'BYPASSRLS' END) AS powers,
            CASE WHEN rolvaliduntil <= now() THEN rolvaliduntil::text END AS expiry,
            coalesce(NOT rolcanlogin AND shobj_description(oid, 'pg_authid') = $2, false) AS is_unfinished
        FROM pg_roles WHERE rolname = $1
        """

    /// Nil: there is no such role.
    static func find(_ name: String, on connection: PostgresConnection) throws -> StandingRole? {
        try connection.query(select, [.text(name), .text(mark)]).first.map { row in
            StandingRole(
                name: name, canLogIn: try row.bool("rolcanlogin"),
                powers: try row.text("powers").split(separator: " ").map(String.init),
                createsRoles: try row.bool("rolcreaterole"), expiry: try row.optionalText("expiry"),
                isUnfinished: try row.bool("is_unfinished"))
        }
    }

    private static let owns = """
        SELECT EXISTS (SELECT FROM pg_database d JOIN pg_roles r ON r.oid = d.datdba
            WHERE d.datname = $2 AND r.rolname = $1) OR EXISTS (
            SELECT FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner
            WHERE current_database() = $2 AND n.nspname = 'entitled' AND r.rolname = $1) AS owns
        """

    /// Whether the role owns a database, or the schema in it.
    ///
    /// - Parameter connection: to that database; where there is none, to any.
    func owns(_ database: String, on connection: PostgresConnection) throws -> Bool {
        try connection.query(StandingRole.owns, [.text(name), .text(database)]).one().bool("owns")
    }

    /// The roles of processes that are not there.
    static func missing(on connection: PostgresConnection) throws -> [DatabaseRole] {
        try DatabaseRole.allCases.filter { try find($0.rawValue, on: connection) == nil }
    }

    /// Creates the roles of processes that are not there, without a login and with the mark.
    static func makeMissing(on connection: PostgresConnection) throws {
        for role in try missing(on: connection) {
            do {
                try connection.execute(
                    script: "CREATE ROLE \(role.rawValue) NOLOGIN; COMMENT ON ROLE \(role.rawValue) IS '\(mark)'")
            } catch {
                // A migration of another database may have been first: then the role is not this run's.
                guard ["42710", "23505"].contains(error.sqlstate) else { throw error }
            }
        }
    }
}
