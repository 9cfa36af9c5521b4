import Base
import Daemon
import Postgres
import Schemas
import TestSupport
import Testing

/// One Postgres in use, moved onto a cluster. Serialised: the roles belong to all databases of a server.
@Suite(.serialized, .enabled(if: TestShardedCluster.isAvailable, "\(TestShardedCluster.absence)"))
struct DistributionMoveTests {
    /// A database of the schema with rows in tables of each kind: with partitions and without, with identities, keys of others,
    /// triggers. The cluster's servers know of it, and all tables are where they were.
    private func makeDatabase() throws -> TestDatabase {
        let database = try TestShardedCluster.shared.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection)
        try connection.execute(
            script: """
                SELECT entitled.make_day('notification', current_date), entitled.make_day('attempt', current_date);
                CREATE TEMP TABLE n AS SELECT i, (i * 37 % 256)::int2 AS lane, 'p' || i AS purchase,
                    entitled.day_start('notification', current_date - i % 2) + i AS seq FROM generate_series(1, 600) i;
                INSERT INTO entitled.jws_header (id, header)
                SELECT '00000000-0000-4000-8000-000000000001', 'header';
                INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
                SELECT gen_random_uuid(), 'demo', 0, lane, seq FROM n;
                INSERT INTO entitled.notification (lane, seq, app, environment, uuid, type, original_transaction_id, received_ms,
                    source, header, payload, signature)
                SELECT lane, seq, 'demo', 0, i, 'TEST', purchase, 1, 0, '00000000-0000-4000-8000-000000000001', 'p', 's' FROM n;
                INSERT INTO entitled.pending (lane, seq) SELECT lane, seq FROM n WHERE i < 50;
                INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload)
                SELECT lane, 'demo', 0, purchase, gen_random_uuid(), 1, i, seq, 'p' FROM n;
                INSERT INTO entitled.purchase_identifier (lane, app, environment, original_transaction_id, identifier)
                SELECT lane, 'demo', 0, purchase, purchase FROM n;
                INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, account, product_id,
                    will_renew, version, updated_ms)
                SELECT lane, 'demo', 0, purchase, 'o' || i / 2, i / 2, 'pro', true, 1, 1 FROM n;
                INSERT INTO entitled.event (lane, id, type, app, environment, original_transaction_id, created_ms, body)
                SELECT lane, gen_random_uuid(), 'RENEWAL', 'demo', 0, purchase, i, 'b' FROM n;
                INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms)
                SELECT lane, gen_random_uuid(), 'e', id, type, 1, 0, created_ms FROM entitled.event;
                INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, outcome)
                SELECT lane, id, 1, entitled.day_start('attempt', current_date) + created_ms, 1, 'delivered'
                FROM entitled.delivery;
                INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) SELECT purchase, 1 FROM n;
                INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) SELECT purchase, purchase, 1 FROM n;
                INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text) SELECT purchase, 'a', 1, 't' FROM n;
                ANALYZE;
                """)
        try TestShardedCluster.shared.join(database)
        return database
    }

    private static let filled = [
        "app_user_id", "attempt", "customer", "customer_note", "delivery", "event", "fact", "jws_header", "lane",
        "notification", "notification_key", "pending", "purchase", "purchase_identifier",
    ]

    /// What the coordinator notes of these purchases: two of them have each owner and account, in two lanes.
    private static let expectedNotes = ["600 301", "600 301"]

    private func notes(_ database: TestDatabase) throws -> [String] {
        try database.texts(
            "SELECT count(*) || ' ' || count(DISTINCT owner) FROM entitled.owner_lane"
                + " UNION ALL SELECT count(*) || ' ' || count(DISTINCT account) FROM entitled.account_lane")
    }

    private func oldestProgram(_ database: TestDatabase) throws -> Int {
        Int(
            try database.count(
                "SELECT oldest_program::int8 FROM entitled.schema_version ORDER BY version DESC LIMIT 1"))
    }

    @Test func `a cluster of before notes where its purchases lie, and ends the sessions of its processes`() throws {
        let database = try makeDatabase()
        _ = try Distribution.distribute(over: 4, on: database.connect())
        let expected = try notes(database)
        // As a version left it that had neither table.
        let connection = try database.connect()
        for name in ["owner_lane", "account_lane"] {
            try connection.query("SELECT undistribute_table('entitled.\(name)')")
            try connection.query("DELETE FROM entitled.\(name)")
        }
        try connection.query("UPDATE entitled.schema_version SET oldest_program = 26 WHERE version >= 48")
        #expect(throws: DatabaseRole.Rejection.misplaced) {
            try DatabaseRole.worker.check(database.connect(role: "entitled_worker"))
        }
        let old = try database.connect(role: "entitled_worker")
        let other = try PostgresConnection(PostgresTarget(url: database.url))
        #expect(try Distribution.distribute(over: nil, on: other) == .placed(2, shards: 4))
        #expect(try notes(database) == expected)
        #expect(try oldestProgram(database) == SchemaVersion.oldestOnCluster)
        #expect(throws: PostgresError.self) { try old.query("SELECT 1") }
        try DatabaseRole.worker.check(database.connect(role: "entitled_worker"))
        // A program of before finds itself too old.
        let found = try #require(try SchemaVersion.find(on: database.connect()))
        #expect(SchemaVersion.fit(found, current: 47) == .tooNew)
    }

    /// The rows of each table, in a number.
    private func rows(_ database: TestDatabase) throws -> [String: String] {
        let connection = try database.connect()
        return Dictionary(
            uniqueKeysWithValues: try Self.filled.map { name in
                let sql = """
                    SELECT count(*) || ' ' || coalesce(sum(hashtext(t::text)::int8), 0) AS rows FROM (
                        SELECT * FROM entitled.\(name) OFFSET 0) t
                    """
                return (name, try connection.query(sql).one().text("rows"))
            })
    }

    private func state(_ database: TestDatabase) throws -> ClusterState {
        try #require(try ClusterState.read(on: database.connect()))
    }

    @Test func `every row is where it belongs, and what follows works as before`() throws {
        let database = try makeDatabase()
        let before = try rows(database)
        #expect(try state(database).unfinished?.contains("migrate --shards N") == true)
        var events: [Distribution.Event] = []
        let connection = try database.connect()
        let outcome = try Distribution.distribute(over: 4, on: connection) { events.append($0) }
        guard case .placed(let count, shards: 4) = outcome else { throw TestFailure("\(outcome)") }
        #expect(count == TablePlacement.tables.values.filter { $0 != .separate }.count)
        let copied = events.compactMap { if case .copied(let name, _, _, _) = $0 { name } else { nil } }
        #expect(Set(copied).isSuperset(of: ["notification", "fact", "attempt", "jws_header"]))
        #expect(try rows(database) == before)
        let found = try state(database)
        #expect(found.shards == 4 && found.misplaced.isEmpty && found.copies.isEmpty && found.unfinished == nil)
        #expect(
            try database.count(
                "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'entitled.fact'::regclass AND tgname LIKE 'facts%'")
                == 0)
        // Where purchases lie is noted with the move, and programs that do not note it are kept away.
        #expect(try notes(database) == Self.expectedNotes)
        #expect(try oldestProgram(database) == SchemaVersion.oldestOnCluster)
        // An identity goes on where it was.
        let note =
            "INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text) VALUES ('p1', 'a', 1, 't') RETURNING id"
        #expect(try database.count(note) == 601)
        #expect(try Distribution.distribute(over: nil, on: connection) == .nothingToDo(shards: 4))
    }

    @Test func `readers pass while rows are copied, and writers of other tables do`() throws {
        let database = try makeDatabase()
        let other = try database.connect()
        try other.query(
            "SELECT set_config('statement_timeout', '5s', false), set_config('lock_timeout', '200ms', false)")
        var reads = 0
        _ = try Distribution.distribute(over: 4, on: database.connect()) { event in
            guard case .copied = event else { return }
            do {
                for name in TablePlacement.tables.keys { try other.query("SELECT 1 FROM entitled.\(name) LIMIT 1") }
                try other.query("UPDATE entitled.customer SET first_seen_ms = 2 WHERE original_app_user_id = 'p1'")
                let locked = #expect(throws: PostgresError.self) {
                    try other.query("DELETE FROM entitled.fact WHERE lane = 1")
                }
                #expect(locked?.isContention == true)
                reads += 1
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(reads >= Self.filled.count - 4)
        // It was ended, so that it learns what the database is now.
        #expect(throws: PostgresError.self) { try other.query("SELECT 1") }
        #expect(
            try database.count("SELECT first_seen_ms FROM entitled.customer WHERE original_app_user_id = 'p1'") == 2)
    }

    private func end(_ name: String, of database: TestDatabase) {
        _ = try? database.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1", [.text(name)])
    }

    @Test func `a move that is killed leaves one Postgres, and the next one does it all`() throws {
        let database = try makeDatabase()
        let before = try rows(database)
        let doomed = try PostgresConnection(PostgresTarget(url: database.url, applicationName: "doomed"))
        #expect(throws: PostgresError.self) {
            try Distribution.distribute(over: 4, on: doomed) { event in
                if case .copied("fact", _, _, _) = event { end("doomed", of: database) }
            }
        }
        #expect(try state(database).shards == nil)
        #expect(try state(database).tables.allSatisfy { $0.placement == TablePlacement.separate.rawValue })
        #expect(try rows(database) == before)
        try database.execute("INSERT INTO entitled.pending (lane, seq) VALUES (1, 1)")
        try database.execute("DELETE FROM entitled.pending WHERE seq = 1")
        _ = try Distribution.distribute(over: 8, on: database.connect())
        #expect(try rows(database) == before)
        #expect(try state(database).shards == 8)
    }

    @Test func `hidden copies that an interrupted run left are found and removed`() throws {
        let database = try makeDatabase()
        let before = try rows(database)
        let doomed = try PostgresConnection(PostgresTarget(url: database.url, applicationName: "doomed"))
        #expect(throws: PostgresError.self) {
            try Distribution.distribute(over: 4, on: doomed) { event in
                if case .committed = event { end("doomed", of: database) }
            }
        }
        #expect(try state(database).unfinished?.contains("hidden copies") == true)
        #expect(try rows(database) == before)
        #expect(try Distribution.distribute(over: nil, on: database.connect()) == .nothingToDo(shards: 4))
        #expect(try state(database).unfinished == nil)
        #expect(try rows(database) == before)
    }

    @Test func `a reader that stays keeps the last moment waiting, and nothing is lost by it`() throws {
        let database = try makeDatabase()
        let before = try rows(database)
        let reader = try database.connect()
        var waits = 0
        _ = try Distribution.distribute(over: 4, wait: .seconds(30), on: database.connect()) { event in
            do {
                switch event {
                case .copied("fact", _, _, _):
                    try reader.query("BEGIN")
                    try reader.query("SELECT count(*) FROM entitled_reports.customers")
                    try reader.query("SELECT count(*) FROM entitled.fact")
                case .waiting:
                    waits += 1
                    if waits == 2 { try reader.query("COMMIT") }
                default: break
                }
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(waits >= 2)
        #expect(try rows(database) == before)
    }

    @Test func `a writer that waits for the move gives way at its end`() throws {
        let database = try makeDatabase()
        let writer = Monitor<TestThread<String?>?>(nil)
        _ = try Distribution.distribute(over: 4, on: database.connect()) { event in
            guard case .copied("fact", _, _, _) = event else { return }
            let thread = TestThread<String?> {
                do {
                    let connection = try database.connect(role: "entitled_worker")
                    try connection.transaction {
                        try connection.query("UPDATE entitled.customer SET first_seen_ms = 3")
                        try connection.query("DELETE FROM entitled.fact WHERE lane = 1")
                    }
                    return nil
                } catch { return (error as? PostgresError)?.sqlstate }
            }
            writer.change { $0 = thread }
            try? database.untilBlocked()
        }
        #expect(try writer.read { $0 }?.value() == "57014")
        #expect(try database.count("SELECT count(*) FROM entitled.customer WHERE first_seen_ms = 3") == 0)
    }
}
