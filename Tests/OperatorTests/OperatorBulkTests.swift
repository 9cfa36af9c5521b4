import Base
import Crypto
import Daemon
import Database
import Duties
import HTTP
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Changes of many rows by the operator API, done by what a worker does them with.
struct OperatorBulkTests {
    private let fixture: OperatorFixture
    private let worker: PostgresConnection
    private static let now = OperatorFixture.now

    init() throws {
        fixture = try OperatorFixture(events: 1)
        worker = try fixture.database.connect(role: "entitled_worker")
        // Its events have no bodies.
        try fixture.database.execute("DELETE FROM entitled.delivery")
        try fixture.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms)
            VALUES ('ep_2', 'https://example.com/two', '{}', '{}', '{}', 1000)
            """)
    }

    private static func event(_ number: Int) -> NewEvent {
        let id = Array(Digest.sha256(Array("event \(number)".utf8)).prefix(16))
        let body = #"{"event":{"type":"RENEWAL","id":"\#(UUIDText.upper(id))"},"api_version":"1.0"}"#
        return NewEvent(
            lane: Lane(number: Int16(number % 256)), id: id, type: number % 2 == 0 ? "RENEWAL" : "EXPIRATION",
            app: "demo",
            environment: .production, originalTransactionID: "3000\(number)", body: Array(body.utf8))
    }

    /// Makes events a minute ago, a delivery to each endpoint, and settles those.
    private func make(
        _ numbers: Range<Int>, _ state: DeliveryState, at time: Int64 = now - 30_000
    ) throws {
        let made = try worker.transaction {
            try EventTable.insert(numbers.map(Self.event), now: Self.now - 60_000, on: worker)
        }
        try settle(made, state, at: time)
    }

    private func settle(_ deliveries: [DueDelivery], _ state: DeliveryState, at time: Int64) throws {
        guard state != .pending else { return }
        try DeliveryTable.settle(
            deliveries.map {
                DeliveryTable.Settlement(
                    of: $0, state: state, attempts: $0.attempts + 1, wait: 0, status: state == .delivered ? 200 : 503,
                    reason: state == .dead ? "status 503" : nil, attempt: nil)
            }, now: time, on: worker)
    }

    private func count(_ condition: String) throws -> Int64 {
        try fixture.database.count("SELECT count(*) FROM entitled.delivery WHERE \(condition)")
    }

    private static func job(_ kind: String, _ filter: [String: JSON], _ more: [String: JSON] = [:]) -> JSON {
        request(more.merging(["kind": .string(kind), "filter": object(filter)]) { given, _ in given })
    }

    private static func object(_ members: [String: JSON]) -> JSON {
        .object(members.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
    }

    private static func request(_ members: [String: JSON]) -> JSON {
        object(members.merging(["reason": .string("ticket 4711")]) { given, _ in given })
    }

    private static let dead = job("resend", ["state": .string("dead")])

    /// Drives a job to its end, as a worker does, and takes what is due where it waits for consumers.
    @discardableResult
    private func run(_ number: Int64) throws -> Job {
        try JobDriver(number, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, isWaiting in
            if isWaiting { try consume() }
            return false
        }
    }

    private func consume() throws {
        let due = try DeliveryTable.due(
            room: ["ep_1": 1000, "ep_2": 1000], lanes: Lane.all, now: SystemClock().now() + 1000, on: worker)
        try settle(due.deliveries, .delivered, at: SystemClock().now())
    }

    private func number(_ call: HTTPCall) throws -> Int64 {
        guard call.status == 202, let job = call.json["job"]?.intValue else { throw TestFailure(call.text) }
        return job
    }

    // MARK: - What is done

    @Test func `all dead deliveries are sent again, each once, and the job tells what became of them`() throws {
        try make(0..<30, .dead)
        try make(30..<35, .delivered)
        try make(35..<40, .pending)
        let job = try number(fixture.post("/jobs", Self.dead, as: .integrator))
        #expect(fixture.get("/jobs/\(job)", as: .integrator).json["state"] == .string("running"))
        let done = try run(job)
        #expect(done.state == .done && done.counts == JobCounts(matched: 60, queued: 60, skipped: 0))
        #expect(try count("job = \(job) AND state = 0 AND round_start = 1") == 60)
        #expect(try count("job IS NOT NULL") == 60)
        func outcome() -> JSON? { fixture.get("/jobs/\(job)", as: .integrator).json["deliveries"] }
        #expect(outcome()?["pending"] == .int(60) && outcome()?["delivered"] == .int(0))
        try consume()
        #expect(outcome()?["delivered"] == .int(60) && outcome()?["pending"] == .int(0), "\(outcome()?.text ?? "")")
        let shown = fixture.get("/jobs/\(job)").json
        #expect(shown["outcome"]?["queued"] == .int(60) && shown["target"] == .string("deliveries"))
        #expect(shown["done"] == .double(1) || shown["done"] == .int(1), "\(shown.text)")
        let entry = fixture.get("/audit?kind=bulk_resend").json["items"]?.arrayValue?.first
        #expect(entry?["outcome"] == .string("done") && entry?["job"] == .int(job))
        #expect(entry?["actor"] == .string("integrator") && entry?["reason"] == .string("ticket 4711"))
        // Again there is nothing to do.
        let again = try run(number(fixture.post("/jobs", Self.dead)))
        #expect(again.counts == JobCounts())
    }

    @Test func `filters are those of the list`() throws {
        try make(0..<10, .dead)
        let cases: [([String: JSON], Int64)] = [
            (["state": .string("dead"), "endpoint": .string("ep_1"), "type": .string("RENEWAL")], 5),
            (["state": .string("dead"), "status": .string("5xx"), "attempts_min": .int(1)], 20),
            (["state": .string("dead"), "status": .string("404")], 0),
            (["state": .string("dead"), "since": .string("2026-11-19")], 0),
            (["event": .string(UUIDText.upper(Self.event(3).id))], 2),
        ]
        for (filter, expected) in cases {
            let call = fixture.post("/jobs?preview=true", Self.job("resend", filter))
            #expect(call.json["rows"]?["would_queue"] == .int(expected), "\(filter) \(call.text)")
        }
        let (filter, expected) = cases[0]
        let job = try number(fixture.post("/jobs", Self.job("resend", filter)))
        #expect(try run(job).counts.queued == expected)
        #expect(try count("job = \(job) AND endpoint = 'ep_1' AND event_type = 'RENEWAL'") == expected)
    }

    @Test func `ids are what is meant, and what is not there is skipped`() throws {
        try make(0..<5, .dead)
        try make(5..<6, .pending)
        let ids = fixture.get("/deliveries?endpoint=ep_1").json["items"]?.arrayValue?.compactMap {
            $0["id"]?.stringValue
        }
        let unknown = DeliveryID(lane: Lane(number: 1), bytes: [UInt8](repeating: 7, count: 16)).text
        let body = Self.request([
            "kind": .string("resend"), "ids": .strings((ids ?? []) + [unknown]),
        ])
        let job = try number(fixture.post("/jobs", body))
        #expect(try run(job).counts == JobCounts(matched: 7, queued: 5, skipped: 2))
        #expect(
            fixture.get("/jobs/\(job)").json["skipped_by_reason"] == .object(["changed": .int(1), "open": .int(1)]))
    }

    @Test func `deliveries that wait are given up, and nothing follows of an attempt on its way`() throws {
        try make(0..<4, .pending)
        let inFlight = try DeliveryTable.due(
            room: ["ep_1": 10], lanes: Lane.all, now: Self.now, on: worker
        ).deliveries
        let job = try number(
            fixture.post("/jobs", Self.job("give_up", ["state": .string("pending"), "endpoint": .string("ep_1")])))
        #expect(try run(job).counts.queued == 4)
        #expect(try count("state = 2 AND endpoint = 'ep_1' AND reason = 'given up by an operator'") == 4)
        #expect(try count("state = 0 AND endpoint = 'ep_2'") == 4)
        try settle([inFlight[0]], .dead, at: Self.now)
        try settle([inFlight[1]], .delivered, at: Self.now)
        #expect(try count("state = 2 AND reason = 'given up by an operator'") == 3)
        #expect(fixture.get("/jobs/\(job)").json["deliveries"]?["dead"] == .int(3))
    }

    @Test func `what is disabled, removed or not kept is skipped with its reason`() throws {
        try make(0..<3, .dead)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_1'")
        try fixture.database.execute(
            "UPDATE entitled.event SET body = '' WHERE id = $1", [.uuid(Self.event(1).id)])
        let preview = fixture.post("/jobs?preview=true", Self.dead).json["rows"]
        let expected: JSON = .object(["endpoint_disabled": .int(3), "not_kept": .int(1)])
        #expect(preview?["skipped"] == expected && preview?["would_queue"] == .int(2))
        #expect(preview?["by_endpoint"] == .object(["ep_2": .int(2)]))
        let job = try number(fixture.post("/jobs", Self.dead))
        #expect(try run(job).counts == JobCounts(matched: 6, queued: 2, skipped: 4))
        #expect(fixture.get("/jobs/\(job)").json["skipped_by_reason"] == expected)
    }

    @Test func `held notifications are processed again, and those that come later are not`() throws {
        func hold(_ count: Int64, at time: Int64, named prefix: String) throws {
            let parameters: [PostgresValue] = [
                .int8(SequenceGenerator.least(at: time)), .int8(time), .text(prefix), .int8(count),
            ]
            try fixture.database.execute(
                """
                INSERT INTO entitled.notification (lane, seq, received_ms, environment, source, header, app, uuid, type,
                    payload, signature)
                SELECT n % 256, $1 + n, $2, 0, 0, gen_random_uuid(), 'demo', $3 || n, 'DID_RENEW', '', ''
                FROM generate_series(1, $4) n
                """, parameters)
            try fixture.database.execute(
                """
                INSERT INTO entitled.held_notification (lane, seq, reason, held_ms)
                SELECT lane, seq, 'unknown_app', $1 FROM entitled.notification WHERE uuid LIKE $2 || '%'
                """, [.int8(time), .text(prefix)])
        }
        try hold(700, at: Self.now - 60_000, named: "old")
        try hold(3, at: Self.now + 60_000, named: "new")
        let body = Self.job("reprocess", ["state": .string("held"), "type": .string("DID_RENEW")])
        let preview = fixture.post("/jobs?preview=true", body)
        #expect(preview.json["rows"]?["would_queue"] == .int(700), "\(preview.text)")
        let job = try number(fixture.post("/jobs", body))
        let done = try JobDriver(job, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, isWaiting in
            // As workers apply them.
            if isWaiting { try fixture.database.execute("DELETE FROM entitled.pending") }
            return false
        }
        #expect(done.state == .done && done.counts == JobCounts(matched: 700, queued: 700, skipped: 0))
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.held_notification") == 3)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.pending") == 200)
        // By their names: one waits already, one is held, and one is not there.
        let waiting = try fixture.database.texts(
            "SELECT n.uuid FROM entitled.pending p JOIN entitled.notification n USING (lane, seq) LIMIT 1")
        try fixture.database.execute(
            """
            INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
            SELECT $1, app, environment, lane, seq FROM entitled.notification WHERE uuid = $2
            """, [.uuid(NotificationIdentity.key(waiting[0])), .text(waiting[0])])
        try fixture.database.execute(
            """
            INSERT INTO entitled.notification_key (key, app, environment, lane, seq)
            SELECT $1, app, environment, lane, seq FROM entitled.notification WHERE uuid = 'new1'
            """, [.uuid(NotificationIdentity.key("new1"))])
        let named = Self.request([
            "kind": .string("reprocess"),
            "ids": .strings([waiting[0], "new1", "none"].map { "demo/Production/\($0)" }),
        ])
        let second = try number(fixture.post("/jobs", named))
        #expect(try run(second).counts == JobCounts(matched: 3, queued: 1, skipped: 2))
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.held_notification") == 2)
    }

    @Test func `deliveries of events that match are sent again, the customer's as the customer's`() throws {
        try make(0..<700, .dead)
        let body = Self.job("resend_events", ["type": .string("RENEWAL"), "environment": .string("Production")])
        let preview = fixture.post("/jobs?preview=true", body).json["rows"]
        #expect(
            preview?["would_queue"] == .int(700) && preview?["is_complete"] == .bool(true), "\(preview?.text ?? "")")
        let job = try number(fixture.post("/jobs", body))
        #expect(try run(job).counts == JobCounts(matched: 700, queued: 700, skipped: 0))
        #expect(try count("job = \(job) AND event_type = 'RENEWAL'") == 700)
        #expect(try fixture.database.texts("SELECT target FROM entitled.job") == ["events"])
        let one = Self.job("resend_events", ["purchase": .string("300013")])
        #expect(fixture.post("/jobs?preview=true", one).json["rows"]?["would_queue"] == .int(2))
        try fixture.database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
                version, updated_ms) VALUES (1, 'demo', 0, '300015', 'ben', 'monthly', true, 1, 1000)
            """)
        let his = Self.job("resend_events", ["customer": .string("ben"), "type": .string("EXPIRATION")])
        let customer = try number(fixture.post("/jobs", his))
        #expect(try run(customer).counts.queued == 2)
        #expect(try fixture.database.texts("SELECT target FROM entitled.job WHERE kind = 'customer_resend'") == ["ben"])
        let none = Self.request(["kind": .string("resend_events"), "ids": .strings(["x"])])
        #expect(fixture.post("/jobs", none).status == 400)
    }

    @Test func `a paused endpoint with much in line keeps no job waiting`() throws {
        try make(0..<300, .pending)
        try make(300..<310, .dead)
        let later = SystemClock().now() + 3_600_000
        try fixture.database.execute(
            "UPDATE entitled.endpoint SET paused_until_ms = $1 WHERE id = 'ep_1'", [.int8(later)])
        try fixture.database.execute("UPDATE entitled.delivery SET state = 1 WHERE endpoint = 'ep_2' AND state = 0")
        let job = try number(fixture.post("/jobs", Self.dead))
        var waits = 0
        let done = try JobDriver(job, kinds: BulkWork.kinds).attend(on: worker, rest: { _ in }) { _, isWaiting in
            waits += isWaiting ? 1 : 0
            return waits > 3
        }
        #expect(done.state == .done && done.counts.queued == 20, "\(done)")
    }

    @Test func `a command on the host needs no operator, and no console can pretend to be one`() throws {
        try make(0..<2, .dead)
        let selection = BulkSelection(
            .deliveries(DeliveryQuery.Filter(state: .dead), event: nil), until: SystemClock().now())
        let request = ChangeTable.Request(
            .bulkResend, "deliveries", parameters: selection.json, reason: "down",
            by: ChangeOrigin(user: "root@host", credential: .host, address: "", userAgent: nil),
            idempotencyKey: "k", fingerprint: [UInt8](repeating: 1, count: 32))
        let console = try fixture.database.connect(role: "entitled_console")
        #expect(throws: PostgresError.self) { _ = try ChangeTable.ask(request, on: console) }
        var pretended = request
        pretended = ChangeTable.Request(
            .bulkResend, "deliveries", parameters: selection.json, reason: "down",
            by: ChangeOrigin(user: "operator", credential: .host, address: "", userAgent: nil),
            idempotencyKey: "k", fingerprint: [UInt8](repeating: 1, count: 32))
        #expect(throws: PostgresError.self) { _ = try ChangeTable.ask(pretended, on: console) }
        guard case .asked(let job) = try ChangeTable.ask(request, on: worker) else { throw TestFailure("not asked") }
        #expect(try run(job).counts.queued == 4)
        let entry = fixture.get("/audit?actor=root@host").json["items"]?.arrayValue?.first
        #expect(entry?["outcome"] == .string("done") && entry?["credential"] == .null, "\(entry?.text ?? "")")
        let cancelled = try worker.transaction { try ChangeTable.cancel(job, by: "root@host", on: worker) }
        #expect(cancelled == nil)
    }

    // MARK: - What is in it

    @Test func `what dies after the preview is not in it`() throws {
        try make(0..<5, .dead)
        try make(5..<8, .dead, at: Self.now + 1000)
        let preview = fixture.post("/jobs?preview=true", Self.dead)
        #expect(preview.status == 200 && preview.json["rows"]?["matched"] == .int(10), "\(preview.text)")
        #expect(preview.json["rows"]?["samples"]?.arrayValue?.count == 5)
        #expect(preview.json["rows"]?["is_complete"] == .bool(true))
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
        let plan = try #require(preview.json["plan"]?.stringValue)
        fixture.clock.advance(by: .seconds(60))
        // Without the plan they would be in it.
        #expect(fixture.post("/jobs?preview=true", Self.dead).json["rows"]?["matched"] == .int(16))
        let job = try number(fixture.post("/jobs", Self.dead, headers: ["If-Plan": plan]))
        #expect(try run(job).counts.queued == 10)
        #expect(try count("state = 2") == 6)
    }

    @Test func `a plan is refused once an endpoint was disabled, and after ten minutes`() throws {
        try make(0..<2, .dead)
        let plan = try #require(fixture.post("/jobs?preview=true", Self.dead).json["plan"]?.stringValue)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_1'")
        let changed = fixture.post("/jobs", Self.dead, headers: ["If-Plan": plan])
        #expect(changed.status == 409 && fixture.code(changed) == "changed_meanwhile", "\(changed.text)")
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = NULL")
        let job = try number(fixture.post("/jobs", Self.dead, headers: ["If-Plan": plan]))
        // A worker looks once more.
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_1'")
        #expect(try run(job).state == .failed)
        #expect(try count("job IS NOT NULL") == 0)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = NULL")
        fixture.clock.advance(by: .seconds(601))
        let late = fixture.post("/jobs", Self.dead, headers: ["If-Plan": plan])
        #expect(late.status == 409 && fixture.code(late) == "changed_meanwhile")
        #expect(fixture.post("/jobs", Self.dead, headers: ["If-Plan": "nonsense"]).status == 400)
    }

    // MARK: - Steps

    @Test func `steps are of 500, and a job goes on behind the last that was committed`() throws {
        try make(0..<1200, .dead)
        let job = try number(
            fixture.post("/jobs", Self.job("resend", ["state": .string("dead"), "endpoint": .string("ep_1")])))
        var work = BulkWork()
        let lease = try #require(try JobLease.take(job, driver: [UInt8](repeating: 1, count: 16), on: worker))
        let first = try work.step(lease, on: worker)
        #expect(first.job.counts.queued == 500 && first.job.state == .running)
        // Live traffic goes first: too many are due.
        #expect(try work.step(lease, on: worker).isWaiting)
        #expect(try count("job = \(job)") == 500)
        // A step that is cut off leaves nothing.
        try consume()
        try fixture.database.execute(
            """
            CREATE FUNCTION public.cut_off() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN IF NEW.queued > 500 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NEW; END $$
            """)
        try fixture.database.execute(
            "CREATE TRIGGER cut_off BEFORE UPDATE ON entitled.job FOR EACH ROW EXECUTE FUNCTION public.cut_off()")
        let doomed = try fixture.database.connect(role: "entitled_worker")
        #expect(throws: PostgresError.self) { try work.step(lease, on: doomed) }
        #expect(try count("job = \(job)") == 500)
        try fixture.database.execute("DROP TRIGGER cut_off ON entitled.job")
        try lease.release(on: worker)
        #expect(try run(job).counts == JobCounts(matched: 1200, queued: 1200, skipped: 0))
        #expect(try count("job = \(job) AND round_start = 1") == 1200)
        #expect(try count("round_start > 1 OR attempts > 2") == 0)
    }

    @Test func `a job is cancelled where it is, by its operator or the role operator, and by no other`() throws {
        try make(0..<600, .dead)
        let job = try number(fixture.post("/jobs", Self.dead, as: .integrator))
        var work = BulkWork()
        let lease = try #require(try JobLease.take(job, driver: [UInt8](repeating: 1, count: 16), on: worker))
        _ = try work.step(lease, on: worker)
        let other = try number(fixture.post("/jobs", Self.job("give_up", ["endpoint": .string("ep_9")])))
        #expect(fixture.post("/jobs/\(other)/cancel", Self.request([:]), as: .integrator).status == 404)
        #expect(fixture.post("/jobs/\(job)/cancel", Self.request([:]), as: .support).status == 403)
        let preview = fixture.post("/jobs/\(job)/cancel?preview=true", Self.request([:]), as: .integrator)
        #expect(preview.json["after"]?["state"] == .string("cancelled"), "\(preview.text)")
        let change = ChangeWork(entitlements: [], foldSettings: FoldSettings(), clock: SystemClock())
        let worker = TestThread { [database = fixture.database] in
            let connection = try database.connect(role: "entitled_worker")
            while try change.next(on: connection) == nil {}
        }
        let cancelled = fixture.post("/jobs/\(job)/cancel", Self.request([:]), as: .integrator)
        try worker.value()
        #expect(cancelled.status == 200 && cancelled.json["outcome"]?["queued"] == .int(500), "\(cancelled.text)")
        #expect(throws: JobLease.Lost.self) { try work.step(lease, on: self.worker) }
        let shown = fixture.get("/jobs/\(job)", as: .integrator).json
        #expect(shown["state"] == .string("cancelled") && shown["deliveries"]?["pending"] == .int(500))
        #expect(try count("state = 2") == 700)
        let entry = fixture.get("/audit?kind=bulk_resend").json["items"]?.arrayValue?.first
        #expect(entry?["message"]?.stringValue?.contains("cancelled by integrator") == true)
    }

    @Test func `an operator who lost the role goes no further`() throws {
        try make(0..<600, .dead)
        let job = try number(fixture.post("/jobs", Self.dead, as: .integrator))
        var work = BulkWork()
        let lease = try #require(try JobLease.take(job, driver: [UInt8](repeating: 1, count: 16), on: worker))
        _ = try work.step(lease, on: worker)
        try consume()
        try fixture.database.execute("UPDATE entitled.console_user SET role = 'read' WHERE name = 'integrator'")
        let ended = try work.step(lease, on: worker).job
        #expect(
            ended.state == .failed && ended.error?.contains("may not do this") == true
                || ended.error?.contains("removed") == true)
        #expect(try count("job = \(job)") == 500)
        #expect(
            fixture.get("/audit?kind=bulk_resend").json["items"]?.arrayValue?.first?["outcome"] == .string("refused"))
    }

    // MARK: - Customers

    @Test func `a customer's deliveries are meant by the customer alone, and a deletion ends it`() throws {
        try fixture.database.execute(
            "UPDATE entitled.event SET body = $1", [.bytea(try EventBodyCodec.compress(Array("{}".utf8)))])
        try fixture.database.execute(
            """
            INSERT INTO entitled.delivery (lane, id, endpoint, event, event_type, state, attempts, next_ms, created_ms)
            SELECT lane, encode(substring(sha256(uuid_send(id) || 'ep_1'::bytea) FOR 16), 'hex')::uuid, 'ep_1', id, type,
                2, 1, created_ms, created_ms FROM entitled.event
            """)
        try make(10..<15, .dead)
        fixture.clock.advance(by: .seconds(1))
        let filter = Self.job("resend", ["customer": .string("Anna@home"), "state": .string("dead")])
        let job = try number(fixture.post("/jobs", filter, as: .integrator))
        let stored = try fixture.database.texts(
            "SELECT concat_ws(' ', kind, target, parameters) FROM entitled.job")
        #expect(stored.first?.hasPrefix("customer_resend Anna@home ") == true)
        #expect(stored.first?.dropFirst("customer_resend Anna@home ".count).contains("nna") == false)
        #expect(try run(job).counts == JobCounts(matched: 1, queued: 1, skipped: 0))
        #expect(try count("job = \(job)") == 1)
        // Of the audit no other role learns who it was.
        #expect(fixture.get("/audit?kind=customer_resend", as: .operator).text.contains("Anna@home"))
    }

    // MARK: - What is refused

    @Test func `wrong selections are told what is wrong, and nothing is written`() throws {
        func expect(_ body: JSON, _ code: String, _ field: String, as role: OperatorRole = .operator) {
            for path in ["/jobs", "/jobs?preview=true"] {
                let call = fixture.post(path, body, as: role)
                #expect(call.status == 400 && fixture.code(call) == code, "\(body.text): \(call.text)")
                #expect(call.json["error"]?["field"] == .string(field), "\(call.text)")
            }
        }
        expect(Self.job("resend", ["stat": .string("dead")]), "unknown_parameter", "stat")
        expect(Self.job("resend", ["state": .string("ded")]), "bad_request", "state")
        expect(Self.job("resend", ["limit": .int(5)]), "unknown_parameter", "limit")
        expect(Self.job("resend", ["after": .string("x")]), "unknown_parameter", "after")
        expect(Self.job("resend", ["state": .string("")]), "bad_request", "state")
        expect(Self.job("resend", ["state": .array([])]), "bad_request", "state")
        expect(Self.job("resend", [:]), "bad_request", "filter")
        expect(Self.job("reprocess", ["endpoint": .string("ep_1")]), "unknown_parameter", "endpoint")
        expect(Self.job("delete", ["state": .string("dead")]), "bad_request", "kind")
        expect(Self.request(["kind": .string("resend")]), "bad_request", "filter")
        expect(Self.request(["kind": .string("resend"), "ids": .array([])]), "bad_request", "ids")
        expect(Self.request(["kind": .string("resend"), "ids": .strings(["x"])]), "bad_request", "ids")
        expect(Self.request(["kind": .string("reprocess"), "ids": .strings(["demo/x/1"])]), "bad_request", "ids")
        expect(
            Self.request(["kind": .string("resend"), "ids": .strings((0..<501).map { "dlv_\($0)" })]), "bad_request",
            "ids")
        expect(Self.job("resend", ["state": .string("dead")], ["rate": .int(1)]), "unknown_parameter", "rate")
        #expect(fixture.post("/jobs", Self.job("resend", ["event": .string("x")])).status == 404)
        #expect(fixture.post("/jobs", Self.job("resend", ["customer": .string("nobody-here")])).status == 404)
        for role in [OperatorRole.support, .finance, .read] {
            #expect(fixture.post("/jobs", Self.dead, as: role).status == 403)
        }
        #expect(fixture.post("/jobs", Self.job("reprocess", ["state": .string("held")]), as: .integrator).status == 403)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test func `the same key is the same job`() throws {
        try make(0..<2, .dead)
        let first = fixture.post("/jobs", Self.dead, idempotencyKey: "once")
        let second = fixture.post("/jobs", Self.dead, idempotencyKey: "once")
        #expect(first.json["job"] == second.json["job"] && second.header("idempotent-replayed") == "true")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 1)
    }
}
