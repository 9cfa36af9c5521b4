import Base
import Daemon
import Database
import Duties
import Operator
import Postgres
import TestSupport
import Testing

/// What a change of many rows does not do, whatever happens between its preview, its request and its steps.
struct OperatorBulkGuardTests {
    private let fixture: BulkFixture
    private var scene: OperatorFixture { fixture.scene }
    private static let now = BulkFixture.now

    init() throws { fixture = try BulkFixture() }

    private static let dead = BulkFixture.job("resend", ["state": .string("dead")])

    // MARK: - Which rows

    private func addPurchase(_ purchase: String, of owner: String) throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
                version, updated_ms) VALUES ($1, 'demo', 0, $2, $3, 'monthly', true, 1, 1000)
            """,
            [
                .int2(Lane(app: "demo", environment: .production, subject: purchase).number), .text(purchase),
                .text(owner),
            ])
    }

    private func transfer(_ purchase: String, to owner: String) throws {
        try fixture.database.execute(
            "UPDATE entitled.purchase SET owner = $2 WHERE original_transaction_id = $1",
            [.text(purchase), .text(owner)])
    }

    @Test func `purchases that become a customer's after the preview or the request are not meant`() throws {
        try addPurchase("77", of: "ben")
        try fixture.make(0..<3, .pending)
        try fixture.make(3..<6, .pending, of: "77")
        let body = BulkFixture.job("give_up", ["customer": .string("anna"), "state": .string("pending")])
        let plan = try fixture.plan(body)
        let (insisting, job) = (try fixture.ask(body, plan: plan), try fixture.ask(body))
        try transfer("77", to: "anna")
        let late = scene.post("/jobs", body, headers: ["If-Plan": plan])
        #expect(late.status == 409 && scene.code(late) == "changed_meanwhile", "\(late.text)")
        for number in [insisting, job] {
            let ended = try fixture.run(number)
            #expect(ended.state == .failed && ended.counts.queued == 0, "\(ended)")
        }
        #expect(try fixture.count("state = 0") == 12)
        // What it is now can be asked for.
        #expect(try fixture.run(fixture.ask(body)).counts.queued == 12)
    }

    @Test func `a purchase that becomes a customer's between two steps ends the job`() throws {
        try addPurchase("77", of: "ben")
        try fixture.make(0..<300, .pending)
        try fixture.make(300..<303, .pending, of: "77")
        let job = try fixture.ask(BulkFixture.job("give_up", ["customer": .string("anna")]))
        var work = BulkWork()
        #expect(try work.step(fixture.lease(job), on: fixture.worker).job.counts.queued == 500)
        try transfer("77", to: "anna")
        let ended = try work.step(fixture.lease(job), on: fixture.worker).job
        #expect(ended.state == .failed && ended.error?.contains("purchases") == true, "\(ended)")
        #expect(try fixture.count("state = 0") == 106)
    }

    @Test func `what an attempt changed after the preview does not begin to match`() throws {
        let tried = try fixture.make(0..<2, .pending)
        let early = try fixture.make(2..<4, .pending)
        let dead = try fixture.make(4..<5, .dead)
        try fixture.settle(early, .pending, at: Self.now - 5000, isLogged: true)
        let filters: [[String: JSON]] = [["status": .string("5xx")], ["attempts_min": .int(1)]]
        let jobs = try filters.map { filter in
            let body = BulkFixture.job("give_up", filter.merging(["state": .string("pending")]) { given, _ in given })
            return try fixture.ask(body, plan: fixture.plan(body))
        }
        let resend = try fixture.ask(BulkFixture.job("resend", ["state": .string("delivered")]))
        try fixture.settle(tried, .pending, at: Self.now + 5000, isLogged: true)
        #expect(try fixture.run(jobs[0]).counts == JobCounts(matched: 4, queued: 4, skipped: 0))
        #expect(try fixture.run(jobs[1]).counts.queued == 0)
        #expect(try fixture.count("state = 0") == 4)
        // An arrival after it was given up changes the state, and not the instant that it is over since.
        try fixture.settle(dead, .delivered, at: Self.now + 9000, isLogged: true)
        #expect(try fixture.count("state = 1") == 2)
        #expect(try fixture.run(resend).counts == JobCounts())
    }

    @Test func `rows that another transaction holds are left as they are, and nothing waits for them`() throws {
        let made = try fixture.make(0..<3, .pending)
        let job = try fixture.ask(BulkFixture.job("give_up", ["state": .string("pending")]))
        let other = try fixture.database.connect(role: "entitled_worker")
        _ = try other.query("BEGIN")
        _ = try other.query(
            "SELECT FROM entitled.delivery WHERE lane = $1 AND id = $2 FOR UPDATE",
            [.int2(made[0].id.lane.number), .uuid(made[0].id.bytes)])
        var work = BulkWork()
        let began = ContinuousClock.now
        let ended = try work.step(fixture.lease(job), on: fixture.worker).job
        #expect(ContinuousClock.now - began < .milliseconds(1500))
        _ = try other.query("ROLLBACK")
        #expect(ended.counts == JobCounts(matched: 6, queued: 5, skipped: 1), "\(ended)")
        #expect(scene.get("/jobs/\(job)").json["skipped_by_reason"] == .object(["changed": .int(1)]))
    }

    // MARK: - A customer's events

    @Test func `a job goes on where it was although that event is gone, and counts nothing twice`() throws {
        try fixture.make(0..<300, .dead)
        let job = try fixture.ask(BulkFixture.job("resend", ["customer": .string("anna")]))
        var work = BulkWork()
        #expect(try work.step(fixture.lease(job), on: fixture.worker).job.counts.queued == 500)
        try fixture.database.execute(
            """
            DELETE FROM entitled.event WHERE id = (
                SELECT e.id FROM entitled.event e JOIN entitled.delivery d ON d.lane = e.lane AND d.event = e.id
                WHERE d.job = $1 ORDER BY e.created_ms DESC, e.lane DESC, e.id DESC LIMIT 1)
            """, [.int8(job)])
        try fixture.consume()
        #expect(try fixture.run(job).counts == JobCounts(matched: 600, queued: 600, skipped: 0))
    }

    // MARK: - Plans

    @Test func `a pause of an endpoint, and another endpoint, leave a plan as it is`() throws {
        try fixture.make(0..<2, .dead)
        let body = BulkFixture.job("resend", ["state": .string("dead"), "endpoint": .string("ep_1")])
        let plan = try fixture.plan(body)
        // As workers write it for a Retry-After.
        try fixture.database.execute("UPDATE entitled.endpoint SET paused_until_ms = 5")
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_2'")
        let job = try fixture.ask(body, plan: plan)
        try fixture.database.execute("UPDATE entitled.endpoint SET paused_until_ms = 7")
        #expect(try fixture.run(job).counts.queued == 2)
    }

    @Test func `a job that waited is compared with its plan right before its first rows`() throws {
        try fixture.make(0..<2, .dead)
        try fixture.make(2..<302, .pending)
        let job = try fixture.ask(Self.dead, plan: fixture.plan(Self.dead))
        var work = BulkWork()
        #expect(try work.step(fixture.lease(job), on: fixture.worker).isWaiting)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_2'")
        try fixture.consume()
        let done = try fixture.run(job)
        #expect(done.counts.queued == 0 && done.error == ChangeVersions.changed, "\(done)")
    }

    @Test func `a plan may come from a console whose clock is ahead by some seconds`() throws {
        try fixture.make(0..<2, .dead)
        scene.clock.advance(by: .seconds(20))
        let plan = try fixture.plan(Self.dead)
        scene.clock.advance(by: .seconds(-20))
        #expect(try fixture.run(fixture.ask(Self.dead, plan: plan)).counts.queued == 4)
        scene.clock.advance(by: .seconds(40))
        let far = try fixture.plan(Self.dead)
        scene.clock.advance(by: .seconds(-40))
        #expect(scene.post("/jobs", Self.dead, headers: ["If-Plan": far]).status == 400)
    }

    // MARK: - Waiting

    @Test func `a job that waits for an endpoint asks for that alone, and ever less often`() throws {
        try fixture.make(0..<2, .dead)
        try fixture.make(2..<302, .pending)
        let job = try fixture.ask(Self.dead)
        var work = BulkWork()
        let first = try work.step(fixture.lease(job), on: fixture.worker)
        #expect(first.isWaiting && first.pause < .milliseconds(500))
        // To read the page again it would wait here.
        let other = try fixture.database.connect()
        _ = try other.query("BEGIN")
        _ = try other.query("LOCK TABLE entitled.event IN ACCESS EXCLUSIVE MODE")
        for _ in 0..<20 { #expect(try work.step(fixture.lease(job), on: fixture.worker).isWaiting) }
        #expect(try work.step(fixture.lease(job), on: fixture.worker).pause == .seconds(1))
        _ = try other.query("ROLLBACK")
        while try fixture.count("state = 0") > 0 { try fixture.consume() }
        #expect(try work.step(fixture.lease(job), on: fixture.worker).job.counts.queued == 4)
    }

    // MARK: - Failures

    @Test func `a job that fails each time ends, and says why`() throws {
        try fixture.make(0..<2, .dead)
        try fixture.database.execute(
            """
            CREATE FUNCTION public.fails() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'the disk is odd'; END $$
            """)
        try fixture.database.execute(
            "CREATE TRIGGER fails BEFORE UPDATE ON entitled.delivery FOR EACH ROW EXECUTE FUNCTION public.fails()")
        let job = try fixture.ask(Self.dead)
        let ended = try fixture.run(job)
        #expect(ended.state == .failed && ended.error?.contains("the disk is odd") == true, "\(ended)")
        let entry = scene.get("/audit?kind=bulk_resend").json["items"]?.arrayValue?.first
        #expect(entry?["outcome"] == .string("failed") && entry?["job"] == .int(job), "\(entry?.text ?? "")")
    }

    @Test func `failures with a step between them are not counted together`() throws {
        try fixture.make(0..<1200, .dead)
        try fixture.database.execute("CREATE SEQUENCE public.tries")
        try fixture.database.execute(
            """
            CREATE FUNCTION public.fails() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN IF nextval('public.tries') % 4 <> 0 THEN RAISE EXCEPTION 'now and then'; END IF; RETURN NULL; END $$
            """)
        try fixture.database.execute(
            """
            CREATE TRIGGER fails AFTER UPDATE ON entitled.delivery FOR EACH STATEMENT EXECUTE FUNCTION public.fails()
            """)
        let job = try fixture.ask(BulkFixture.job("resend", ["endpoint": .string("ep_1")]))
        let ended = try JobDriver(job, kinds: BulkWork.kinds).attend(on: fixture.worker, rest: { _ in }) { _, _ in
            try fixture.database.execute("ALTER TABLE entitled.delivery DISABLE TRIGGER fails")
            try fixture.consume()
            try fixture.database.execute("ALTER TABLE entitled.delivery ENABLE TRIGGER fails")
            return false
        }
        #expect(ended.state == .done && ended.counts.queued == 1200, "\(ended)")
    }

    @Test func `a forged selection ends no worker`() throws {
        try fixture.database.execute(
            """
            INSERT INTO entitled.notification (lane, seq, received_ms, environment, source, header, app, uuid, type,
                payload, signature)
            SELECT n % 256, $1 + n, $2, 0, 0, gen_random_uuid(), 'demo', 'u' || n, 'DID_RENEW', '', ''
            FROM generate_series(1, 600) n
            """, [.int8(SequenceGenerator.least(at: Self.now - 60_000)), .int8(Self.now - 60_000)])
        let console = try fixture.database.connect(role: "entitled_console")
        let extremes: [(since: Int64, until: Int64)] = [
            (.min, .max), (.min, Self.now), (.max, .max), (.max, .min), (.min, .min), (0, .min),
        ]
        for (number, extreme) in extremes.enumerated() {
            for (kind, rows) in [(ChangeKind.bulkReprocess, "notifications"), (.bulkResend, "deliveries")] {
                let parameters = JSON.object([
                    JSON.Member(
                        name: rows,
                        value: .object([
                            "status_from": .int(.min), "status_to": .int(.max), "attempts_min": .int(.min),
                        ])), JSON.Member(name: "since_ms", value: .int(extreme.since)),
                    JSON.Member(name: "until_ms", value: .int(extreme.until)),
                ])
                let answer = try ChangeTable.ask(
                    ChangeTable.Request(
                        kind, rows, parameters: parameters, reason: "forged",
                        by: ChangeOrigin(
                            user: "operator", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
                        idempotencyKey: "\(kind) \(number)", fingerprint: [UInt8](repeating: 1, count: 32)),
                    on: console)
                guard case .asked(let job) = answer else { throw TestFailure("\(answer)") }
                let ended = try JobDriver(job, kinds: BulkWork.kinds).attend(
                    on: fixture.worker, rest: { _ in }
                ) { _, _ in
                    try fixture.database.execute("DELETE FROM entitled.pending")
                    return false
                }
                #expect(ended.state == .done, "\(extreme) \(ended)")
                #expect((0...1).contains(ended.fraction))
            }
        }
    }

    @Test func `an operator has so many jobs under way, and no more`() throws {
        var statuses: [Int] = []
        for _ in 0..<20 { statuses.append(scene.post("/jobs", Self.dead, as: .integrator).status) }
        let accepted = statuses.filter { $0 == 202 }.count
        #expect(accepted < 20 && statuses.suffix(20 - accepted).allSatisfy { $0 == 429 }, "\(statuses)")
        let refused = scene.post("/jobs", Self.dead, as: .integrator)
        #expect(scene.code(refused) == "too_many_jobs" && refused.header("retry-after") != nil, "\(refused.text)")
        // Another operator's are counted by themselves, and one that ends makes room.
        #expect(scene.post("/jobs", Self.dead).status == 202)
        let first = try fixture.database.count("SELECT min(id) FROM entitled.job WHERE made_by = 'integrator'")
        #expect(try fixture.run(first).state == .done)
        #expect(scene.post("/jobs", Self.dead, as: .integrator).status == 202)
    }

    // MARK: - What is shown

    @Test func `deliveries of a job are counted up to 10,000, and to cancel it counts none`() throws {
        try fixture.make(0..<600, .dead)
        let job = try fixture.ask(Self.dead, as: .integrator)
        try fixture.database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, next_ms, created_ms, job)
            SELECT n % 256, gen_random_uuid(), 'ep_1', gen_random_uuid(), 'RENEWAL', 1, 0, 0, $1
            FROM generate_series(1, 10001) n
            """, [.int8(job)])
        let shown = scene.get("/jobs/\(job)", as: .integrator).json
        #expect(shown["deliveries"]?["delivered"] == .int(10_000), "\(shown.text)")
        #expect(shown["capped_deliveries"] == .strings(["delivered"]))
        try fixture.database.execute("REVOKE SELECT ON entitled.delivery FROM entitled_console")
        let preview = scene.post("/jobs/\(job)/cancel?preview=true", BulkFixture.request(), as: .integrator)
        #expect(preview.status == 200, "\(preview.text)")
    }

    @Test func `a role that sees no customers reads no id of one in a job`() throws {
        try fixture.make(0..<2, .dead)
        let job = try fixture.ask(BulkFixture.job("resend", ["customer": .string("anna")]), as: .integrator)
        let grant = JSON.object([
            "entitlement": .string("pro"), "duration": .string("monthly"), "reason": .string("anna asked"),
        ])
        _ = TestThread { [scene] in scene.post("/customers/anna/grants", grant, idempotencyKey: "anna-1") }
        try eventually("it is asked for") {
            try fixture.database.count("SELECT count(*) FROM entitled.job WHERE kind = 'grant'") == 1
        }
        let number = try fixture.database.count("SELECT id FROM entitled.job WHERE kind = 'grant'")
        let key = try #require(
            try OperatorKeyTable.create(for: "operator", .read, until: nil, now: 1, on: fixture.worker)
        ).key.exposed
        let read = scene.call("GET", "/operator/v1/jobs/\(number)", key: key)
        #expect(read.status == 200 && read.json["kind"] == .string("grant"), "\(read.text)")
        #expect(!read.text.contains("anna") && read.json["target"] == .string(""), "\(read.text)")
        let own = scene.get("/jobs/\(job)", as: .integrator)
        #expect(own.status == 200 && !own.text.contains("anna") && !own.text.contains("4711"), "\(own.text)")
        #expect(scene.get("/jobs/\(number)").json["target"] == .string("anna"))
    }

    @Test func `the preview of a cancel says what the worker does`() throws {
        func request(_ words: String) throws -> Int64 {
            let made = try JobTable.make(
                JobTable.Request(
                    kind: "webhooks", words: words, parameters: .object([:]), rate: nil, madeBy: "root"),
                on: fixture.worker)
            return try #require(made?.id)
        }
        let (running, failed, cancelled) = (try request("a"), try request("b"), try request("c"))
        try fixture.database.execute("UPDATE entitled.job SET state = 'failed' WHERE id = $1", [.int8(failed)])
        _ = try JobTable.cancel(cancelled, on: fixture.worker)
        _ = TestThread { [scene] in
            scene.post("/endpoints/ep_1/disable", BulkFixture.request(), as: .integrator)
        }
        try eventually("it is asked for") {
            try fixture.database.count("SELECT count(*) FROM entitled.job WHERE kind = 'endpoint_disable'") == 1
        }
        let single = try fixture.database.count("SELECT id FROM entitled.job WHERE kind = 'endpoint_disable'")
        let bulk = try fixture.ask(Self.dead)
        let ended = try fixture.ask(Self.dead)
        #expect(try fixture.run(ended).state == .done)
        let cases: [(job: Int64, isDone: Bool)] = [
            (running, true), (failed, true), (cancelled, false), (single, false), (bulk, true), (ended, false),
        ]
        for (job, isDone) in cases {
            let preview = scene.post("/jobs/\(job)/cancel?preview=true", BulkFixture.request())
            #expect(preview.status == 200)
            #expect((preview.json["refusal"] == .null) == isDone, "\(job) \(preview.text)")
            #expect((preview.json["after"] != preview.json["before"]) == isDone, "\(job) \(preview.text)")
        }
    }
}
