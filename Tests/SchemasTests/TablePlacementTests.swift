import Base
import Postgres
import Schemas
import TestSupport
import Testing

/// Where the tables of a migrated database lie on a cluster, and what the cluster would refuse of them.
@Suite struct TablePlacementTests {
    private static let distributed = TablePlacement.tables.filter { $0.value == .distributed }.keys.sorted()

    private func texts(_ sql: String) throws -> [String] {
        try TestCluster.shared.makeMigratedDatabase().connect().query(sql, [.texts(Self.distributed)]).map {
            try $0.text(0)
        }
    }

    @Test func `every table has a place, and there is no place for others`() throws {
        let tables = try TestCluster.shared.makeMigratedDatabase().texts(
            """
            SELECT relname::text FROM pg_class
            WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1
            """)
        #expect(tables == TablePlacement.tables.keys.sorted())
    }

    @Test func `distributed tables have a lane in every row`() throws {
        let tables = try texts(
            """
            SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = ANY($1) AND a.attname = 'lane'
                AND a.attnotnull AND a.atttypid = 'int2'::regtype ORDER BY 1
            """)
        #expect(tables == Self.distributed)
    }

    /// Left to be done: a notification's key and an identifier are unique in their lanes, which follow from what Apple signed.
    @Test func `what is unique in a distributed table is so within its lane`() throws {
        let indexes = try texts(
            """
            SELECT x.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
            JOIN pg_class x ON x.oid = i.indexrelid
            WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = ANY($1) AND i.indisunique
                AND NOT EXISTS (
                    SELECT 1 FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = 'lane' AND a.attnum = ANY(i.indkey::int2[])
                ) ORDER BY 1
            """)
        #expect(indexes == ["notification_key_pkey", "purchase_identifier_pkey"])
    }

    /// Left to be done: what the triggers of `fact` do for programs of before.
    @Test func `distributed tables have no triggers and no foreign keys`() throws {
        let found = try texts(
            """
            SELECT c.relname || ' ' || t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
            WHERE c.relnamespace = 'entitled'::regnamespace AND c.relname = ANY($1) AND NOT t.tgisinternal
            UNION ALL
            SELECT c.relname || ' ' || k.conname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
            WHERE k.contype = 'f' AND c.relnamespace = 'entitled'::regnamespace AND c.relname = ANY($1) ORDER BY 1
            """)
        #expect(found == ["fact facts_added", "fact facts_allowed", "fact facts_removed"])
    }

    /// Left to be done: a cluster does not plan statements with parameters in functions of this language.
    @Test func `functions in SQL read no distributed table`() throws {
        let names = try texts(
            """
            SELECT DISTINCT p.proname::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
            JOIN unnest($1::text[]) AS t(name)
                ON pg_get_functiondef(p.oid) ~ ('entitled\\.' || t.name || '\\M')
            WHERE p.pronamespace = 'entitled'::regnamespace AND l.lanname = 'sql' ORDER BY 1
            """)
        #expect(names == ["day_need"])
    }
}
