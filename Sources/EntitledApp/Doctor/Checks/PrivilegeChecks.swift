import Base
import Postgres
import Schemas

/// That each role may do what its work needs, and no more.
enum PrivilegeChecks {
    static let all = DatabaseRole.allCases.map { role in
        Check("database.privileges") { _, connection in try look(role, connection) }
    }

    /// What a role may do with a table as a whole, and with some column of it.
    private struct Table {
        let name: String
        let granted: Set<String>
        let column: Set<String>
        let isOwned: Bool
    }

    private static let verbs = ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
    private static let columnVerbs = ["SELECT", "INSERT", "UPDATE"]

    /// Days are left out: rights are given on the tables as a whole.
    private static let tables = """
        SELECT c.relname::text,
            ARRAY(SELECT v FROM unnest($2::text[]) AS v WHERE has_table_privilege(r.oid, c.oid, v)),
            ARRAY(SELECT v FROM unnest($3::text[]) AS v WHERE has_any_column_privilege(r.oid, c.oid, v)),
            c.relowner = r.oid
        FROM pg_class c CROSS JOIN pg_roles r
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND r.rolname = $1
        ORDER BY 1
        """

    private static func look(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        var faults = try attributes(role, connection)
        let rows = try connection.query(tables, [.text(role.rawValue), .texts(verbs), .texts(columnVerbs)])
        for row in rows {
            let table = Table(
                name: try row.text(0), granted: Set(try row.texts(1).compactMap { $0 }),
                column: Set(try row.texts(2).compactMap { $0 }), isOwned: try row.bool(3))
            faults += excess(role, table) + lack(role, table)
        }
        faults += try columns(role, connection)
        faults += try secrets(role, connection)
        guard !faults.isEmpty else { return [.ok("\(role.rawValue) may do what its work needs, and no more")] }
        return faults
    }

    // MARK: - The role itself

    private static let selectAttributes = """
        SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
            has_schema_privilege(r.oid, 'entitled', 'CREATE'),
            ARRAY(SELECT g.rolname::text FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid)
        FROM pg_roles r WHERE rolname = $1
        """

