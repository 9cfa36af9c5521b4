import Base
import Postgres

/// Brings the grants of a database to the table of `Privileges`, and says where they differ.
///
/// Grants are compared as Postgres stores them, for the processes' roles, for that of analysts and for PUBLIC, on the schemas
/// `entitled` and `entitled_reports`, their tables, views, columns, sequences and functions.
package enum PrivilegeGranting {
    /// One grant as Postgres stores it.
    private struct Grant: Hashable {
        let object: Object
        let grantee: String
        let verb: String
        /// Nil: the whole object.
        let column: String?

        var ofWholeObject: Grant { Grant(object: object, grantee: grantee, verb: verb, column: nil) }
    }

    private struct Object: Hashable {
        enum Kind: String, Hashable {
            case schema = "SCHEMA"
            case table = "TABLE"
            case sequence = "SEQUENCE"
            case function = "FUNCTION"
        }

        let kind: Kind
        /// As SQL names it, with the schema.
        let name: String
    }

    /// A statement that removes a difference between a database and the table.
    package struct Statement: Sendable, Equatable, Hashable {
        package let sql: String
        /// Whether the connection's user may run it.
        package let isPossible: Bool
    }

    // MARK: - The table

    private static let schema = Object(kind: .schema, name: "entitled")
    private static let everyRole = "PUBLIC"

    private static let stated = grants(isDistributed: false)
    private static let statedOfCluster = grants(isDistributed: true)

    private static func grants(isDistributed: Bool) -> Set<Grant> {
        var grants = Set<Grant>()
        for role in DatabaseRole.allCases {
            grants.insert(Grant(object: schema, grantee: role.rawValue, verb: "USAGE", column: nil))
            for table in Privileges.tables {
                let object = Object(kind: .table, name: "entitled.\(table.name)")
                for verb in table.verbs(role, isDistributed: isDistributed) {
                    let columns: [String?] = verb.columns.isEmpty ? [nil] : verb.columns
                    for column in columns {
                        grants.insert(Grant(object: object, grantee: role.rawValue, verb: verb.name, column: column))
                    }
                }
            }
        }
        let reports = Object(kind: .schema, name: AnalystRole.schema)
        grants.insert(Grant(object: reports, grantee: AnalystRole.name, verb: "USAGE", column: nil))
        for view in AnalystRole.views {
            let object = Object(kind: .table, name: "\(AnalystRole.schema).\(view)")
            grants.insert(Grant(object: object, grantee: AnalystRole.name, verb: "SELECT", column: nil))
        }
        for function in Privileges.functions {
            let object = Object(kind: .function, name: "entitled.\(function.signature)")
            for grantee in function.roles.isEmpty ? [everyRole] : function.roles.map(\.rawValue) {
                grants.insert(Grant(object: object, grantee: grantee, verb: "EXECUTE", column: nil))
            }
        }
        return grants
    }

    // MARK: - The database

    /// Objects with their privileges; an object without any has one row. What a role granted that is not the owner, as
    /// it may with a grant option, the owner cannot revoke: it goes with the grant option.
    private static let select = """
        WITH schema AS (
            SELECT oid, quote_ident(nspname) AS name, nspowner, nspacl FROM pg_namespace WHERE nspname = ANY ($3)
        ), object AS (
            SELECT 'SCHEMA' AS kind, name, NULL::text AS "column", nspowner AS owner,
                coalesce(nspacl, acldefault('n', nspowner)) AS acl
            FROM schema
            UNION ALL
            SELECT CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, s.name || '.' || quote_ident(relname), NULL,
                relowner, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))
            FROM pg_class JOIN schema s ON s.oid = relnamespace WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
            UNION ALL
            SELECT 'TABLE', s.name || '.' || quote_ident(relname), attname::text, relowner, attacl
            FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN schema s ON s.oid = relnamespace
            WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT attisdropped AND attacl IS NOT NULL
            UNION ALL
            SELECT 'FUNCTION', s.name || '.' || quote_ident(proname) || '(' || oidvectortypes(proargtypes) || ')', NULL,
                proowner, coalesce(proacl, acldefault('f', proowner))
            FROM pg_proc JOIN schema s ON s.oid = pronamespace
        ), grantee AS (
            SELECT oid, rolname::text AS name FROM pg_roles WHERE rolname = ANY ($1)
            UNION ALL SELECT 0::oid, $2
        )
        SELECT o.kind, o.name, o."column", pg_has_role(o.owner, 'USAGE') AS is_owner, g.name AS grantee, a.privilege_type,
            a.is_grantable
        FROM object o LEFT JOIN LATERAL (SELECT * FROM aclexplode(o.acl) e WHERE e.grantor = o.owner) a ON true
        LEFT JOIN grantee g ON g.oid = a.grantee
        """

    private static let selectColumns = """
        SELECT 'entitled.' || quote_ident(relname) AS name, attname::text,
            CASE WHEN attidentity <> '' THEN (
                SELECT 'entitled.' || quote_ident(s.relname) FROM pg_depend d JOIN pg_class s ON s.oid = d.objid
                WHERE d.classid = 'pg_class'::regclass AND d.refobjid = attrelid AND d.refobjsubid = attnum
                    AND d.deptype = 'i' AND s.relkind = 'S') END AS sequence
        FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
        WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p') AND NOT attisdropped AND attnum > 0
        """

    private struct Found {
        /// Objects of the schema, and whether the connection's user grants on them as their owner.
        var objects: [Object: Bool] = [:]
        var columns: Set<[String]> = []
        /// Those that number rows, by tables.
        var sequences: [String: String] = [:]
        /// Whether tables are distributed over the servers of a cluster.
        var isDistributed = false
        var grants: Set<Grant> = []
        var withOption: Set<Grant> = []
    }

    private static func read(_ connection: PostgresConnection) throws -> Found {
        var found = Found()
        let roles = DatabaseRole.allCases.map(\.rawValue) + [AnalystRole.name]
        let schemas = [schema.name, AnalystRole.schema]
        for row in try connection.query(select, [.texts(roles), .text(everyRole), .texts(schemas)]) {
            guard let kind = Object.Kind(rawValue: try row.text("kind")) else { continue }
            let object = Object(kind: kind, name: try row.text("name"))
            found.objects[object] = try row.bool("is_owner")
            guard let grantee = try row.optionalText("grantee") else { continue }
            let grant = Grant(
                object: object, grantee: grantee, verb: try row.text("privilege_type"),
                column: try row.optionalText("column"))
            found.grants.insert(grant)
            if try row.bool("is_grantable") { found.withOption.insert(grant) }
        }
        for row in try connection.query(selectColumns) {
            let (table, column) = (try row.text("name"), try row.text("attname"))
            found.columns.insert([table, column])
            found.sequences[table] = try row.optionalText("sequence") ?? found.sequences[table]
        }
        found.isDistributed = connection.isCluster
        return found
    }

    /// The grants that the table states; on a cluster with the sequences that number rows, which its coordinator adds as the role.
    private static func wanted(_ found: Found) -> Set<Grant> {
        guard found.isDistributed else { return stated }
        let numbers = statedOfCluster.filter { $0.object.kind == .table && $0.verb == "INSERT" }.compactMap { grant in
            found.sequences[grant.object.name].map {
                Grant(object: Object(kind: .sequence, name: $0), grantee: grant.grantee, verb: "USAGE", column: nil)
            }
        }
        return statedOfCluster.union(numbers)
    }

    // MARK: - Differences

    /// What a role has and the table does not state. A grant on a column says nothing where the whole table is granted.
    private static func revocations(_ found: Found) -> [Statement] {
        let wanted = wanted(found)
        let excess = found.grants.filter { !wanted.contains($0) && !wanted.contains($0.ofWholeObject) }
        let options = found.withOption.subtracting(excess)
        return statements(excess, found) { "REVOKE \($0) ON \($1) FROM \($2) CASCADE" }
            + statements(options, found) { "REVOKE GRANT OPTION FOR \($0) ON \($1) FROM \($2) CASCADE" }
    }

    /// A program works with schemas of several versions: what a later one adds has no privileges yet.
    private static func additions(_ found: Found) -> [Statement] {
        let existing = wanted(found).filter { grant in
            found.objects[grant.object] != nil
                && grant.column.map { found.columns.contains([grant.object.name, $0]) } ?? true
        }
        return statements(existing.subtracting(found.grants), found) { "GRANT \($0) ON \($1) TO \($2)" }
    }

    /// The statements that would bring the database to the table, in a constant order; empty where nothing differs.
    package static func differences(on connection: PostgresConnection) throws -> [Statement] {
        let found = try read(connection)
        return revocations(found) + additions(found)
    }

    /// Runs what the connection's user may, in one transaction; without a difference it only reads the catalogue.
    ///
    /// - Returns: the statements that were run.
    package static func apply(on connection: PostgresConnection) throws -> [Statement] {
        guard try differences(on: connection).contains(where: \.isPossible) else { return [] }
        var attempts = 1
        while true {
            do {
                return try grant(on: connection)
            } catch let error as PostgresError {
                // Another session grants on the same object at the same time ("tuple concurrently updated"), or holds it.
                guard error.isCatalogueContention, attempts < 5 else { throw error }
                attempts += 1
            }
        }
    }

    private static func grant(on connection: PostgresConnection) throws -> [Statement] {
        try connection.transaction {
            _ = try connection.query("SELECT \(Durability.setting)")
            _ = try connection.query("SET LOCAL lock_timeout = '10s'")
            return try applyInTransaction(on: connection)
        }
    }

    /// The same in a transaction of the caller's.
    static func applyInTransaction(on connection: PostgresConnection) throws -> [Statement] {
        let revoked = try run(revocations(try read(connection)), on: connection)
        // To revoke a privilege on a table takes it from its columns, too: read again what is missing.
        return revoked + (try run(additions(try read(connection)), on: connection))
    }

    private static func run(_ statements: [Statement], on connection: PostgresConnection) throws -> [Statement] {
        let possible = statements.filter(\.isPossible)
        for statement in possible { _ = try connection.query(statement.sql) }
        return possible
    }

    // MARK: - SQL

    /// One statement for each object and grantee.
    private static func statements(
        _ grants: Set<Grant>, _ found: Found, _ sql: (_ verbs: String, _ object: String, _ grantee: String) -> String
    ) -> [Statement] {
        struct Key: Hashable {
            let object: Object
            let grantee: String
        }
        return Dictionary(grouping: grants) { Key(object: $0.object, grantee: $0.grantee) }.map { key, grants in
            let object = "\(key.object.kind.rawValue) \(key.object.name)"
            return Statement(
                sql: sql(verbs(grants), object, key.grantee), isPossible: found.objects[key.object] ?? false)
        }.sorted { $0.sql < $1.sql }
    }

    /// As in `INSERT, SELECT (id, url)`.
    private static func verbs(_ grants: [Grant]) -> String {
        Dictionary(grouping: grants, by: \.verb).sorted { $0.key < $1.key }.flatMap { verb, grants in
            let columns = grants.compactMap(\.column).sorted()
            let whole = columns.count < grants.count ? [verb] : []
            return whole + (columns.isEmpty ? [] : ["\(verb) (\(columns.map(quoted).joined(separator: ", ")))"])
        }.joined(separator: ", ")
    }

    private static func quoted(_ column: String) -> String { "\"\(column.replacing("\"", with: "\"\""))\"" }
}
