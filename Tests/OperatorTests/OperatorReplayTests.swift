import Base
import Crypto
import Database
import Duties
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Replays by the operator API, done by what `entitled replay` does them with.
struct OperatorReplayTests {
    private let fixture: BulkFixture
    private var scene: OperatorFixture { fixture.scene }
    private static let now = BulkFixture.now

    init() throws { fixture = try BulkFixture() }

    private static func webhooks(_ filter: [String: JSON] = [:], _ more: [String: JSON] = [:]) -> JSON {
        let base: [String: JSON] = ["endpoint": .string("ep_1"), "since": .string("7d")]
        let all = base.merging(filter) { _, given in given }.filter { $0.value != .null }
        return BulkFixture.request(
            more.merging(["kind": .string("replay_webhooks"), "filter": BulkFixture.object(all)]) { given, _ in given })
    }

    private static func history(_ filter: [String: JSON] = [:], _ more: [String: JSON] = [:]) -> JSON {
        let base: [String: JSON] = ["app": .string("demo"), "since": .string("7d")]
        let all = base.merging(filter) { _, given in given }.filter { $0.value != .null }
        return BulkFixture.request(
            more.merging(["kind": .string("replay_history"), "filter": BulkFixture.object(all)]) { given, _ in given })
    }

    private func run(_ number: Int64) throws -> Job {
        try JobDriver(number, kinds: WebhookReplayWork.kinds).attend(on: fixture.worker, rest: { _ in }) {
            _, isWaiting in
            if isWaiting { try fixture.consume() }
            return false
        }
    }

    private func refused(_ body: JSON, _ field: String?, _ sourceLocation: SourceLocation = #_sourceLocation) {
        for path in ["/jobs", "/jobs?preview=true"] {
            let call = scene.post(path, body)
            #expect(call.status == 400, "\(body.text): \(call.text)", sourceLocation: sourceLocation)
            if let field {
                #expect(call.json["error"]?["field"] == .string(field), "\(call.text)", sourceLocation: sourceLocation)
            }
        }
    }

    // MARK: - Webhooks