    private static func attributes(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        let row = try connection.query(selectAttributes, [.text(role.rawValue)]).one()
        var findings: [Finding] = []
        for (column, word) in ["SUPERUSER", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS"].enumerated()
        where try row.bool(column) {
            findings.append(.error("\(role.rawValue) is \(word)", "ALTER ROLE \(role.rawValue) NO\(word)"))
        }
        if try row.bool(5) {
            findings.append(
                .error(
                    "\(role.rawValue) may make tables in the schema entitled",
                    "REVOKE CREATE ON SCHEMA entitled FROM \(role.rawValue)"))
        }
        for other in try row.texts(6).compactMap({ $0 }) {
            findings.append(
                .error("\(role.rawValue) can become \(other)", "REVOKE \(other) FROM \(role.rawValue)"))
        }
        return findings
    }

    // MARK: - Tables

    /// What the store's endpoint adds to.
    private static let arrivals: Set = ["jws_header", "notification_key", "notification", "pending", "listening"]
    /// What it may read some columns of.
    private static let deduplication: Set = ["jws_header", "notification_key", "pending", "schema_version"]
    /// What records are made of and events are sent from.
    private static let work: Set = [
        "notification", "pending", "held_notification", "lane", "worker", "fact", "purchase", "customer", "app_user_id",
        "endpoint", "event", "delivery", "attempt", "purchase_snapshot", "customer_attribute",
    ]
    /// What calls of apps and backends change: in the whole table, or in some columns of it.
    private static let calls: [String: Set<String>] = [
        "account": ["INSERT", "UPDATE", "DELETE"], "account_due": ["INSERT"],
        "account_join": ["INSERT", "UPDATE", "DELETE"],
        "action": ["INSERT"], "app_post": ["INSERT", "UPDATE"], "app_user_id": ["INSERT", "UPDATE", "DELETE"],
        "customer": ["INSERT", "UPDATE", "DELETE"],
        "customer_attribute": ["INSERT", "UPDATE", "DELETE"], "deletion": ["INSERT"], "deletion_id": ["INSERT"],
        "deletion_purchase": ["INSERT"], "delivery": ["INSERT"], "event": ["INSERT"], "fact": ["INSERT"],
        "jws_header": ["INSERT"], "notification": ["INSERT"], "notification_key": ["INSERT"], "pending": ["INSERT"],
        "purchase": ["INSERT"], "purchase_fold": ["INSERT", "UPDATE", "DELETE"], "purchase_identifier": ["INSERT"],
        "purchase_snapshot": ["INSERT", "UPDATE"],
    ]
    /// Columns that they update where the table is not theirs: to lock a row takes the right to update some column of it.
    private static let callColumns: [String: Set<String>] = [
        "api_key": ["last_used_ms"], "endpoint": ["created_ms"], "lane": ["epoch", "touched"],
        "purchase": [
            "owner", "product_id", "access_ends_ms", "grace_ends_ms", "revoked_ms", "will_renew", "wake_ms", "version",
            "updated_ms", "account", "claims", "tell_ms", "told_owner",
        ],
    ]
    /// What nobody reads but who sends.
    private static let secretTables: Set = ["sealing_key"]

    private static func excess(_ role: DatabaseRole, _ table: Table) -> [Finding] {
        guard !table.isOwned else {
            return [
                .error("\(role.rawValue) owns entitled.\(table.name)", "ALTER TABLE … OWNER TO the owner of the schema")
            ]
        }
        var found = table.granted.intersection(["TRUNCATE", "REFERENCES", "TRIGGER"])
        switch role {
        case .ingest:
            found.formUnion(table.granted.intersection(["SELECT", "UPDATE", "DELETE"]))
            found.formUnion(table.column.intersection(["UPDATE"]))
            if !arrivals.contains(table.name) { found.formUnion(table.column.intersection(["INSERT"])) }
            if !deduplication.contains(table.name) { found.formUnion(table.column.intersection(["SELECT"])) }
        case .worker:
            if table.name == "schema_version" { found.formUnion(table.granted.subtracting(["SELECT"])) }
        case .api:
            let whole = calls[table.name] ?? []
            found.formUnion(table.granted.intersection(["INSERT", "UPDATE", "DELETE"]).subtracting(whole))
            found.formUnion(table.column.intersection(["INSERT"]).subtracting(whole))
            if secretTables.contains(table.name) { found.formUnion(table.column.intersection(["SELECT"])) }
        }
        return sentences(found, "may", "REVOKE", "FROM", role, table)
    }

    private static func lack(_ role: DatabaseRole, _ table: Table) -> [Finding] {
        let needed: Set<String> =
            switch role {
            case .ingest: arrivals.contains(table.name) ? ["INSERT"] : []
            case .worker: work.contains(table.name) ? ["SELECT", "INSERT", "UPDATE", "DELETE"] : ["SELECT"]
            case .api:
                secretTables.contains(table.name)
                    ? []
                    : (calls[table.name] ?? []).union(callColumns[table.name] == nil ? [] : ["UPDATE"]).union(["SELECT"]
                    )
            }
        return sentences(needed.subtracting(table.column.union(table.granted)), "may not", "GRANT", "TO", role, table)
    }

    private static func sentences(
        _ found: Set<String>, _ words: String, _ remedy: String, _ preposition: String, _ role: DatabaseRole,
        _ table: Table
    ) -> [Finding] {
        guard !found.isEmpty else { return [] }
        let list = found.sorted().joined(separator: ", ")
        return [
            .error(
                "\(role.rawValue) \(words) \(list) entitled.\(table.name)",
                "\(remedy) \(list) ON entitled.\(table.name) \(preposition) \(role.rawValue)")
        ]
    }

    /// Days are left out here, too.
    private static let updatable = """
        SELECT c.relname::text, a.attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege($1, c.oid, a.attnum, 'UPDATE')
            AND NOT has_table_privilege($1, c.oid, 'UPDATE')
        ORDER BY 1, 2
        """

    /// Single columns that the api may update, and should not.
    private static func columns(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        guard role == .api else { return [] }
        return try connection.query(updatable, [.text(role.rawValue)]).compactMap { row in
            let (table, column) = (try row.text(0), try row.text(1))
            let isWhole = calls[table]?.contains("UPDATE") ?? false
            guard !isWhole, !(callColumns[table]?.contains(column) ?? false) else { return nil }
            return .error(
                "\(role.rawValue) may UPDATE entitled.\(table).\(column)",
                "REVOKE UPDATE (\(column)) ON entitled.\(table) FROM \(role.rawValue)")
        }
    }

    // MARK: - What only the worker may

    private static let sealedColumns = """
        SELECT a.attrelid::regclass::text, a.attname::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND a.attname LIKE '%sealed'
            AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> ALL ($2)
            AND has_column_privilege($1, a.attrelid, a.attnum, 'SELECT')
        ORDER BY 1, 2
        """

    private static let functions = """
        SELECT p.oid::regprocedure::text, has_function_privilege($1, p.oid, 'EXECUTE'),
            p.proname IN ('make_day', 'drop_day')
        FROM pg_proc p WHERE p.pronamespace = 'entitled'::regnamespace AND p.prosecdef ORDER BY 1
        """

    private static func secrets(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        var findings: [Finding] = []
        if role != .worker {
            let rows = try connection.query(
                sealedColumns, [.text(role.rawValue), .texts(secretTables.sorted())])
            for row in rows {
                let (table, column) = (try row.text(0), try row.text(1))
                findings.append(
                    .error(
                        "\(role.rawValue) may read the secrets in \(table).\(column)",
                        "REVOKE SELECT (\(column)) ON \(table) FROM \(role.rawValue)"))
            }
        }
        for row in try connection.query(functions, [.text(role.rawValue)]) {
            let (function, isAllowed, isOfDays) = (try row.text(0), try row.bool(1), try row.bool(2))
            if role != .worker, isAllowed {
                findings.append(
                    .error(
                        "\(role.rawValue) may call \(function)",
                        "REVOKE EXECUTE ON FUNCTION \(function) FROM PUBLIC, \(role.rawValue)"))
            } else if role == .worker, isOfDays, !isAllowed {
                findings.append(
                    .error(
                        "\(role.rawValue) may not call \(function)",
                        "GRANT EXECUTE ON FUNCTION \(function) TO \(role.rawValue)"))
            }
        }
        return findings
    }
}
