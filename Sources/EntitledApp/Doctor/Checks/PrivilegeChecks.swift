import Base
import Postgres
import Schemas

/// Compares what each role may do with the table of privileges. What counts is what Postgres would allow, also through
/// PUBLIC and through other roles.
enum PrivilegeChecks {
    static let all = DatabaseRole.allCases.map { role in
        Check("database.privileges") { _, connection in try look(role, connection) }
    }

    private static func look(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        let version = try SchemaVersion.read(on: connection)
        guard version == SchemaVersion.current else {
            return [
                .ok(
                    "\(role.rawValue): not compared, because the table of privileges is for schema "
                        + "\(SchemaVersion.current)")
            ]
        }
        let faults =
            try attributes(role, connection) + tables(role, connection) + days(role, connection)
            + functions(role, connection)
        guard !faults.isEmpty else { return [.ok("\(role.rawValue) may do what its work needs, and no more")] }
        return faults
    }

    /// What Postgres has for tables and for columns; the server of an earlier version does not know the last.
    private static func verbs(_ connection: PostgresConnection) -> [String] {
        ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"]
            + (connection.serverVersion >= 170_000 ? ["MAINTAIN"] : [])
    }

    private static let columnVerbs = ["SELECT", "INSERT", "UPDATE", "REFERENCES"]

    // MARK: - The role itself

    private static let selectAttributes = """
        SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls,
            has_schema_privilege(r.oid, 'entitled', 'CREATE') AS makes_tables,
            has_schema_privilege(r.oid, 'entitled', 'USAGE') AS uses_schema,
            ARRAY(SELECT g.rolname::text FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid)
                AS memberships
        FROM pg_roles r WHERE rolname = $1
        """

    private static func attributes(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        let row = try connection.query(selectAttributes, [.text(role.rawValue)]).one()
        var findings: [Finding] = []
        for (column, word) in [
            ("rolsuper", "SUPERUSER"), ("rolcreaterole", "CREATEROLE"), ("rolcreatedb", "CREATEDB"),
            ("rolreplication", "REPLICATION"), ("rolbypassrls", "BYPASSRLS"),
        ] where try row.bool(ColumnName(column)) {
            findings.append(.error("\(role.rawValue) is \(word)", "ALTER ROLE \(role.rawValue) NO\(word)"))
        }
        if try row.bool("makes_tables") {
            findings.append(
                .error(
                    "\(role.rawValue) may create tables in the schema entitled",
                    "REVOKE CREATE ON SCHEMA entitled FROM \(role.rawValue)"))
        }
        if try !row.bool("uses_schema") {
            findings.append(
                .error(
                    "\(role.rawValue) may not use the schema entitled",
                    "GRANT USAGE ON SCHEMA entitled TO \(role.rawValue), or run `entitled migrate`"))
        }
        for other in try row.texts("memberships").compactMap({ $0 }) {
            findings.append(
                .error("\(role.rawValue) can become \(other)", "REVOKE \(other) FROM \(role.rawValue)"))
        }
        return findings
    }

    // MARK: - Tables

    /// What a role may do with a table as a whole, and with those of its columns where the whole says less.
    private struct Found {
        let table: String
        let isOwned: Bool
        let verbs: Set<String>
        let columns: [String: Set<String>]
    }

    /// Tables, and such partitions as have privileges of their own. A column with a verb is `verb column`.
    private static let select = """
        SELECT c.relname::text, c.relowner = r.oid AS is_owned,
            ARRAY(SELECT v FROM unnest($2::text[]) AS v WHERE has_table_privilege(r.oid, c.oid, v)) AS verbs,
            ARRAY(
                SELECT v || ' ' || a.attname FROM unnest($3::text[]) AS v CROSS JOIN pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                    AND NOT has_table_privilege(r.oid, c.oid, v) AND has_column_privilege(r.oid, c.oid, a.attnum, v))
                AS column_verbs
        FROM pg_class c CROSS JOIN pg_roles r
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
            AND (NOT c.relispartition OR c.relname = ANY ($4)) AND r.rolname = $1
        ORDER BY 1
        """

    private static func tables(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        let parameters: [PostgresValue] = [
            .text(role.rawValue), .texts(verbs(connection)), .texts(columnVerbs),
            .texts(Privileges.tables.map(\.name)),
        ]
        var findings: [Finding] = []
        var missing = Dictionary(
            uniqueKeysWithValues: Privileges.tables.map {
                ($0.name, $0.verbs(role, isDistributed: connection.isCluster))
            })
        for row in try connection.query(select, parameters) {
            var columns: [String: Set<String>] = [:]
            for pair in try row.texts("column_verbs").compactMap({ $0 }) {
                let parts = pair.split(separator: " ", maxSplits: 1).map(String.init)
                if parts.count == 2 { columns[parts[0], default: []].insert(parts[1]) }
            }
            let found = Found(
                table: try row.text("relname"), isOwned: try row.bool("is_owned"),
                verbs: Set(try row.texts("verbs").compactMap { $0 }),
                columns: columns)
            findings += compare(role, found, stated: missing.removeValue(forKey: found.table) ?? [])
        }
        for (table, verbs) in missing.sorted(by: { $0.key < $1.key }) where !verbs.isEmpty {
            findings.append(.error("the table entitled.\(table) is missing", "restore it from a backup"))
        }
        return findings
    }

