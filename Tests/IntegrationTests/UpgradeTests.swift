import Base
import Customers
import Database
import HTTP
import Postgres
import Schemas
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// A database of the version before there was a REST API, filled by the store and by operators.
@Suite struct UpgradeTests {
    private static let version = 12

    private static let tables = """
        SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p')
            AND NOT c.relispartition AND c.relname <> 'schema_version' ORDER BY 1
        """

    /// The rows of a database in another one with an older schema, as far as that has columns for them.
    private func copy(_ source: TestDatabase, to target: PostgresConnection) throws {
        for table in try target.query(Self.tables).map({ try $0.text(0) }) {
            let rows = try source.texts("SELECT coalesce(json_agg(t), '[]')::text FROM entitled.\(table) t")
            try target.query("DELETE FROM entitled.\(table)")
            try target.query(
                """
                INSERT INTO entitled.\(table) OVERRIDING SYSTEM VALUE
                SELECT * FROM json_populate_recordset(NULL::entitled.\(table), $1::text::json)
                """, [.text(rows.first)])
        }
        try target.query(
            "SELECT setval(pg_get_serial_sequence('entitled.action', 'seq'), (SELECT max(seq) FROM entitled.action))")
    }

    @Test func `a filled database of the version before the api is upgraded and goes on`() throws {
        let former = try Installation()
        let now = SystemClock().now()
        var notifications: [StoreNotification] = []
        for number in UInt64(0)..<3 {
            notifications += Scenario.year.notifications(app: Installation.app, seed: 88, number: number, until: now)
        }
        let first = try RunningWorker(former)
        // In their order: of what was signed again the older schema has only what was applied first.
        for notification in notifications { #expect(try former.post(notification).status == 200) }
        try former.untilApplied(Int64(Set(notifications.map(\.uuid)).count))
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(259_200)))
        let operating = try former.database.connect(role: "entitled_worker")
        let owners = try former.database.texts("SELECT DISTINCT owner FROM entitled.purchase ORDER BY 1")
        try #require(owners.count == 3)
        _ = try actions.alias(owners[0], "user-1", on: operating)
        _ = try actions.transfer(from: owners[1], to: "user-2", on: operating)
        first.stop()

        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        #expect(try Migrator.migrate(on: connection, upTo: Self.version) == .migrated(Array(1...Self.version)))
        try copy(former.database, to: connection)
        #expect(
            try Migrator.migrate(on: connection)
                == .migrated(Array(Self.version + 1...SchemaVersion.current)))
        let installation = try Installation(database: database)
        try installation.expectNoDifferences()
        let records = """
            SELECT (to_jsonb(p) - '{version, updated_ms, wake_ms, claims, account, told_owner}'::text[])::text
            FROM entitled.purchase p ORDER BY 1
            """
        #expect(try database.texts(records) == former.database.texts(records))
        for id in ["user-1", "user-2", owners[2]] {
            let (now, before) = (try installation.document(of: id, now: now), try former.document(of: id, now: now))
            #expect(now == before)
        }

        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        // What the rules would say otherwise changes nothing, and is known.
        let told = try database.count("SELECT count(*) FROM entitled.event")
        try eventually("every record has its claims") {
            try database.count("SELECT count(*) FROM entitled.purchase WHERE claims IS NULL") == 0
        }
        #expect(try database.texts(records) == former.database.texts(records))
        #expect(try database.count("SELECT count(*) FROM entitled.event") == told)
        try installation.expectNoDifferences()
        let bench = try PostingFixture(installation)
        var life = SubscriberLife(app: Installation.app, seed: 89, withToken: false)
        let answer = bench.post(try PostingFixture.jws(life.start(at: now - StoreProduct.day)), by: "user-1")
        #expect(answer.status == 200)
        #expect(answer.json.subscriber?["original_app_user_id"] == .string(owners[0]))
        let api = try database.connect(role: "entitled_api")
        #expect(try actions.grant("pro", to: "user-2", .lasting(.weekly), on: api).isNew)
        #expect(try !actions.identify("$RCAnonymousID:0123456789abcdef0123456789abcdef", as: "user-2", on: api))
        _ = try actions.delete(owners[2], on: api)
        try installation.expectNoDifferences()
    }
}
