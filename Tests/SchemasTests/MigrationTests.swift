import Base
import Database
import Postgres
import Schemas
import TestSupport
import Testing

@Suite struct MigrationTests {
    @Test func `a filled database of the second version keeps every row, each in its day`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        #expect(try Migrator.migrate(on: connection, upTo: 2) == .migrated([1, 2]))
        let now = SystemClock().now()
        let day: Int64 = 86_400_000
        try connection.query(
            """
            INSERT INTO entitled.notification SELECT i % 256, $1 - (i % 30) * ($2::int8 << 22) - i, 'demo', 0, 'u' || i, 'TEST',
                NULL, NULL, 1, 1, 0, gen_random_uuid(), decode(md5(i::text), 'hex'), '' FROM generate_series(1, 3000) i
            """, [.int8(SequenceGenerator.least(at: now)), .int8(day)])
        try connection.query(
            """
            INSERT INTO entitled.notification SELECT 1, 5, 'demo', 0, 'odd', 'TEST', NULL, NULL, 1, 1, 0,
                gen_random_uuid(), '', ''
            """)
        try connection.query(
            """
            INSERT INTO entitled.attempt SELECT i % 256, gen_random_uuid(), 1, $1 - (i % 10) * $2::int8 - i, 5, 200, 'status',
                NULL, NULL FROM generate_series(1, 2000) i
            """, [.int8(now), .int8(day)])
        func sums() throws -> [String] {
            try ["notification", "attempt"].flatMap { table in
                try database.texts(
                    "SELECT count(*) || ' ' || sum(hashtextextended(jsonb_strip_nulls(to_jsonb(t))::text, 0)) FROM entitled.\(table) t"
                )
            }
        }
        let before = try sums()
        #expect(try Migrator.migrate(on: connection) == .migrated(Array(3...SchemaVersion.current)))
        #expect(try sums() == before)
        #expect(try database.count("SELECT count(*) FROM entitled.notification_default") == 0)
        #expect(try database.count("SELECT count(*) FROM entitled.attempt_default") == 0)
        #expect(try database.count("SELECT count(*) FROM pg_class WHERE relname LIKE '%undivided%'") == 0)
        // One by its day: the first of 2024 is the day of the odd one.
        #expect(try database.texts("SELECT uuid FROM entitled.notification_20240101") == ["odd"])
        try DatabaseRole.ingest.check(try database.connect(role: "entitled_ingest"))
    }

    @Test func `payloads stay outside of compression in every day`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let kinds = try database.texts(
            """
            SELECT DISTINCT attstorage::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
            WHERE attname = 'payload' AND relname LIKE 'notification%'
            """)
        #expect(kinds == ["e"])
    }
}
