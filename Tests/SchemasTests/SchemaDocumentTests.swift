import Base
import FoundationEssentials
import Postgres
import Schemas
import TestSupport
import Testing

struct SchemaDocumentTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "schemas/schema.sql")

    /// The file is written from the database when `UPDATE_GENERATED` is set.
    @Test func `schema.sql is what the migrations make`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let wanted = try SchemaDocument(try database.connect()).text(version: SchemaVersion.current)
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            try Data(wanted.utf8).write(to: Self.file)
        }
        #expect(try String(contentsOf: Self.file, encoding: .utf8) == wanted)
    }

    @Test func `schema.sql says everything: a database made by it has the same schema`() throws {
        let migrated = try TestCluster.shared.makeMigratedDatabase()
        let made = try TestCluster.shared.makeDatabase()
        let connection = try made.connect()
        try connection.execute(script: SchemaDocument(try migrated.connect()).text(version: SchemaVersion.current))
        let text = try SchemaDocument(connection, hasComments: false).text(version: SchemaVersion.current)
        #expect(
            try text
                == SchemaDocument(try migrated.connect(), hasComments: false).text(version: SchemaVersion.current))
        #expect(try PrivilegeGranting.differences(on: connection) == [])
    }

    private static let relations = """
        SELECT relname::text FROM pg_class WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p')
            AND NOT relispartition ORDER BY 1
        """

    @Test func `every table has one topic, and privileges`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let names = try database.texts(Self.relations)
        #expect(SchemaDocument.topics.flatMap(\.tables).sorted() == names)
        let stated = Privileges.tables.map(\.name).filter { !$0.hasSuffix("_default") }
        #expect(stated.sorted() == names)
        let others =
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('v', 'm', 'f')"
        #expect(try database.count(others) == 0)
    }

    /// Those that stay undescribed are constraints' indexes, and columns whose name says everything.
    @Test func `every table, function and trigger has a comment, and every code and sealed value`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let without = """
            SELECT 'table ' || relname FROM pg_class WHERE relnamespace = 'entitled'::regnamespace
                AND relkind IN ('r', 'p') AND (NOT relispartition OR relname LIKE '%default')
                AND obj_description(oid, 'pg_class') IS NULL
            UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'entitled'::regnamespace
                AND obj_description(oid, 'pg_proc') IS NULL
            UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
                WHERE relnamespace = 'entitled'::regnamespace AND NOT tgisinternal
                AND obj_description(pg_trigger.oid, 'pg_trigger') IS NULL
            UNION ALL SELECT 'column ' || relname || '.' || attname FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
                WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
                AND (attname IN ('state', 'format', 'codec', 'source') OR attname LIKE '%sealed')
                AND col_description(attrelid, attnum) IS NULL
            ORDER BY 1
            """
        #expect(try database.texts(without) == [])
    }
}
