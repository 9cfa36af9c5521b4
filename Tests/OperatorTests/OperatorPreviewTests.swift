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

/// Previews of changes, and plans that changes insist on.
struct OperatorPreviewTests {
    private let fixture: OperatorFixture
    private let work = ChangeWork(
        entitlements: ["pro"], foldSettings: FoldSettings(), clock: ManualClock(OperatorFixture.now))

    init() throws { fixture = try OperatorFixture() }

    private func working<Result>(_ body: () throws -> Result) throws -> Result {
        let isOver = Monitor(false)
        let worker = TestThread { [work, database = fixture.database] in
            let connection = try database.connect(role: "entitled_worker")
            while !isOver.read({ $0 }) {
                if try work.next(on: connection) == nil {
                    _ = isOver.wait(timeout: .milliseconds(20)) { $0 ? true : nil }
                }
            }
        }
        defer { isOver.change { $0 = true } }
        let result = try body()
        isOver.change { $0 = true }
        try worker.value()
        return result
    }

    private static func reason(_ members: [String: JSON] = [:]) -> JSON {
        .object(
            (members.merging(["reason": .string("ticket 4711")]) { given, _ in given }).sorted { $0.key < $1.key }
                .map { JSON.Member(name: $0.key, value: $0.value) })
    }

    private static let grant = reason(["entitlement": .string("pro"), "duration": .string("monthly")])

    private func types(_ preview: HTTPCall) -> [String] {
        preview.json["webhooks"]?.arrayValue?.compactMap { $0["type"]?.stringValue } ?? []
    }

    // MARK: - What is shown

    @Test func `a grant is shown before and after, with its webhooks, as it comes out then`() throws {
        let path = "/customers/anna/grants"
        let preview = fixture.post("\(path)?preview=true", Self.grant, as: .support, idempotencyKey: nil)
        #expect(preview.status == 200, "\(preview.text)")
        #expect(preview.json["before"]?["active"] == .bool(false) && preview.json["after"]?["active"] == .bool(true))
        #expect(preview.json["refusal"] == .null && preview.json["kind"] == .string("grant"))
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.audit") == 0)
        let shown = types(preview)
        #expect(!shown.isEmpty)
        #expect(preview.json["webhooks"]?.arrayValue?.first?["endpoints"] == .strings(["ep_1"]))
        let before = try fixture.database.count("SELECT count(*) FROM entitled.event")
        try working { #expect(fixture.post(path, Self.grant, as: .support).status == 200) }
        let made = try fixture.database.texts(
            "SELECT type FROM entitled.event WHERE app = '$promotional' ORDER BY created_ms")
        #expect(made == shown)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.event") == before + Int64(shown.count))
        // The same again is a repetition; to take it back has its webhooks.
        let revoke = "/customers/anna/grants/revoke"
        let back = fixture.post("\(revoke)?preview=true", Self.reason(["entitlement": .string("pro")]))
        #expect(back.json["after"]?["active"] == .bool(false), "\(back.text)")
        let revoked = types(back)
        try working {
            #expect(fixture.post(revoke, Self.reason(["entitlement": .string("pro")])).status == 200)
        }
        let all = try fixture.database.texts(
            "SELECT type FROM entitled.event WHERE app = '$promotional' ORDER BY created_ms, sequence")
        #expect(all == made + revoked)
    }

    @Test func `a delivery, an endpoint and an event are shown as they will be`() throws {
        let delivery = try #require(
            fixture.get("/deliveries").json["items"]?.arrayValue?.first?["id"]?.stringValue)
        let sent = fixture.post("/deliveries/\(delivery)/resends?preview=true", Self.reason(), as: .integrator)
        #expect(sent.json["before"]?["state"] == .string("delivered"), "\(sent.text)")
        #expect(sent.json["after"]?["state"] == .string("pending"))
        #expect(sent.json["webhooks"]?.arrayValue?.first?["endpoints"] == .strings(["ep_1"]))
        let disabled = fixture.post("/endpoints/ep_1/disable?preview=true", Self.reason(), as: .integrator)
        #expect(disabled.json["before"]?["disabled_reason"] == .null, "\(disabled.text)")
        #expect(disabled.json["after"]?["disabled_reason"] == .string("by an operator"))
        let until = Self.reason(["until": .string("2099-01-01T00:00:00Z")])
        let paused = fixture.post("/endpoints/ep_1/pause?preview=true", until, as: .integrator)
        #expect(paused.json["after"]?["paused_until"]?.stringValue?.hasPrefix("2099-01-01") == true)
        try fixture.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x'")
        let refused = fixture.post("/deliveries/\(delivery)/resends?preview=true", Self.reason())
        #expect(refused.json["refusal"]?.stringValue?.contains("is disabled (x)") == true, "\(refused.text)")
        #expect(refused.json["webhooks"] == .array([]))
    }