    @Test func `the preview counts what the dry run counts, and the job sends that, with its outcome and audit`() throws
    {
        try fixture.make(0..<30, .dead)
        try fixture.make(30..<35, .delivered)
        try fixture.make(35..<38, .pending)
        let replay = WebhookReplay(
            endpoint: "ep_1", mode: .failed, since: Self.now - 7 * 86_400_000, until: Self.now, types: [])
        let dry = try #require(try WebhookReplayCount.count(replay, on: fixture.worker))
        let preview = scene.post("/jobs?preview=true", Self.webhooks()).json
        let rows = preview["rows"] ?? .null
        #expect(rows["would_queue"] == .int(dry.queued) && rows["matched"] == .int(dry.matched) && dry.queued == 30)
        #expect(rows["is_complete"] == .bool(true) && rows["samples"]?.arrayValue?.count == 5, "\(preview.text)")
        #expect(rows["by_endpoint"] == .object(["ep_1": .int(30)]) && preview["target"] == .string("ep_1"))
        let job = try fixture.ask(Self.webhooks(), plan: preview["plan"]?.stringValue)
        let done = try run(job)
        #expect(done.state == .done && done.counts == JobCounts(matched: 30, queued: 30, skipped: 0), "\(done)")
        #expect(try fixture.count("endpoint = 'ep_1' AND job = \(job)") == 30)
        // What is due of one lane is fetched in shares.
        for _ in 0..<4 { try fixture.consume() }
        let shown = scene.get("/jobs/\(job)").json
        #expect(
            shown["outcome"]?["queued"] == .int(30) && shown["deliveries"]?["delivered"] == .int(30), "\(shown.text)")
        let entry = scene.get("/audit?kind=replay_webhooks").json["items"]?.arrayValue?.first
        #expect(
            entry?["outcome"] == .string("done") && entry?["target"] == .string("ep_1") && entry?["job"] == .int(job))
        // It is among the replays, as those of commands are.
        #expect(try JobTable.list(atMost: 5, on: fixture.worker).map(\.id) == [job])
    }

    @Test func `missing events are counted and sent, and a disabled endpoint is told before and after`() throws {
        try fixture.make(0..<4, .delivered)
        try fixture.database.execute("DELETE FROM entitled.delivery WHERE endpoint = 'ep_2'")
        let body = Self.webhooks(["endpoint": .string("ep_2"), "mode": .string("missing")], ["rate": .int(10_000)])
        #expect(scene.post("/jobs?preview=true", body).json["rows"]?["would_queue"] == .int(4))
        let job = try fixture.ask(body)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_2'")
        let failed = try run(job)
        #expect(failed.state == .failed && failed.error?.hasPrefix("Endpoint ep_2 is disabled") == true, "\(failed)")
        #expect(try fixture.count("endpoint = 'ep_2'") == 0)
        #expect(scene.post("/jobs?preview=true", body).json["refusal"]?.stringValue?.contains("disabled") == true)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = NULL")
        #expect(try run(fixture.ask(body)).counts.queued == 4)
    }

    @Test func `an endpoint that was changed since the preview refuses the replay, also while that waits`() throws {
        try fixture.make(0..<4, .dead)
        let body = Self.webhooks()
        let shown = try fixture.plan(body)
        try fixture.database.execute("UPDATE entitled.endpoint SET apps = '{other}' WHERE id = 'ep_1'")
        #expect(scene.post("/jobs", body, headers: ["If-Plan": shown]).status == 409)
        try fixture.database.execute("UPDATE entitled.endpoint SET apps = '{}' WHERE id = 'ep_1'")
        let job = try fixture.ask(body, plan: shown)
        try fixture.make(100..<400, .pending)
        let lease = try fixture.lease(job)
        var runner: any JobRunner = WebhookReplayWork()
        let waiting = try runner.step(lease, on: fixture.worker)
        #expect(waiting.isWaiting && waiting.job.cursor == [], "\(waiting.job)")
        try fixture.database.execute("UPDATE entitled.endpoint SET apps = '{other}' WHERE id = 'ep_1'")
        try fixture.database.execute("DELETE FROM entitled.delivery WHERE state = 0")
        let ended = try runner.step(lease, on: fixture.worker).job
        #expect(ended.state == .failed && ended.error == ChangeVersions.changed, "\(ended)")
        #expect(try fixture.count("state = 0") == 0)
    }

    @Test func `what cannot be read is refused, and nothing of it is left out`() throws {
        refused(Self.webhooks(["since": .null]), "since")
        for since in ["9999-12-31", "1960-01-01", "-infinity", "infinity", "NULL"] {
            refused(Self.webhooks(["since": .string(since)]), "since")
            refused(Self.history(["since": .string(since)]), "since")
        }
        refused(Self.webhooks(["since": .int(-1)]), "since")
        refused(Self.webhooks(["until": .string("1970-01-02")]), "until")
        refused(Self.webhooks(["endpoint": .string("none")]), "endpoint")
        refused(Self.webhooks(["mode": .string("everything")]), "mode")
        #expect(scene.post("/jobs", Self.webhooks(["since": .null, "outage": .string("7")])).status == 404)
        for type in [
            ",", "RENEWAL,", ",RENEWAL", "RENEWAL,,EXPIRATION", "RENEWAL, EXPIRATION", "RENEWAL,RENEWAL", "NOPE",
        ] {
            refused(Self.webhooks(["type": .string(type)]), "type")
        }
        refused(Self.webhooks(["type": .string("")]), "type")
        refused(Self.webhooks(["state": .string("dead")]), "state")
        for rate in [0, -1, 10_001] { refused(Self.webhooks([:], ["rate": .int(Int64(rate))]), "rate") }
        refused(Self.webhooks([:], ["dry_run": .bool(true)]), "dry_run")
        refused(BulkFixture.request(["kind": .string("replay_webhooks"), "ids": .strings(["a"])]), "ids")
        // Without server_api the history cannot be read.
        refused(Self.history(), "app")
        refused(Self.history(["app": .string("other")]), "app")
        refused(BulkFixture.job("outage_look", ["outage": .string("x")]), "outage")
        #expect(scene.post("/jobs", BulkFixture.job("outage_look", ["outage": .int(7)])).status == 400)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test func `only the role operator asks for replays`() {
        for body in [Self.webhooks(), Self.history(), BulkFixture.job("outage_look", ["outage": .int(7)])] {
            for role in OperatorRole.allCases where role != .operator {
                #expect(scene.post("/jobs", body, as: role).status == 403, "\(role) \(body.text)")
            }
        }
    }

    // MARK: - Jobs that something else wrote

    private func forge(_ kind: ChangeKind, _ target: String, _ parameters: [String: JSON]) throws -> Int64 {
        let request = ChangeTable.Request(
            kind, target, parameters: BulkFixture.object(parameters), reason: "down",
            by: ChangeOrigin(user: "operator", credential: .session("cs_1"), address: "203.0.113.7", userAgent: nil),
            idempotencyKey: Hex.encode(SecureRandom.bytes(8)), fingerprint: [UInt8](repeating: 1, count: 32))
        let answer = try ChangeTable.ask(request, on: try fixture.database.connect(role: "entitled_console"))
        guard case .asked(let id) = answer else { throw TestFailure("\(answer)") }
        return id
    }

    @Test func `a worker refuses what the console's role wrote otherwise than the desk does`() throws {
        try fixture.make(0..<3, .dead)
        let right: [String: JSON] = [
            "endpoint": .string("ep_1"), "mode": .string("failed"), "since_ms": .int(1000), "until_ms": .int(Self.now),
            "types": .array([]),
        ]
        func ending(_ target: String, _ changed: [String: JSON]) throws -> String? {
            let job = try run(try forge(.replayWebhooks, target, right.merging(changed) { _, new in new }))
            #expect(job.state == .failed, "\(changed)")
            return job.error
        }
        #expect(try ending("ep_2", [:])?.contains("and not its target") == true)
        let unreadable: [[String: JSON]] = [
            ["since_ms": .null], ["since_ms": .string("-infinity")], ["since_ms": .int(-1)], ["since_ms": .int(.max)],
            ["until_ms": .string("infinity")], ["until_ms": .int(.min)], ["types": .string("")],
            ["types": .array([.int(1)])], ["mode": .string("")],
            ["mode": .string("missing"), "missed_from_ms": .int(1)],
            ["missed_from_ms": .int(1), "missed_until_ms": .int(2)],
            ["mode": .string("missing"), "missed_from_ms": .int(2), "missed_until_ms": .int(2)],
        ]
        for changed in unreadable {
            #expect(try ending("ep_1", changed)?.contains("cannot be read") == true, "\(changed)")
        }
        let future = try ending("ep_1", ["since_ms": .int(253_402_300_000_000), "until_ms": .null])
        #expect(future == "Its period has not begun.")
        #expect(try fixture.count("state = 0") == 0)
        // A rate is clamped, whoever wrote it.
        for (kind, most) in [(ChangeKind.replayWebhooks, 10_000), (.replayHistory, 50), (.outageLook, 50)] {
            let wild = try forge(kind, "x", ["rate": .int(.max)])
            #expect(try JobTable.find(wild, on: fixture.worker)?.rate == most)
            let none = try forge(kind, "y", ["rate": .int(-5)])
            #expect(try JobTable.find(none, on: fixture.worker)?.rate == 1)
        }
        #expect(try run(try forge(.replayWebhooks, "ep_1", right)).counts.queued == 3)
    }

    @Test func `the operator who is removed has no more of it sent, and the one who asked cancels it`() throws {
        try fixture.make(0..<3, .dead)
        let job = try fixture.ask(Self.webhooks())
        #expect(scene.post("/jobs/\(job)/cancel", BulkFixture.request()).status == 202)
        let work = ChangeWork(entitlements: [], foldSettings: FoldSettings(), clock: SystemClock())
        #expect(try work.next(on: fixture.worker)?.ending.outcome == .done)
        #expect(try JobTable.find(job, on: fixture.worker)?.state == .cancelled)
        let second = try fixture.ask(Self.webhooks())
        #expect(try ConsoleUserTable.remove("operator", now: 2, on: fixture.worker))
        #expect(try run(second).error?.contains("was removed") == true)
        #expect(try fixture.count("state = 0") == 0)
    }
}
