import Base
import Postgres

/// Creates the Postgres roles of the processes and of analysts.
///
/// Roles belong to the whole cluster, so that they may exist for another database already.
package enum RoleMaking {
    /// The roles that lack something: existence, and those of processes a member that can become them, or their timeouts.
    /// The role of analysts is whatever a superuser makes of it.
    private static let lacking = """
        SELECT wanted.name FROM unnest($1::text[], $2::text[], $4::bool[]) AS wanted(name, config, is_taken)
        LEFT JOIN pg_roles r ON r.rolname = wanted.name
        WHERE r.oid IS NULL OR wanted.is_taken AND (
            NOT coalesce(r.rolconfig @> wanted.config::text[], false) OR NOT EXISTS (
                SELECT FROM pg_auth_members m JOIN pg_roles taker ON taker.oid = m.member
                WHERE m.roleid = r.oid AND taker.rolname = coalesce($3, current_user)))
        """

    /// A role as it is to be.
    private struct Wanted {
        let name: String
        let settings: [(name: String, value: String)]
        /// Whether the owner becomes it: a process that logs in as the owner does.
        let isTaken: Bool
    }

    private static let wanted =
        DatabaseRole.allCases.map { Wanted(name: $0.rawValue, settings: settings($0), isTaken: true) }
        + [Wanted(name: AnalystRole.name, settings: AnalystRole.settings, isTaken: false)]

    /// The settings with which a role logs in.
    package static func settings(_ role: DatabaseRole) -> [(name: String, value: String)] {
        [("statement_timeout", role.statementTimeout), ("idle_in_transaction_session_timeout", "60s")]
    }

    /// Returns whether every role exists, is complete and can be taken by this user.
    ///
    /// - Parameter owner: the role that takes the roles; nil: the connection's own.
    package static func isDone(for owner: String?, on connection: PostgresConnection) throws -> Bool {
        try missing(for: owner, on: connection).isEmpty
    }

    private static func missing(for owner: String?, on connection: PostgresConnection) throws -> [Wanted] {
        let configs = wanted.map { role in
            "{" + role.settings.map { "\($0.name)=\($0.value)" }.joined(separator: ",") + "}"
        }
        let names = try connection.query(
            lacking, [.texts(wanted.map(\.name)), .texts(configs), .text(owner), .bools(wanted.map(\.isTaken))]
        ).map {
            try $0.text("name")
        }
        return wanted.filter { names.contains($0.name) }
    }

    /// Creates what is missing. A user without CREATEROLE can work with roles that a superuser created.
    ///
    /// The migrator's lock is its database's: where a migration of another database changes the same rows, Postgres waits for it
    /// and then fails, and the next attempt finds its work.
    ///
    /// - Parameter owner: the role that may take the roles, a plain identifier; nil: the connection's own.
    package static func make(for owner: String?, on connection: PostgresConnection) throws {
        for role in try missing(for: owner, on: connection) {
            for script in [make(role, for: owner), configure(role)] {
                var attempts = 1
                while true {
                    do {
                        try connection.execute(script: script)
                        break
                    } catch {
                        // "tuple concurrently updated", or the insert of another migration came first.
                        guard error.isCatalogueContention || error.sqlstate == "23505", attempts < 50 else {
                            throw error
                        }
                        attempts += 1
                    }
                }
            }
        }
    }

    private static func make(_ role: Wanted, for owner: String?) -> String {
        """
        DO $$ BEGIN
            CREATE ROLE \(role.name) NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END $$;
        \(role.isTaken ? "GRANT \(role.name) TO \(owner ?? "CURRENT_USER");" : "")
        """
    }

    /// Sets the timeouts of a process that logs in as the role itself; through PgBouncer there is no other way.
    private static func configure(_ role: Wanted) -> String {
        role.settings.map { "ALTER ROLE \(role.name) SET \($0.name) = '\($0.value)';" }.joined(separator: "\n")
    }
}
