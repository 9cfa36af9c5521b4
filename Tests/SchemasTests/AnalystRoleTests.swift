import Base
import Postgres
import Schemas
import TestSupport
import Testing

/// What analysts may do: read the views, and nothing else.
struct AnalystRoleTests {
    /// Names, types and order of the columns: what others build on them stays right. Columns may be added at the end of a
    /// view; none may be renamed, retyped, moved or taken away. This list is no generated file.
    private static let columns = """
        customers.customer_id text
        customers.first_seen_at timestamp with time zone
        customers.last_seen_at timestamp with time zone
        customers.app_user_ids text[]
        customers.original_app_version text
        customers.app_purchased_at timestamp with time zone
        entitlements_now.customer_id text
        entitlements_now.entitlement text
        entitlements_now.is_sandbox boolean
        entitlements_now.app text
        entitlements_now.store text
        entitlements_now.product_id text
        entitlements_now.original_transaction_id text
        entitlements_now.purchased_at timestamp with time zone
        entitlements_now.expires_at timestamp with time zone
        entitlements_now.grace_ends_at timestamp with time zone
        events.event_id uuid
        events.type text
        events.app text
        events.is_sandbox boolean
        events.original_transaction_id text
        events.customer_id text
        events.purchase_sequence integer
        events.created_at timestamp with time zone
        events.created_ms bigint
        freshness.refreshed_at timestamp with time zone
        freshness.failed_purchases bigint
        subscriptions.original_transaction_id text
        subscriptions.customer_id text
        subscriptions.app text
        subscriptions.is_sandbox boolean
        subscriptions.product_id text
        subscriptions.subscription_group text
        subscriptions.access_ends_at timestamp with time zone
        subscriptions.grace_ends_at timestamp with time zone
        subscriptions.revoked_at timestamp with time zone
        subscriptions.will_renew boolean
        subscriptions.has_access boolean
        subscriptions.updated_at timestamp with time zone
        transactions.transaction_id text
        transactions.original_transaction_id text
        transactions.customer_id text
        transactions.app text
        transactions.is_sandbox boolean
        transactions.store text
        transactions.product_id text
        transactions.product_type text
        transactions.period_type text
        transactions.renewal_number integer
        transactions.purchased_at timestamp with time zone
        transactions.expires_at timestamp with time zone
        transactions.access_ends_at timestamp with time zone
        transactions.refunded_at timestamp with time zone
        transactions.is_trial_conversion boolean
        transactions.is_family_share boolean
        transactions.is_upgraded boolean
        transactions.offer_type text
        transactions.offer_id text
        transactions.country text
        transactions.currency text
        transactions.price_milliunits bigint
        transactions.refunded_milliunits bigint
        transactions.price numeric
        transactions.refunded numeric
        transactions.net numeric
        transactions.commission_share numeric
        transactions.tax_share numeric
        transactions.commission numeric
        transactions.tax numeric
        transactions.proceeds numeric
        transactions.price_usd numeric
        transactions.net_usd numeric
        """

    private static let selectColumns = """
        SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'entitled_reports'::regnamespace AND a.attnum > 0 ORDER BY c.relname, a.attnum
        """