    @Test func `previews are refused as the change would be, and take no other parameter`() throws {
        let path = "/customers/anna/grants"
        #expect(fixture.post("\(path)?preview=true", Self.grant, as: .read).status == 403)
        #expect(fixture.post("/customers/none/grants?preview=true", Self.grant).status == 404)
        #expect(fixture.post("\(path)?preview=true", Self.reason(["entitlement": .string("pro")])).status == 400)
        for query in ["preveiw=true", "preview=yes", "limit=1"] {
            #expect(fixture.post("\(path)?\(query)", Self.grant).status == 400, "\(query)")
        }
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    // MARK: - Plans

    @Test func `a change that insists on a plan is done while nothing was changed, and only then`() throws {
        let (path, body) = ("/customers/anna/grants", Self.grant)
        func plan(_ path: String, _ body: JSON) throws -> [String: String] {
            ["If-Plan": try #require(fixture.post("\(path)?preview=true", body).json["plan"]?.stringValue)]
        }
        let (first, second) = (try plan(path, body), try plan("/endpoints/ep_1/disable", Self.reason()))
        try working {
            // A plan of another request.
            #expect(fixture.code(fixture.post(path, body, headers: second)) == "changed_meanwhile")
            #expect(fixture.post(path, body, idempotencyKey: "k1", headers: first).status == 200)
            // Repeated it is the same change, whatever the plan says now.
            let again = fixture.post(path, body, idempotencyKey: "k1", headers: first)
            #expect(again.status == 200 && again.header("idempotent-replayed") == "true", "\(again.text)")
            let changed = fixture.post(path, body, headers: first)
            #expect(changed.status == 409 && fixture.code(changed) == "changed_meanwhile", "\(changed.text)")
            #expect(fixture.post("/endpoints/ep_1/disable", Self.reason(), headers: second).status == 200)
            #expect(fixture.post("/endpoints/ep_1/disable", Self.reason(), headers: second).status == 409)
        }
        fixture.clock.advance(by: .seconds(5))
        let third = try plan("/endpoints/ep_1/enable", Self.reason())
        fixture.clock.advance(by: .seconds(600))
        #expect(
            fixture.code(fixture.post("/endpoints/ep_1/enable", Self.reason(), headers: third)) == "changed_meanwhile")
        #expect(fixture.post("/endpoints/ep_1/enable", Self.reason(), headers: ["If-Plan": "x"]).status == 400)
    }

    @Test func `a worker does nothing whose rows were changed after it was asked for`() throws {
        let body = Self.reason()
        let preview = fixture.post("/endpoints/ep_1/disable?preview=true", body)
        let plan = try #require(preview.json["plan"]?.stringValue)
        let caller = TestThread { [fixture] in
            fixture.post("/endpoints/ep_1/disable", body, headers: ["If-Plan": plan])
        }
        try eventually("it is asked for") { try fixture.database.count("SELECT count(*) FROM entitled.job") == 1 }
        try fixture.database.execute("UPDATE entitled.endpoint SET paused_until_ms = 7")
        let answer = try working { try caller.value() }
        #expect(answer.status == 409 && fixture.code(answer) == "changed_meanwhile", "\(answer.text)")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.endpoint WHERE disabled_reason IS NULL") == 1)
    }
}
