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

/// What stays of a customer who is deleted in changes and in the audit.
@Suite struct DeletedCustomerRecordTests {
    private let bench: ChangeFixture

    init() throws {
        bench = try ChangeFixture()
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

    @Test func `a deletion that commits long after its instant reaches what was asked for meanwhile`() throws {
        let worker = try bench.worker()
        try bench.ask(ChangeFixture.grant(reason: "anna asked"))
        try AuditTable.refused(
            .grant, "anna", reason: nil, by: ChangeFixture.origin("read"), message: "The role read may not.",
            on: bench.console())
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let deletion = try actions.delete("anna", on: worker)
        for table in ["deletion", "deletion_id"] {
            try bench.database.execute("UPDATE entitled.\(table) SET at_ms = at_ms - 60000")
        }
        try bench.addCustomer("anna")
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        while try erasure.step(deletion.id, on: worker) == .more {}
        let left = try bench.database.texts(
            "SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        )
        #expect(left.count == 3 && left.allSatisfy { !$0.contains("anna") }, "\(left)")
    }

    @Test func `a change that is committed after the erasure of its customer keeps no id`() throws {
        let (console, worker) = (try bench.console(), try bench.worker())
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        try console.transaction { () throws -> Void in
            _ = try console.query(
                """
                INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                    idempotency_key, request_hash, credential, address)
                VALUES ('grant', 'r', '{"entitlement":"pro","duration":"daily"}', 'operator', 1, 1, 'anna',
                    'anna asked', 'anna-1', sha256(''), 'session s', 'a')
                """)
            let deletion = try actions.delete("anna", on: worker)
            let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
            while try erasure.step(deletion.id, on: worker) == .more {}
        }
        try bench.addCustomer("anna")
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        let left = try bench.database.texts(
            "SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        )
        #expect(left.count == 2 && left.allSatisfy { !$0.contains("anna") }, "\(left)")
    }

    @Test func `changes of other things lose the id of a deleted customer, and no other word`() throws {
        let worker = try bench.worker()
        try bench.addCustomer("ann")
        for (key, reason) in [
            ("1", "anna asked; hannah did not"), ("anna", "a ticket"), ("3", "ann and annas of 2026"),
        ] {
            try bench.ask(ChangeFixture.request(.endpointDisable, "ep_1", reason: reason, key: key))
            #expect(try bench.work.next(on: worker)?.ending.outcome == .done)
        }
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        try bench.addCustomer("2026")
        for id in ["anna", "ann", "2026"] {
            let deletion = try actions.delete(id, on: worker)
            let erasure = CustomerErasure(foldSettings: FoldSettings())
            while try erasure.step(deletion.id, on: worker) == .more {}
        }
        let jobs = try bench.database.texts(
            "SELECT concat_ws(' | ', target, idempotency_key, reason) FROM entitled.job ORDER BY id")
        let audit = try bench.database.texts("SELECT concat_ws(' | ', target, reason) FROM entitled.audit ORDER BY id")
        try #require(jobs.count == 3 && audit.count == 3)
        // The key says nothing of the customer, and goes on telling repetitions.
        #expect(jobs[0].hasPrefix("ep_1 | 1 | ") && jobs[0].hasSuffix(" asked; hannah did not"))
        #expect(!jobs[0].contains(" anna ") && !audit[0].contains(" anna ") && audit[0].contains("; hannah did not"))
        #expect(jobs[1].hasPrefix("ep_1 | change ") && jobs[1].hasSuffix("| a ticket"))
        // An id of three letters, or of four digits, is a word of any sentence.
        #expect(jobs[2] == "ep_1 | 3 | ann and annas of 2026" && audit[2] == "ep_1 | ann and annas of 2026")
    }

    @Test func `a UUID is taken from texts in any spelling, however many ids the customer has`() throws {
        let worker = try bench.worker()
        let id = "1f0c2222-aaaa-4bbb-8ccc-0123456789ab"
        try bench.addCustomer(id)
        // So many that a search by each of them would take minutes.
        try bench.database.execute(
            """
            INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms)
            SELECT 'device-' || n, '\(id)', 1 FROM generate_series(1, 3000) n
            """)
        try bench.ask(
            ChangeFixture.request(
                .endpointDisable, "ep_1", reason: "asked by \(id.uppercased()) and \(id)", key: "k-\(id.uppercased())"))
        #expect(try bench.work.next(on: worker)?.ending.outcome == .done)
        try bench.database.execute(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, reason,
                idempotency_key, request_hash, made_snapshot, made_xid, state)
            SELECT kind, 'change x' || n, parameters, made_by, created_ms, updated_ms, target,
                repeat('the ticket of a customer; ', 40) || CASE WHEN n = 4000 THEN 'device-2999 asked' ELSE '' END,
                'x' || n, request_hash, made_snapshot, made_xid, state
            FROM entitled.job, generate_series(1, 8000) n WHERE id = 1
            """)
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let deletion = try actions.delete(id, on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        while try erasure.step(deletion.id, on: worker) == .more {}
        let left = try bench.database.count(
            """
            SELECT (SELECT count(*) FROM entitled.job j WHERE row_to_json(j)::text ~* '\(id)|device-2999')
                + (SELECT count(*) FROM entitled.audit a WHERE row_to_json(a)::text ~* '\(id)')
            """)
        #expect(left == 0)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.job WHERE reason LIKE '% asked'") == 1)
    }

    @Test func `a deletion that cannot be done holds up no other one`() throws {
        let worker = try bench.worker()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        try bench.addCustomer("bob")
        let first = try actions.delete("anna", on: worker)
        let second = try actions.delete("bob", on: worker)
        try bench.database.execute("UPDATE entitled.deletion SET names = '[' WHERE id = \(first.id)")
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        #expect(throws: PostgresError.self) { try erasure.step(on: worker) }
        while try erasure.step(on: worker) {}
        let states = try bench.database.texts("SELECT state FROM entitled.deletion ORDER BY id")
        #expect(states == ["sweeping", "done"])
        #expect(try DeletionTable.find(second.id, on: worker)?.state == .done)
    }

    @Test func `files that leave the console take no place among the entries that a deletion searches`() throws {
        let worker = try bench.worker()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        try bench.database.execute(
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome, reason)
            VALUES (1, 'operator', 'resend', 'x', 'done', 'as anna asked')
            """)
        try bench.database.execute(
            """
            INSERT INTO entitled.audit (at_ms, actor, kind, target, outcome)
            SELECT 1, 'operator', 'export', 'events', 'done' FROM generate_series(1, 50001)
            """)
        _ = try actions.delete("anna", on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(on: worker) {}
        let reasons = try bench.database.texts("SELECT reason FROM entitled.audit WHERE reason IS NOT NULL")
        #expect(reasons.count == 1 && !reasons.contains { $0.contains("anna") }, "\(reasons)")
    }

    @Test(arguments: [false, true])
    func `a change that names a customer who was deleted meanwhile is refused, and forgets who that was`(isBack: Bool)
        throws
    {
        let worker = try bench.worker()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        try bench.addCustomer("ben-of-home")
        let requests = [
            ChangeFixture.request(.alias, "anna", .object(["alias": .string("ben-of-home"), "create": .bool(true)])),
            ChangeFixture.request(.transfer, "anna", .object(["to": .string("ben-of-home")]), key: "k2"),
        ]
        for request in requests { try bench.ask(request) }
        func hashes() throws -> [String] {
            try bench.database.texts("SELECT encode(request_hash, 'hex') FROM entitled.job ORDER BY id")
        }
        let before = try hashes()
        _ = try actions.delete("ben-of-home", on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(on: worker) {}
        if isBack { try bench.addCustomer("ben-of-home") }
        for _ in requests {
            let ending = try bench.work.next(on: worker)?.ending
            #expect(ending?.outcome == .refused && ending?.message?.hasPrefix("The customer was deleted") == true)
        }
        #expect(try bench.database.count("SELECT count(*) FROM entitled.app_user_id") == (isBack ? 2 : 1))
        #expect(Set(try hashes()).isDisjoint(with: before))
        for table in ["job", "audit"] {
            let rows = try bench.database.texts("SELECT row_to_json(t)::text FROM entitled.\(table) t")
            #expect(!rows.contains { $0.contains("ben-of-home") }, "\(rows)")
        }
    }

    @Test func `a deletion whose facts cannot be read holds up no other one`() throws {
        let worker = try bench.worker()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        try bench.addCustomer("bob")
        let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: "4711")
        let place: [PostgresValue] = [.int2(key.lane.number), .text(key.originalTransactionID)]
        try bench.database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                will_renew, version, updated_ms) VALUES ($1, 'demo', 1, $2, 'anna', 'monthly', true, 1, 1)
            """, place)
        _ = try actions.delete("anna", on: worker)
        try bench.database.execute(
            """
            INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq, payload)
            VALUES ($1, 'demo', 1, $2, gen_random_uuid(), 7, 1, 1, '\\x28b52ffdffff')
            """, place)
        let second = try actions.delete("bob", on: worker)
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        var failures = 0
        for _ in 0..<50 {
            do {
                guard try erasure.step(on: worker) else { break }
            } catch {
                #expect(!(error is PostgresError))
                failures += 1
            }
        }
        #expect(failures == 1)
        #expect(try DeletionTable.find(second.id, on: worker)?.state == .done)
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
        // Another customer has the id a moment later.
        try bench.addCustomer("anna")
        try bench.ask(ChangeFixture.grant(reason: "new", key: "3"))
        #expect(try bench.work.next(on: worker)?.ending.outcome == .done)
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
