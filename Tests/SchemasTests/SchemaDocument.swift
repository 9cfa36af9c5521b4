import Base
import Postgres
import Schemas
import TestSupport

/// `schemas/schema.sql`: the schema of a database, read from its catalogue, by topic.
///
/// By queries of its own, because the output of `pg_dump` differs by version. Days are left out: they depend on the date.
struct SchemaDocument {
    /// Every table, under the topic that it is read with.
    static let topics: [(title: String, tables: [String])] = [
        (
            "The log",
            [
                "notification", "notification_key", "jws_header", "pending", "held_notification",
                "diverted_notification", "action", "listening", "history_look", "status_look",
            ]
        ),
        ("Lanes and workers", ["lane", "worker", "process", "database_position", "database_sighting"]),
        (
            "Facts and purchases",
            ["fact", "purchase", "purchase_fold", "purchase_identifier", "purchase_snapshot", "product"]
        ),
        (
            "Customers",
            [
                "customer", "app_user_id", "customer_attribute", "customer_note", "account", "account_join",
                "account_due", "account_lane", "owner_lane", "owner_setting", "owner_salt", "app_post", "account_look",
            ]
        ),
        ("Events and deliveries", ["event", "event_copy", "delivery", "attempt", "sender"]),
        ("Endpoints and keys", ["endpoint", "endpoint_secret", "endpoint_health", "sealing_key", "api_key"]),
        ("Refunds", ["refund_request"]),
        ("Jobs", ["job", "rebuild", "change_kind"]),
        (
            "Deletions",
            ["deletion", "deletion_purchase", "deletion_delivery", "deletion_id", "deletion_salt"]
        ),
        ("Operators", ["console_user", "operator_key", "console_session", "console_link", "console_try", "audit"]),
        ("Reports", ["report_purchase", "report_transaction", "report_entitlement", "report_refresh"]),
        ("The schema's version", ["schema_version", "migration_step"]),
    ]

    private let connection: PostgresConnection
    /// Without comments the text is the same for a database that was made by it.
    private let hasComments: Bool

    init(_ connection: PostgresConnection, hasComments: Bool = true) {
        self.connection = connection
        self.hasComments = hasComments
    }

    /// - Parameter version: of the schema, for the heading.
    func text(version: Int) throws -> String {
        var parts = hasComments ? [SchemaDocument.heading(version)] : []
        parts.append("CREATE SCHEMA entitled;\n" + (try grants("SCHEMA")).joined(separator: "\n"))
        for topic in SchemaDocument.topics {
            if hasComments { parts.append("-- MARK: \(topic.title)") }
            parts += try topic.tables.map(table)
        }
        if hasComments { parts.append("-- MARK: Views for analysts") }
        parts += try views()
        if hasComments { parts.append("-- MARK: Functions and triggers") }
        parts += try functions()
        parts += try triggers()
        return parts.joined(separator: "\n\n") + "\n"
    }

    private static func heading(_ version: Int) -> String {
        """
        -- The schema of entitled, version \(version), for reading: what the migrations in schemas/sql come to, with the grants of
        -- Privileges.swift. `entitled migrate` makes databases; this file does not.
        --
        -- Generated: UPDATE_GENERATED=1 swift test --filter SchemaDocumentTests writes it from a migrated empty database.
        --
        -- Tables of notifications, facts, purchases, events and deliveries lead with `lane` (0 to 255), the distribution column.
        -- There are no foreign keys. `…_ms` are milliseconds since 1970 UTC, given by the program that writes; leases alone use
        -- the clock of the server. `environment` is 0 for Production and 1 for Sandbox. `app` is the id of the configuration.
        """
    }

    // MARK: - Tables

    private func rows(_ sql: String, _ parameters: [PostgresValue] = []) throws -> [PostgresRow] {
        try connection.query(sql, parameters).map { $0 }
    }

    private func texts(_ sql: String, _ parameters: [PostgresValue] = []) throws -> [String] {
        try rows(sql, parameters).map { try $0.text(0) }
    }

