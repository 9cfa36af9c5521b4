import Base
import Database
import Postgres
import Schemas
import TestSupport
import Testing

/// Serialised: the role belongs to the whole cluster.
@Suite(.serialized) struct IngestRoleTests {
    /// The public process' role, logged in as itself.
    private func login(_ database: TestDatabase) throws -> PostgresConnection {
        try database.execute("ALTER ROLE entitled_ingest LOGIN")
        let url = database.url.replacing("//entitled@", with: "//entitled_ingest@")
        let connection = try PostgresConnection(PostgresTarget(url: url))
        #expect(try connection.query("SELECT session_user::text").one().text(0) == "entitled_ingest")
        return connection
    }

    private func state(_ sql: String, on connection: PostgresConnection) -> String? {
        do {
            _ = try connection.query(sql)
            return nil
        } catch {
            return error.sqlstate ?? "no state"
        }
    }

    private static let insertable = [
        "database_sighting", "diverted_notification", "jws_header", "listening", "notification", "notification_key",
        "pending",
        "process",
    ]
    /// Which database it is, and nothing of what is in it.
    private static let readable = ["database_position"]

    @Test func `the public role adds notifications and learns which were there`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try login(database)
        try DatabaseRole.ingest.check(connection)
        var inserter = Sample.inserter()
        let notification = try Sample.notification(Sample.uuid(1))
        #expect(try inserter.insert([notification], on: connection) == [.accepted])
        #expect(try inserter.insert([notification], on: connection) == [.duplicate])
    }

    @Test func `the public role reads no row and changes nothing in any table`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let tables = try database.texts(
            "SELECT tablename::text FROM pg_tables WHERE schemaname = 'entitled' ORDER BY tablename")
        #expect(tables.count >= 18)
        let connection = try login(database)
        for table in tables {
            var forbidden = [
                "DELETE FROM entitled.\(table)", "TRUNCATE entitled.\(table)",
                "SELECT 1 FROM entitled.\(table) FOR UPDATE", "ALTER TABLE entitled.\(table) ADD x int",
                "DROP TABLE entitled.\(table)",
            ]
            if !IngestRoleTests.readable.contains(table) {
                forbidden += ["SELECT * FROM entitled.\(table)", "SELECT \(table) FROM entitled.\(table)"]
            }
            let columns = try database.texts(
                "SELECT column_name::text FROM information_schema.columns WHERE table_name = $1", [.text(table)])
            forbidden += columns.map { "UPDATE entitled.\(table) SET \($0) = \($0)" }
            if !IngestRoleTests.insertable.contains(table) {
                forbidden.append("INSERT INTO entitled.\(table) DEFAULT VALUES")
            }
            for sql in forbidden {
                #expect(state(sql, on: connection) == "42501", "\(sql)")
            }
        }
    }

    @Test func `the public role reads which database it is, five columns and no others`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let columns = try database.texts(
            """
            SELECT table_name || '.' || column_name FROM information_schema.columns
            WHERE table_schema = 'entitled' ORDER BY 1
            """)
        let connection = try login(database)
        let readable = columns.filter { name in
            let parts = name.split(separator: ".")
            guard !IngestRoleTests.readable.contains(String(parts[0])) else { return false }
            return state("SELECT \(parts[1]) FROM entitled.\(parts[0])", on: connection) == nil
        }
        #expect(
            readable == [
                "jws_header.id", "notification_key.lane", "notification_key.seq", "pending.seq",
                "schema_version.oldest_program",
                "schema_version.version",
            ])
    }

    @Test(arguments: [
        "SET ROLE entitled_worker", "SET ROLE entitled_api", "SET ROLE entitled", "SET SESSION AUTHORIZATION entitled",
        "CREATE TABLE entitled.mine (x int)", "CREATE SCHEMA mine", "CREATE ROLE mine",
        "COPY entitled.pending TO PROGRAM 'cat'", "CREATE FUNCTION entitled.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "GRANT SELECT ON entitled.event TO PUBLIC", "ALTER ROLE entitled_ingest SUPERUSER",
    ])
    func `the public role becomes nothing else`(sql: String) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        #expect(state(sql, on: try login(database)) == "42501")
    }

    /// What calls of apps and backends add to, what the process has seen of the database, and what it says of itself.
    private static let calls: Set = [
        "database_sighting",
        "account", "account_due", "account_join", "account_lane", "account_look", "action", "app_post", "app_user_id",
        "customer",
        "customer_attribute",
        "deletion", "deletion_id", "deletion_purchase", "delivery", "event", "fact", "jws_header", "notification",
        "notification_key", "owner_lane", "pending", "process", "purchase",
        "purchase_fold", "purchase_identifier", "purchase_snapshot",
    ]
    /// What they remove from: customers who are joined or deleted, what accounts joined, and what is folded anew.
    private static let removals: Set = [
        "account", "account_join", "app_user_id", "customer", "customer_attribute", "customer_note", "owner_lane",
        "purchase_fold",
    ]

    @Test func `the role of the api writes only what calls change, and reads no secret`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_api")
        let tables = try database.texts("SELECT tablename::text FROM pg_tables WHERE schemaname = 'entitled'")
        for table in tables {
            let mayDelete = state("DELETE FROM entitled.\(table)", on: connection) != "42501"
            let mayInsert = state("INSERT INTO entitled.\(table) DEFAULT VALUES", on: connection) != "42501"
            #expect(mayDelete == Self.removals.contains(table), "\(table)")
            #expect(mayInsert == Self.calls.contains(table), "\(table)")
        }
        for secret in [
            "SELECT * FROM entitled.endpoint", "SELECT authorization_sealed FROM entitled.endpoint",
            "SELECT sealed FROM entitled.endpoint_secret", "SELECT fingerprint FROM entitled.sealing_key",
        ] {
            #expect(state(secret, on: connection) == "42501", "\(secret)")
        }
        #expect(state("SELECT url FROM entitled.endpoint", on: connection) == nil)
    }
}
