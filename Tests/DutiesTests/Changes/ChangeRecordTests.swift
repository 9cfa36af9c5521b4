import Base
import Customers
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Who may write what of changes and of the audit, and what stays of a customer who is deleted.
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
            insert("", "").replacing("'grant'", with: "'replay_webhooks'"),
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

    @Test func `temporary tables do not deceive the guards`() throws {
        let database = bench.database
        try database.execute("GRANT TEMPORARY ON DATABASE \(database.name) TO PUBLIC")
        let console = try bench.console()
        _ = try console.query("CREATE TEMPORARY TABLE console_user (name text, ended_ms bigint)")
        _ = try console.query("INSERT INTO console_user VALUES ('eve', NULL)")
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

    @Test func `a change is not done to another customer who has the id of a deleted one`() throws {
        let worker = try bench.worker()
        let id = try bench.ask(ChangeFixture.grant())
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        _ = try actions.delete("anna", on: worker)
        try bench.addCustomer("anna")
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        #expect(try bench.change(id).error?.contains("was deleted") == true)
        #expect(try bench.grants() == 0)
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

    @Test func `of a deleted customer the pseudonym stays in changes and in the audit`() throws {
        let worker = try bench.worker()
        try bench.ask(ChangeFixture.grant(reason: "anna asked", key: "anna-1"))
        let hash = try bench.database.texts("SELECT encode(request_hash, 'hex') FROM entitled.job")
        _ = try bench.work.next(on: worker)
        // The deletion comes before this one is done.
        try bench.ask(ChangeFixture.grant(reason: "anna asked again", key: "2"))
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let deletion = try actions.delete("anna", on: worker)
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        // Another customer has the id now.
        try bench.addCustomer("anna")
        for table in ["deletion", "deletion_id", "audit"] {
            try bench.database.execute("UPDATE entitled.\(table) SET at_ms = at_ms - 60000")
        }
        try bench.database.execute("UPDATE entitled.job SET created_ms = created_ms - 60001")
        try bench.ask(ChangeFixture.grant(reason: "new", key: "3"))
        _ = try bench.work.next(on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        while try erasure.step(deletion.id, on: worker) == .more {}
        let jobs = try bench.database.texts(
            "SELECT concat_ws(' | ', target, reason, error) FROM entitled.job ORDER BY id")
        let audit = try bench.database.texts(
            "SELECT concat_ws(' | ', target, reason, message) FROM entitled.audit ORDER BY id")
        #expect(jobs == audit)
        try #require(jobs.count == 3)
        #expect(jobs.prefix(2).allSatisfy { !$0.contains("anna") }, "\(jobs)")
        #expect(jobs[0].contains(" asked") && jobs[1].contains(" asked again | "))
        #expect(jobs[2] == "anna | new")
        let rows = try bench.database.texts("SELECT job::text FROM entitled.job ORDER BY id LIMIT 2")
        #expect(rows.allSatisfy { !$0.contains("anna") && !$0.contains(hash[0]) }, "\(rows)")
    }
}