    private static let tableQuery = """
        SELECT array_to_string(reloptions, ', '), CASE relkind WHEN 'p' THEN pg_get_partkeydef(oid) END,
            obj_description(oid, 'pg_class')
        FROM pg_class WHERE oid = ('entitled.' || quote_ident($1))::regclass
        """

    private func table(_ name: String) throws -> String {
        let row = try connection.query(SchemaDocument.tableQuery, [.text(name)]).one()
        let members = try columns(name) + constraints(name)
        var lines = comment(try row.optionalText(2), indentation: "")
        lines.append("CREATE TABLE entitled.\(name) (")
        for (index, member) in members.enumerated() {
            lines += comment(member.comment, indentation: "    ")
            lines.append("    \(member.sql)\(index == members.count - 1 ? "" : ",")")
        }
        let key = try row.optionalText(1).map { " PARTITION BY \($0)" } ?? ""
        let options = try row.optionalText(0).map { " WITH (\($0))" } ?? ""
        lines.append(")\(key)\(options);")
        lines += try texts(SchemaDocument.storageQuery, [.text(name)])
        lines += try indexes(name)
        lines += try statistics(name)
        lines += try grants("TABLE", name)
        return (lines + (try partitions(name))).joined(separator: "\n")
    }

    private struct Member {
        let sql: String
        let comment: String?
    }

    private static let columnQuery = """
        SELECT quote_ident(attname) || ' ' || format_type(atttypid, atttypmod)
            || CASE WHEN attcollation <> typcollation THEN ' COLLATE ' || quote_ident(collname) ELSE '' END
            || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
            || CASE attidentity WHEN 'd' THEN ' GENERATED BY DEFAULT AS IDENTITY'
                WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
            || coalesce(' DEFAULT ' || pg_get_expr(adbin, adrelid), ''),
            col_description(attrelid, attnum)
        FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
        LEFT JOIN pg_collation c ON c.oid = attcollation
        LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = ('entitled.' || quote_ident($1))::regclass AND attnum > 0 AND NOT attisdropped
        ORDER BY attnum
        """

    private func columns(_ table: String) throws -> [Member] {
        try rows(SchemaDocument.columnQuery, [.text(table)]).map { row in
            Member(sql: try row.text(0), comment: try row.optionalText(1))
        }
    }

    /// From Postgres 18 on NOT NULL is a constraint, too.
    private static let constraintQuery = """
        SELECT 'CONSTRAINT ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid),
            obj_description(oid, 'pg_constraint')
        FROM pg_constraint WHERE conrelid = ('entitled.' || quote_ident($1))::regclass AND contype <> 'n'
        ORDER BY contype <> 'p', conname
        """

    private func constraints(_ table: String) throws -> [Member] {
        try rows(SchemaDocument.constraintQuery, [.text(table)]).map { row in
            Member(sql: try row.text(0), comment: try row.optionalText(1))
        }
    }

    private static let storageQuery = """
        SELECT 'ALTER TABLE entitled.' || quote_ident($1) || ' ALTER COLUMN ' || quote_ident(attname) || ' SET STORAGE '
            || CASE attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END || ';'
        FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
        WHERE attrelid = ('entitled.' || quote_ident($1))::regclass AND attnum > 0 AND NOT attisdropped
            AND attstorage <> typstorage
        ORDER BY attnum
        """

    private static let indexQuery = """
        SELECT pg_get_indexdef(indexrelid) || ';', obj_description(indexrelid, 'pg_class')
        FROM pg_index JOIN pg_class c ON c.oid = indexrelid
        WHERE indrelid = ('entitled.' || quote_ident($1))::regclass
            AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
        ORDER BY relname
        """

    private func indexes(_ table: String) throws -> [String] {
        try rows(SchemaDocument.indexQuery, [.text(table)]).flatMap { row in
            comment(try row.optionalText(1), indentation: "") + [try row.text(0)]
        }
    }

