import Base
import Glibc
import Postgres
import Schemas
import TestSupport

/// Schemas that come after this program's, made for tests of upgrading.
enum NextSchemas {
    static let first = SchemaVersion.current + 1
    static let rows = 2000

    /// Adds a column, which is filled while processes work, and an index; programs of this schema work with it.
    static let expanding = Schemas.Migration(
        version: first, name: "expanding",
        sql: "ALTER TABLE entitled.fact ADD COLUMN counted int; ALTER TABLE entitled.customer ADD COLUMN counted int;",
        oldestProgram: SchemaVersion.current,
        steps: [
            .backfill(
                name: "fact_counted", table: "fact",
                batch: """
                    WITH next AS (
                        SELECT digest FROM entitled.fact WHERE $1::text IS NULL OR digest > $1::uuid ORDER BY digest LIMIT $2
                    ), written AS (
                        UPDATE entitled.fact f SET counted = coalesce(counted, 0) + 1 FROM next n
                        WHERE f.digest = n.digest RETURNING f.digest
                    )
                    SELECT (SELECT digest::text FROM next ORDER BY digest DESC LIMIT 1) AS cursor,
                        (SELECT count(*) FROM written) AS rows
                    """),
            .index(name: "fact_by_counted", definition: "ON entitled.fact (counted)"),
        ])

    /// Removes what programs of this schema still use: they end.
    static let contracting = Schemas.Migration(
        version: first + 1, name: "contracting", sql: "ALTER TABLE entitled.customer DROP COLUMN counted;",
        oldestProgram: first)

    static let all = Schemas.migrations + [expanding, contracting]

    /// A database of this program's schema with so many facts.
    static func makeDatabase() throws -> TestDatabase {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute(
            """
            INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload)
            SELECT i % 256, 'demo', 1, i::text, gen_random_uuid(), 1, 1, i, 'x' FROM generate_series(1, $1::int) i
            """, [.int4(Int32(rows))])
        return database
    }

    /// What is between two versions in a database; nothing ever is.
    static func faults(in database: TestDatabase) throws -> [String] {
        try database.texts(
            """
            WITH has AS (
                SELECT (SELECT max(version) FROM entitled.schema_version) AS version,
                    (SELECT count(*) FROM pg_attribute WHERE attname = 'counted' AND NOT attisdropped
                        AND attrelid = 'entitled.fact'::regclass) AS fact,
                    (SELECT count(*) FROM pg_attribute WHERE attname = 'counted' AND NOT attisdropped
                        AND attrelid = 'entitled.customer'::regclass) AS customer,
                    (SELECT count(*) FROM entitled.migration_step WHERE version > $1::int) AS steps
            )
            SELECT has::text FROM has WHERE (version, fact, customer, steps) NOT IN (
                ($1::int, 0, 0, 0), ($1 + 1, 1, 1, 2), ($1 + 2, 1, 0, 2))
            """, [.int4(Int32(SchemaVersion.current))])
    }
}