    @Test func `views have the columns that were promised, in their order`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let found = try database.texts(Self.selectColumns)
        #expect(found == Self.columns.split(separator: "\n").map(String.init))
        let kinds =
            "SELECT relname || ' ' || relkind::text FROM pg_class WHERE relnamespace = 'entitled_reports'::regnamespace ORDER BY 1"
        #expect(try database.texts(kinds) == AnalystRole.views.map { "\($0) v" })
        #expect(
            try database.count("SELECT count(*) FROM pg_proc WHERE pronamespace = 'entitled_reports'::regnamespace")
                == 0)
    }

    private static let undescribed = """
        SELECT c.relname || '.' || coalesce(a.attname, '') FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = 'entitled_reports'::regnamespace AND (
            obj_description(c.oid, 'pg_class') IS NULL
            OR coalesce(col_description(c.oid, a.attnum), '') NOT LIKE '%.')
        """

    @Test func `every view and column has a comment`() throws {
        #expect(try TestCluster.shared.makeMigratedDatabase().texts(Self.undescribed) == [])
    }

    private func state(_ sql: String, on connection: PostgresConnection) -> String? {
        do {
            _ = try connection.query(sql)
            return nil
        } catch {
            return error.sqlstate ?? "no state"
        }
    }

    private static let selectTables = """
        SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p')
        """
    private static let selectTableColumns = """
        SELECT format('SELECT %I FROM entitled.%I LIMIT 1', attname, relname)
        FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
        WHERE relnamespace = 'entitled'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
        """
    private static let selectWritable = """
        SELECT relname || ' ' || v FROM pg_class, unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS v
        WHERE relnamespace = 'entitled_reports'::regnamespace AND has_table_privilege(oid, v)
        """
    private static let others = [
        "CREATE TABLE entitled_reports.mine (x int)", "CREATE VIEW entitled_reports.mine AS SELECT 1",
        "CREATE TEMPORARY TABLE mine (x int)", "CREATE SCHEMA mine", "CREATE ROLE mine", "SELECT lo_create(0)",
        "SELECT pg_advisory_lock(1)", "SET ROLE entitled_worker", "SET ROLE entitled_api", "SET ROLE entitled",
        "COPY entitled_reports.customers TO PROGRAM 'cat'", "GRANT SELECT ON entitled.fact TO PUBLIC",
        "SELECT entitled.make_day('attempt', current_date)", "SELECT entitled.advance_actions(1)",
        "DROP VIEW entitled_reports.customers", "DO $$ BEGIN LOCK TABLE entitled.lane; END $$",
    ]

    /// As a login has it, which did not come from the owner.
    private func login(_ database: TestDatabase) throws -> PostgresConnection {
        let connection = try database.connect()
        _ = try connection.query("SET SESSION AUTHORIZATION entitled_analyst")
        return connection
    }

    @Test func `analysts read the views, and no table or column of the schema`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let tables = try database.texts(Self.selectTables)
        #expect(tables.count > 50)
        let connection = try login(database)
        for view in AnalystRole.views {
            #expect(state("SELECT * FROM entitled_reports.\(view)", on: connection) == nil, "\(view)")
        }
        #expect(try connection.query(Self.selectWritable).map { try $0.text(0) } == [])
        let forbidden = tables.flatMap { table in
            [
                "SELECT count(*) FROM entitled.\(table)", "INSERT INTO entitled.\(table) DEFAULT VALUES",
                "DELETE FROM entitled.\(table)", "TRUNCATE entitled.\(table)",
            ]
        }
        // They may change this setting of their own, and gain nothing by it.
        _ = try connection.query("SET default_transaction_read_only = off")
        for sql in forbidden + (try database.texts(Self.selectTableColumns)) + Self.others {
            #expect(state(sql, on: connection) == "42501", "\(sql)")
        }
    }

    @Test func `a process's role reads no view`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        for role in DatabaseRole.allCases {
            let connection = try database.connect(role: role.rawValue)
            #expect(state("SELECT * FROM entitled_reports.customers", on: connection) == "42501", "\(role.rawValue)")
        }
    }

    @Test func `a role that a superuser made with settings of its own is left as it is`() throws {
        let cluster = try TestCluster()
        let connection = try cluster.makeMigratedDatabase().connect()
        _ = try connection.query("ALTER ROLE entitled_analyst RESET ALL")
        #expect(try RoleMaking.isDone(for: nil, on: connection))
        _ = try connection.query("ALTER ROLE entitled_api RESET ALL")
        #expect(try !RoleMaking.isDone(for: nil, on: connection))
    }

    @Test func `the role has no login, and settings that keep it from disturbing`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let row = try database.connect().query(
            "SELECT rolcanlogin, rolsuper, rolconfig::text FROM pg_roles WHERE rolname = 'entitled_analyst'"
        ).one()
        #expect(try !row.bool(0) && !row.bool(1))
        let settings = try row.text(2)
        for setting in ["statement_timeout=15min", "default_transaction_read_only=on"] {
            #expect(settings.contains(setting))
        }
    }

    @Test func `an installation of the version before gets views and role by migrate, and keeps its rows`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, upTo: 34)
        try database.execute("INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ('ada', 1000)")
        #expect(try Migrator.migrate(on: connection) == .migrated(Array(35...SchemaVersion.current)))
        let analyst = try login(database)
        let row = try analyst.query(
            "SELECT customer_id, extract(epoch FROM first_seen_at)::int8, last_seen_at IS NULL FROM entitled_reports.customers"
        ).one()
        #expect(try row.text(0) == "ada" && row.int(1) == 1 && row.bool(2))
        #expect(try analyst.query("SELECT refreshed_at IS NULL FROM entitled_reports.freshness").one().bool(0))
    }

    @Test(arguments: [
        "GRANT SELECT ON entitled.fact TO entitled_analyst", "GRANT USAGE ON SCHEMA entitled TO entitled_analyst",
        "GRANT SELECT ON entitled_reports.customers TO PUBLIC",
        "GRANT DELETE ON entitled_reports.events TO entitled_api",
        "GRANT CREATE ON SCHEMA entitled_reports TO entitled_analyst",
        "GRANT SELECT (url) ON entitled.endpoint TO entitled_analyst",
        "REVOKE SELECT ON entitled_reports.transactions FROM entitled_analyst",
        "REVOKE USAGE ON SCHEMA entitled_reports FROM entitled_analyst",
    ])
    func `migrate takes back what analysts have beyond the views, and gives what they lack`(sql: String) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect()
        #expect(try PrivilegeGranting.differences(on: connection) == [])
        try connection.query(sql)
        #expect(try PrivilegeGranting.differences(on: connection).count == 1)
        _ = try Migrator.migrate(on: connection)
        #expect(try PrivilegeGranting.differences(on: connection) == [])
    }

    /// Times that no client could read, or that have no Postgres time at all.
    @Test func `times beyond the calendar are NULL, and break no view`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        for (place, time) in [Int64.min, -62_135_596_800_001, 253_402_300_800_000, .max].enumerated() {
            try database.execute(
                "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, $2)",
                [.text("\(place)"), .int8(time)])
            try database.execute(
                """
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                    access_ends_ms, will_renew, version, updated_ms)
                VALUES (1, 'demo', 0, $1, $1, 'p', $2, false, 1, $2)
                """, [.text("\(place)"), .int8(time)])
        }
        let connection = try login(database)
        #expect(
            try connection.query("SELECT count(*) FROM entitled_reports.customers WHERE first_seen_at IS NULL").one()
                .int(0) == 4)
        let ends = try connection.query(
            "SELECT has_access FROM entitled_reports.subscriptions ORDER BY original_transaction_id")
        #expect(try ends.map { try $0.bool(0) } == [false, false, true, true])
    }
}
