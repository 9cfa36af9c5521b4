import Base
import Postgres

/// What `entitled migrate` would do to a database; only read.
package struct MigrationPlan: Sendable {
    /// A table that a migration names, as the statistics of the database know it.
    package struct Table: Sendable, Equatable {
        package let name: String
        package let rows: Int64
        package let bytes: Int64
    }

    package struct Entry: Sendable {
        package let migration: Schemas.Migration
        /// The tables that exist and that it changes or reads.
        package let tables: [Table]
    }

    /// Nil: the database has no schema.
    package let found: SchemaVersion.Found?
    package let entries: [Entry]
    package let steps: [OnlineStep.Progress]

    private static let tables = """
        SELECT c.relname::text, greatest(0, sum(p.reltuples))::int8 AS rows,
            sum(pg_total_relation_size(p.oid))::int8 AS bytes
        FROM pg_class c CROSS JOIN LATERAL (
            SELECT c.oid, c.reltuples WHERE c.relkind = 'r'
            UNION ALL
            SELECT l.oid, l.reltuples FROM pg_partition_tree(c.oid) t JOIN pg_class l ON l.oid = t.relid
            WHERE c.relkind = 'p' AND t.isleaf
        ) p(oid, reltuples)
        WHERE c.relnamespace = to_regnamespace('entitled') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        GROUP BY c.relname ORDER BY c.relname
        """

    package static func make(
        on connection: PostgresConnection, _ migrations: [Schemas.Migration] = Schemas.migrations
    ) throws -> MigrationPlan {
        let found = try SchemaVersion.find(on: connection)
        let tables = try connection.query(tables).map {
            Table(name: try $0.text("relname"), rows: try $0.int("rows"), bytes: try $0.int("bytes"))
        }
        let entries = migrations.filter { $0.version > found?.version ?? 0 }.map { migration in
            let named = names(migration.sql)
            return Entry(migration: migration, tables: tables.filter { named.contains($0.name) })
        }
        return MigrationPlan(found: found, entries: entries, steps: try OnlineStep.read(on: connection))
    }

    /// What its statements call `entitled.…`; comments are left out, both kinds, and so are grants.
    private static func names(_ sql: String) -> Set<String> {
        let lines = sql.split(separator: "\n").filter { !$0.hasPrefix("--") }.joined(separator: "\n")
        var names: Set<String> = []
        for statement in lines.split(separator: ";") {
            let text = statement.drop { $0.isWhitespace }
            guard !text.hasPrefix("COMMENT"), !text.hasPrefix("GRANT") else { continue }
            for part in text.split(separator: "entitled.", omittingEmptySubsequences: false).dropFirst() {
                names.insert(String(part.prefix { $0.isLetter || $0.isNumber || $0 == "_" }))
            }
        }
        return names
    }
}