    private static func compare(_ role: DatabaseRole, _ found: Found, stated: [Privileges.Verb]) -> [Finding] {
        guard !found.isOwned else {
            return [
                .error(
                    "\(role.rawValue) owns entitled.\(found.table)", "ALTER TABLE … OWNER TO the owner of the schema")
            ]
        }
        let whole = Set(stated.filter(\.columns.isEmpty).map(\.name))
        let columns = Dictionary(
            grouping: stated.filter { !$0.columns.isEmpty }, by: \.name
        ).mapValues { Set($0.flatMap(\.columns)) }
        var findings: [Finding] = []
        findings += excess(found.verbs.subtracting(whole).sorted(), role, found.table)
        for (verb, has) in found.columns.sorted(by: { $0.key < $1.key }) {
            let allowed = columns[verb] ?? []
            findings += has.subtracting(allowed).sorted().map { excess(verb, column: $0, role, found.table) }
        }
        // Where single columns are granted instead of the whole table, the verb is named as missing too.
        var lacking = whole.subtracting(found.verbs)
        for (verb, needed) in columns where !found.verbs.contains(verb) {
            let absent = needed.subtracting(found.columns[verb] ?? [])
            if !absent.isEmpty { lacking.insert("\(verb) (\(absent.sorted().joined(separator: ", ")))") }
        }
        return findings + lack(lacking.sorted(), role, found.table)
    }

    private static func excess(_ verbs: [String], _ role: DatabaseRole, _ table: String) -> [Finding] {
        guard !verbs.isEmpty else { return [] }
        let list = verbs.joined(separator: ", ")
        return [
            .error(
                "\(role.rawValue) may \(list) entitled.\(table)",
                "REVOKE \(list) ON entitled.\(table) FROM \(role.rawValue), or run `entitled migrate`")
        ]
    }

    /// Sealed columns hold secrets of endpoints.
    private static func excess(_ verb: String, column: String, _ role: DatabaseRole, _ table: String) -> Finding {
        let isSecret = verb == "SELECT" && column.hasSuffix("sealed")
        return .error(
            "\(role.rawValue) may \(isSecret ? "read the secrets in" : verb) entitled.\(table).\(column)",
            "REVOKE \(verb) (\(column)) ON entitled.\(table) FROM \(role.rawValue), or run `entitled migrate`")
    }

    private static func lack(_ verbs: [String], _ role: DatabaseRole, _ table: String) -> [Finding] {
        guard !verbs.isEmpty else { return [] }
        let list = verbs.joined(separator: ", ")
        return [
            .error(
                "\(role.rawValue) may not \(list) entitled.\(table)",
                "GRANT \(list) ON entitled.\(table) TO \(role.rawValue), or run `entitled migrate`")
        ]
    }

    // MARK: - Days

    /// Partitions on which a role has privileges of their own, by table: as GRANT … ON ALL TABLES leaves them.
    private static let selectDays = """
        SELECT p.relname::text, count(*) FROM pg_class c CROSS JOIN pg_roles r
        JOIN pg_inherits i ON i.inhrelid = c.oid JOIN pg_class p ON p.oid = i.inhparent
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relispartition AND c.relkind = 'r'
            AND c.relname <> ALL ($3) AND r.rolname = $1 AND c.relowner <> r.oid
            AND (has_table_privilege(r.oid, c.oid, $2) OR has_any_column_privilege(r.oid, c.oid, $4))
        GROUP BY 1 ORDER BY 1
        """

    private static func days(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        let parameters: [PostgresValue] = [
            .text(role.rawValue), .text(verbs(connection).joined(separator: ", ")),
            .texts(Privileges.tables.map(\.name)), .text(columnVerbs.joined(separator: ", ")),
        ]
        return try connection.query(selectDays, parameters).map { row in
            let table = try row.text("relname")
            return .error(
                "\(role.rawValue) has privileges on single days of entitled.\(table) (\(try row.int("count"))); those on the "
                    + "whole table are enough", "run `entitled migrate`, which revokes them")
        }
    }

    // MARK: - Functions

    /// Every function of the schema, and whether the table lets this role or every role call it.
    private static let selectFunctions = """
        SELECT p.oid::regprocedure::text AS function, has_function_privilege($1, p.oid, 'EXECUTE') AS is_allowed,
            p.oid = ANY (ARRAY(SELECT to_regprocedure('entitled.' || s)::oid FROM unnest($2::text[]) AS s)) AS is_own,
            p.oid = ANY (ARRAY(SELECT to_regprocedure('entitled.' || s)::oid FROM unnest($3::text[]) AS s)) AS is_free
        FROM pg_proc p WHERE p.pronamespace = 'entitled'::regnamespace ORDER BY 1
        """

    private static func functions(_ role: DatabaseRole, _ connection: PostgresConnection) throws -> [Finding] {
        let own = Privileges.functions.filter { $0.roles.contains(role) }.map(\.signature)
        let free = Privileges.functions.filter(\.roles.isEmpty).map(\.signature)
        let parameters: [PostgresValue] = [.text(role.rawValue), .texts(own), .texts(free)]
        return try connection.query(selectFunctions, parameters).compactMap { row in
            let (function, isAllowed) = (try row.text("function"), try row.bool("is_allowed"))
            let (isOwn, isFree) = (try row.bool("is_own"), try row.bool("is_free"))
            if isAllowed, !isOwn, !isFree {
                return .error(
                    "\(role.rawValue) may call \(function)",
                    "REVOKE EXECUTE ON FUNCTION \(function) FROM PUBLIC, \(role.rawValue), or run `entitled migrate`")
            }
            guard isOwn, !isAllowed else { return nil }
            return .error(
                "\(role.rawValue) may not call \(function)",
                "GRANT EXECUTE ON FUNCTION \(function) TO \(role.rawValue), or run `entitled migrate`")
        }
    }
}
