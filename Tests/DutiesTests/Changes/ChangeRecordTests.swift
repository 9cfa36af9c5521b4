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
        try bench.ask(ChangeFixture.grant(reason: "anna asked", key: "1"))
        _ = try bench.work.next(on: worker)
        // The deletion comes before this one is done.
        try bench.ask(ChangeFixture.grant(reason: "anna asked again", key: "2"))
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let deletion = try actions.delete("anna", on: worker)
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        // Another customer has the id now.
        try bench.addCustomer("anna")
        try bench.database.execute("UPDATE entitled.deletion SET at_ms = at_ms - 1")
        try bench.database.execute("UPDATE entitled.job SET created_ms = created_ms - 1000")
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
    }
}