    private static let statisticsQuery = """
        SELECT pg_get_statisticsobjdef(oid) || ';', obj_description(oid, 'pg_statistic_ext')
        FROM pg_statistic_ext WHERE stxrelid = ('entitled.' || quote_ident($1))::regclass ORDER BY stxname
        """

    private func statistics(_ table: String) throws -> [String] {
        try rows(SchemaDocument.statisticsQuery, [.text(table)]).flatMap { row in
            comment(try row.optionalText(1), indentation: "") + [try row.text(0)]
        }
    }

    /// The partitions that do not depend on the date.
    private static let partitionQuery = """
        SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid), obj_description(c.oid, 'pg_class')
        FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
        WHERE inhparent = ('entitled.' || quote_ident($1))::regclass AND c.relispartition
            AND pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT'
        ORDER BY 1
        """

    private func partitions(_ table: String) throws -> [String] {
        try rows(SchemaDocument.partitionQuery, [.text(table)]).flatMap { row in
            let name = try row.text(0)
            return [""] + comment(try row.optionalText(2), indentation: "")
                + ["CREATE TABLE entitled.\(name) PARTITION OF entitled.\(table) \(try row.text(1));"]
                + (try grants("TABLE", name))
        }
    }

    // MARK: - Views

    private static let viewQuery = """
        SELECT relname::text, obj_description(oid, 'pg_class') FROM pg_class
        WHERE relnamespace = 'entitled_reports'::regnamespace AND relkind = 'v'
        ORDER BY array_position($1::text[], relname::text), oid
        """
    private static let viewGrantQuery = """
        SELECT 'GRANT ' || string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type) || ' ON ' || o.name || ' TO '
            || pg_get_userbyid(a.grantee) || ';'
        FROM (
            SELECT 'SCHEMA entitled_reports' AS name, '' AS relname, nspacl AS acl, nspowner AS owner FROM pg_namespace
            WHERE nspname = 'entitled_reports'
            UNION ALL
            SELECT 'entitled_reports.' || relname, relname, relacl, relowner FROM pg_class
            WHERE relnamespace = 'entitled_reports'::regnamespace
        ) o CROSS JOIN aclexplode(o.acl) a WHERE o.relname = $1 AND a.grantee <> o.owner
        GROUP BY o.name, a.grantee ORDER BY 1
        """

    /// As the migrations say them: servers of several versions write the definition that they keep in several ways.
    private func views() throws -> [String] {
        var definitions: [String: String] = [:]
        for migration in Schemas.migrations {
            let pattern = /CREATE (?:OR REPLACE )?VIEW entitled_reports\.(\w+) AS\n(.+?);\n/.dotMatchesNewlines()
            for match in migration.sql.matches(of: pattern) {
                definitions[String(match.output.1)] = String(match.output.2)
            }
        }
        let schema = ["CREATE SCHEMA entitled_reports;"] + (try texts(SchemaDocument.viewGrantQuery, [.text("")]))
        let order = ["customers", "subscriptions", "transactions", "events", "entitlements_now", "freshness"]
        return [schema.joined(separator: "\n")]
            + (try rows(SchemaDocument.viewQuery, [.texts(order)]).map { row in
                let name = try row.text(0)
                guard let definition = definitions[name] else {
                    throw TestFailure("no migration makes the view \(name)")
                }
                return
                    (comment(try row.optionalText(1), indentation: "")
                    + ["CREATE VIEW entitled_reports.\(name) AS\n\(definition);"]
                    + (try texts(SchemaDocument.viewGrantQuery, [.text(name)]))).joined(separator: "\n")
            })
    }

    // MARK: - Grants

