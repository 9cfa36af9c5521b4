import Base
import Customers
import Daemon
import Database
import Duties
import Postgres
import Schemas
import Subscriptions
import TestSupport
import Testing

/// Who may write what of changes and of the audit.
@Suite struct ChangeRecordTests {
    private let bench: ChangeFixture

    init() throws {
        bench = try ChangeFixture()
    }

    @Test func `the console asks for changes of operators, and for no other job`() throws {
        let console = try bench.console()
        for kind in ChangeKind.allCases {
            try bench.ask(ChangeFixture.request(kind, "x", key: kind.rawValue))
        }
        func insert(_ columns: String, _ values: String) -> String {
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                idempotency_key, request_hash, credential, address\(columns))
            VALUES ('grant', 'r', '{}', 'operator', 1, 1, 'anna', 'why', 'new', sha256(''), 'session s', 'a'\(values))
            """
        }
        let refused = [
            insert("", "").replacing("'grant'", with: "'webhooks'"),
            insert("", "").replacing("'grant'", with: "'export'"),
            insert("", "").replacing("'{}'", with: "repeat(' ', 16385)"),
            insert("", "").replacing("'grant'", with: "'bulk_resend'").replacing("'{}'", with: "repeat(' ', 65537)"),
            insert("", "").replacing("'operator'", with: "'nobody'"),
            insert("", "").replacing("'why'", with: "''"), insert("", "").replacing("'why'", with: "NULL"),
            insert("", "").replacing("'new'", with: "NULL"), insert("", "").replacing("'anna'", with: "NULL"),
            insert("", "").replacing("sha256('')", with: "''"),
            insert(", state", ", 'done'"), insert(", outcome", ", '{}'"), insert(", error", ", 'x'"),
            insert(", attempts", ", 1"), insert(", driver", ", gen_random_uuid()"), insert(", matched", ", 1"),
            "UPDATE entitled.job SET state = 'done'", "UPDATE entitled.job SET made_by = 'support'",
            "DELETE FROM entitled.job", "TRUNCATE entitled.job",
        ]
        for sql in refused {
            let error = #expect(throws: PostgresError.self, "\(sql)") { try console.query(sql) }
            #expect(error?.sqlstate == "42501", "\(sql): \(error.debugDescription)")
        }
        // What it says about time and words is not taken over.
        _ = try console.query(insert("", ""))
        let written = try bench.database.texts(
            "SELECT request || ' ' || (created_ms > 1000)::text FROM entitled.job WHERE idempotency_key = 'new'")
        #expect(written == ["change operator new true"])
    }

    /// Kinds of which the schema has rows already.
    private static let later: Set<String> = []

    @Test func `the schema has a row for each kind that operators ask for, and for each look, and no other`() throws {
        let rows = try bench.database.texts(
            """
            SELECT concat_ws(' ', kind, is_change, names_customer, is_bulk, longest_parameters) FROM entitled.change_kind
            """)
        let changes = ChangeKind.allCases.map {
            "\($0.rawValue) t \($0.targetClass == .customer ? "t" : "f") \($0.isBulk ? "t" : "f") \($0.longestParameters)"
        }
        let looks = AuditTable.Look.allCases.map {
            "\($0.rawValue) f \(ChangeKind.namesOfCustomers.contains($0.rawValue) ? "t" : "f") f 0"
        }
        #expect(Self.later.isDisjoint(with: ChangeKind.allCases.map(\.rawValue)))
        let known = rows.filter { row in !Self.later.contains { row.hasPrefix($0 + " ") } }
        #expect(known.sorted() == (changes + looks).sorted())
        #expect(rows.count == known.count + Self.later.count)
    }

    @Test func `temporary tables do not deceive the guards`() throws {
        let database = bench.database
        try database.execute("GRANT TEMPORARY ON DATABASE \(database.name) TO PUBLIC")
        let console = try bench.console()
        _ = try console.query("CREATE TEMPORARY TABLE console_user (name text, ended_ms bigint)")
        _ = try console.query("INSERT INTO console_user VALUES ('eve', NULL)")
        _ = try console.query("CREATE TEMPORARY TABLE change_kind (LIKE entitled.change_kind)")
        _ = try console.query("INSERT INTO change_kind VALUES ('webhooks', true, false, false, 100)")
        _ = try console.query(
            "CREATE TEMPORARY TABLE pg_class AS SELECT oid, 'entitled_console'::regrole AS relowner FROM pg_catalog.pg_class"
        )
        let inserts = [
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                idempotency_key, request_hash, credential, address)
            VALUES ('grant', 'r', '{}', 'eve', 1, 1, 'anna', 'why', 'new', sha256(''), 'session s', 'a')
            """,
            "INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'eve', 'grant', 'x', 'done')",
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                idempotency_key, request_hash, credential, address)
            VALUES ('webhooks', 'r', '{}', 'operator', 1, 1, 'anna', 'why', 'new', sha256(''), 'session s', 'a')
            """,
            "INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'operator', 'webhooks', 'x', 'refused')",
        ]
        for sql in inserts {
            let error = #expect(throws: PostgresError.self, "\(sql)") { try console.query(sql) }
            #expect(error?.sqlstate == "42501", "\(sql): \(error.debugDescription)")
        }
        let open = try database.texts(
            """
            SELECT proname::text FROM pg_proc WHERE pronamespace = 'entitled'::regnamespace AND prorettype = 'trigger'::regtype
                AND NOT coalesce(proconfig::text LIKE '%search_path=%pg_temp%', false)
            """)
        #expect(open == [])
    }

    /// 1024 characters of four bytes each, which nothing compresses.
    private static let longTarget = """
        (SELECT string_agg(chr(65536 + (random() * 60000)::int), '') FROM generate_series(1, 1024))
        """

    private static func insertLong(made by: String) -> String {
        """
        INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
            idempotency_key, request_hash, credential, address)
        VALUES ('revoke', 'r', '{"entitlement":"pro"}', '\(by)', 1000, 1, \(longTarget), 'why', 'long', sha256(''),
            'session s', 'a')
        """
    }

    @Test func `a target that no index takes is not asked for, and ends where it is there`() throws {
        let console = try bench.console()
        let inserts = [
            Self.insertLong(made: "operator"),
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome)
            VALUES (1, 'read', 'grant', \(Self.longTarget), 'refused')
            """,
        ]
        for sql in inserts {
            let error = #expect(throws: PostgresError.self) { try console.query(sql) }
            #expect(error?.sqlstate == "42501", "\(error.debugDescription)")
        }
        // As a schema before 37 let it in.
        try bench.database.execute(Self.insertLong(made: "operator"))
        let worker = try bench.worker()
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        #expect(try bench.database.count("SELECT max(length(target)) FROM entitled.audit") == 256)
    }

    @Test(arguments: [35, 36])
    func `a target that no index takes does not keep a database from being migrated`(version: Int) throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        _ = try Migrator.migrate(on: connection, upTo: version)
        if version == 36 { try database.execute("DROP INDEX entitled.job_target") }
        try database.execute("INSERT INTO entitled.console_user (name, role, created_ms) VALUES ('eve', 'operator', 1)")
        try database.execute(Self.insertLong(made: "eve"))
        if version == 36 {
            // What a program of that version leaves behind.
            #expect(throws: PostgresError.self) {
                try connection.query("CREATE INDEX CONCURRENTLY job_target ON entitled.job (target, id)")
            }
            try database.execute("UPDATE entitled.migration_step SET finished_at = NULL WHERE name = 'job_target'")
        }
        #expect(
            try Migrator.migrate(on: connection) == .migrated(Array(version + 1...SchemaVersion.current)))
        #expect(
            try database.texts("SELECT concat_ws(' ', state, error) FROM entitled.job") == [
                "failed The target is longer than 1024 bytes."
            ])
        #expect(
            try database.texts("SELECT concat_ws(' ', actor, kind, length(target), outcome, job) FROM entitled.audit")
                == [
                    "eve revoke 256 failed 1"
                ])
        #expect(try OnlineStep.read(on: connection).allSatisfy(\.isFinished))
        let valid = """
            SELECT count(*) FROM pg_index WHERE indexrelid = 'entitled.job_target'::regclass AND indisvalid
                AND pg_get_indexdef(indexrelid) LIKE '%left%'
            """
        #expect(try database.count(valid.replacing("'%left%'", with: "'%\"left\"(target, 256)%'")) == 1)
    }

    /// A worker may be of a later version than the schema.
    @Test func `with the schema of the version before, time tells whom a change means`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let owner = try database.connect()
        _ = try Migrator.migrate(on: owner, upTo: 36)
        _ = try ConsoleUserTable.add("support", .support, now: 1, on: owner)
        func addCustomer() throws {
            try database.execute(
                "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ('anna', 1)")
            try database.execute(
                "INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ('anna', 'anna', 1)")
        }
        try addCustomer()
        _ = try ChangeTable.ask(ChangeFixture.grant(key: "1"), on: owner)
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let deletion = try actions.delete("anna", on: owner)
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        while try erasure.step(deletion.id, on: owner) == .more {}
        try addCustomer()
        _ = try ChangeTable.ask(ChangeFixture.grant(key: "2"), on: owner)
        for table in ["deletion", "deletion_id"] {
            try database.execute("UPDATE entitled.\(table) SET at_ms = at_ms - 60000")
        }
        #expect(try bench.work.next(on: owner)?.ending.outcome == .refused)
        #expect(try bench.work.next(on: owner)?.ending.outcome == .done)
        let left = try database.texts("SELECT target FROM entitled.job ORDER BY id")
        #expect(left.first != "anna" && left.last == "anna")
        // What the schema cannot say is not claimed.
        let started = "SELECT coalesce(started_ms, 0) FROM entitled.report_refresh"
        try ReportTable.finish(started: 5, failed: 1, stamp: "x", on: owner)
        #expect(try database.count(started) == 0)
        try ReportTable.finish(started: 5, failed: 0, stamp: "x", on: owner)
        #expect(try database.count(started) == 5)
    }

    @Test func `the console notes what it refused, and nothing else`() throws {
        let console = try bench.console()
        try AuditTable.refused(
            .grant, "anna", reason: nil, by: ChangeFixture.origin("read"), message: "The role read may not.",
            on: console)
        #expect(try bench.audit() == ["read grant anna refused -"])
        let refused = [
            "INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'ben', 'grant', 'x', 'done')",
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome, job)
            VALUES (1, 'ben', 'grant', 'x', 'refused', 1)
            """,
            // A number that is to come would stop every change when it is its turn.
            """
            INSERT INTO entitled.audit (id, at_ms, actor, kind, target, outcome)
            VALUES (2, 1, 'read', 'grant', 'x', 'refused')
            """,
            "INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'ben', 'grant', 'x', 'refused')",
            "INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome) VALUES (1, 'read', 'gift', 'x', 'refused')",
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome)
            VALUES (1, 'read', 'grant', repeat('x', 1025), 'refused')
            """,
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome, message)
            VALUES (1, 'read', 'grant', 'x', 'refused', repeat('x', 4097))
            """,
            "UPDATE entitled.audit SET actor = 'ben'", "UPDATE entitled.audit SET target = 'ben'",
            "DELETE FROM entitled.audit", "TRUNCATE entitled.audit",
        ]
        for sql in refused {
            let error = #expect(throws: PostgresError.self, "\(sql)") { try console.query(sql) }
            #expect(error?.sqlstate == "42501", "\(sql): \(error.debugDescription)")
        }
        let worker = try bench.worker()
        for column in ["actor = 'ben'", "outcome = 'done'", "at_ms = 1", "job = 1", "kind = 'x'"] {
            let error = #expect(throws: PostgresError.self) {
                try worker.query("UPDATE entitled.audit SET \(column)")
            }
            #expect(error?.sqlstate == "42501", "\(column)")
        }
    }
}
