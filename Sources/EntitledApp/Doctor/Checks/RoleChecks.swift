import Base
import Postgres
import Schemas

/// Checks what grants on tables do not say of the processes' roles: what Postgres gives to every role, which rows they may
/// add, and which settings a role could have changed of itself.
enum RoleChecks {
    static let all = [
        Check("database.privileges") { _, connection in try look(connection) }
    ]

    private static func look(_ connection: PostgresConnection) throws -> [Finding] {
        let findings = try publicPrivileges(connection) + unguarded(connection) + settings(connection)
        guard findings.isEmpty else { return findings }
        return [
            .ok(
                "the roles add only rows of their own kinds, and use no large objects, temporary tables or advisory locks"
            )
        ]
    }

    private static func publicPrivileges(_ connection: PostgresConnection) throws -> [Finding] {
        let left = try PublicPrivileges.left(on: connection)
        guard !left.isEmpty else { return [] }
        return [.warning(MigrateCommand.warning(left), "run `entitled migrate`. \(MigrateCommand.remedy)")]
    }

    // MARK: - Rows

    /// Tables to which a role may add certain rows only, the triggers that refuse others, and the schema that brought these. Tables that are
    /// distributed over servers have no triggers.
    private static let narrowed: [(table: String, role: DatabaseRole, trigger: String, since: Int64)] = [
        ("fact", .api, "facts_allowed", 23), ("listening", .ingest, "minutes_allowed", 23),
        ("job", .console, "changes_allowed", 34), ("audit", .console, "audit_allowed", 34),
    ]

    private static let missing = """
        SELECT wanted.name, wanted.role, wanted.trigger
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[]) AS wanted(name, role, trigger, since)
        WHERE wanted.since <= (SELECT max(version) FROM entitled.schema_version) AND NOT EXISTS (
            SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
            WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = wanted.name AND t.tgname = wanted.trigger
                AND t.tgenabled IN ('O', 'A'))
        """

    private static func unguarded(_ connection: PostgresConnection) throws -> [Finding] {
        let narrowed = narrowed.filter { !connection.isCluster || TablePlacement.tables[$0.table] != .distributed }
        let parameters: [PostgresValue] = [
            .texts(narrowed.map(\.table)), .texts(narrowed.map(\.role.rawValue)), .texts(narrowed.map(\.trigger)),
            .int8s(narrowed.map(\.since)),
        ]
        return try connection.query(missing, parameters).map { row in
            let (table, role, trigger) = (try row.text("name"), try row.text("role"), try row.text("trigger"))
            if connection.isCluster, TablePlacement.tables[table] == .distributed {
                return .warning(
                    "\(role) may add any row to entitled.\(table): tables that are distributed have no triggers",
                    "let nothing but `entitled` log in as \(role)")
            }
            return .error(
                "\(role) may add any row to entitled.\(table): the trigger \(trigger) is missing or off",
                "ALTER TABLE entitled.\(table) ENABLE TRIGGER \(trigger); schemas/sql has the trigger")
        }
    }

    // MARK: - Settings

    private static let select = """
        SELECT r.rolname::text, unnest(s.setconfig) AS setting
        FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole
        WHERE r.rolname = ANY($1)
            AND s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
        ORDER BY 1, 2
        """

    /// With these a process would not work, or not safely. Others, such as work_mem, are the operator's.
    private static let harmful: Set = [
        "search_path", "role", "session_authorization", "default_transaction_read_only", "row_security", "lock_timeout",
        "idle_session_timeout", "statement_timeout", "idle_in_transaction_session_timeout",
    ]

    /// A role may change its own password and settings, and Postgres cannot take that away. Only the settings can be seen.
    private static func settings(_ connection: PostgresConnection) throws -> [Finding] {
        try connection.query(select, [.texts(DatabaseRole.allCases.map(\.rawValue))]).compactMap { row in
            let (name, setting) = (try row.text("rolname"), try row.text("setting"))
            let key = String(setting.prefix { $0 != "=" })
            guard harmful.contains(key), let role = DatabaseRole(rawValue: name),
                !RoleMaking.settings(role).contains(where: { "\($0.name)=\($0.value)" == setting })
            else { return nil }
            return .warning(
                "\(name) logs in with \(setting), which `entitled migrate` does not set",
                "ALTER ROLE \(name) RESET \(key). Unless an operator set it, the role's password is known to others: replace it"
            )
        }
    }
}