    /// What the processes' roles and PUBLIC have. Columns that are granted with their whole table are left out.
    private static let grantQuery = """
        WITH object AS (
            SELECT 'SCHEMA' AS kind, '' AS name, NULL::text AS "column", nspacl AS acl, nspowner AS owner
            FROM pg_namespace WHERE nspname = 'entitled'
            UNION ALL SELECT 'TABLE', relname::text, NULL, relacl, relowner FROM pg_class
            WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p')
            UNION ALL SELECT 'TABLE', relname::text, quote_ident(attname), attacl, relowner
            FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
            WHERE relnamespace = 'entitled'::regnamespace AND NOT attisdropped
            UNION ALL SELECT 'FUNCTION', proname || '(' || oidvectortypes(proargtypes) || ')', NULL,
                coalesce(proacl, acldefault('f', proowner)), proowner
            FROM pg_proc WHERE pronamespace = 'entitled'::regnamespace
        ), granted AS (
            SELECT kind, name, "column", a.privilege_type AS verb,
                CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(a.grantee)::text END AS grantee
            FROM object o CROSS JOIN aclexplode(o.acl) a WHERE a.grantee <> o.owner
        ), verb AS (
            SELECT grantee, verb, string_agg("column", ', ' ORDER BY "column" COLLATE "C") AS columns FROM granted g
            WHERE kind = $1 AND name = $2 AND (grantee = 'PUBLIC' OR grantee = ANY ($3)) AND NOT (
                "column" IS NOT NULL AND EXISTS (
                    SELECT FROM granted w WHERE w.kind = g.kind AND w.name = g.name AND w.grantee = g.grantee
                        AND w.verb = g.verb AND w."column" IS NULL))
            GROUP BY 1, 2
        )
        SELECT 'GRANT ' || string_agg(verb || coalesce(' (' || columns || ')', ''), ', '
                ORDER BY array_position('{SELECT,INSERT,UPDATE,DELETE}'::text[], verb), verb)
            || CASE $1 WHEN 'TABLE' THEN ' ON ' ELSE ' ON ' || $1 || ' ' END
            || 'entitled' || CASE $2 WHEN '' THEN '' ELSE '.' || $2 END || ' TO ' || grantee || ';'
        FROM verb GROUP BY grantee ORDER BY array_position($3, grantee), grantee
        """

    private func grants(_ kind: String, _ name: String = "") throws -> [String] {
        try texts(
            SchemaDocument.grantQuery, [.text(kind), .text(name), .texts(DatabaseRole.allCases.map(\.rawValue))])
    }

    // MARK: - Functions and triggers

    private static let functionQuery = """
        SELECT pg_get_functiondef(oid), proname || '(' || oidvectortypes(proargtypes) || ')',
            obj_description(oid, 'pg_proc')
        FROM pg_proc WHERE pronamespace = 'entitled'::regnamespace ORDER BY proname, 2
        """

    private func functions() throws -> [String] {
        try rows(SchemaDocument.functionQuery).map { row in
            let signature = try row.text(1)
            let definition = try row.text(0).split(separator: "\n", omittingEmptySubsequences: false)
                .map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
            var lines = comment(try row.optionalText(2), indentation: "")
            lines.append((definition.hasSuffix("\n") ? String(definition.dropLast()) : definition) + ";")
            let granted = try grants("FUNCTION", signature)
            if !granted.contains(where: { $0.hasSuffix(" TO PUBLIC;") }) {
                lines.append("REVOKE ALL ON FUNCTION entitled.\(signature) FROM PUBLIC;")
            }
            return (lines + granted).joined(separator: "\n")
        }
    }

    private static let triggerQuery = """
        SELECT pg_get_triggerdef(t.oid), obj_description(t.oid, 'pg_trigger')
        FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
        WHERE relnamespace = 'entitled'::regnamespace AND NOT tgisinternal ORDER BY relname, tgname
        """

    private func triggers() throws -> [String] {
        try rows(SchemaDocument.triggerQuery).map { row in
            (comment(try row.optionalText(1), indentation: "") + [try row.text(0) + ";"]).joined(separator: "\n")
        }
    }

    // MARK: - Comments

    private static let width = 120

    /// A comment in lines of at most 120 columns.
    private func comment(_ text: String?, indentation: String) -> [String] {
        guard hasComments, let text else { return [] }
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indentation.count + 4 + line.count + word.count > SchemaDocument.width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return (lines + [line]).map { "\(indentation)-- \($0)" }
    }
}
