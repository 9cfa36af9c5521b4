import Base
import Daemon
import Database
import Duties
import HTTP
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Changes by the operator API over HTTP, done by what a worker does them with.
struct OperatorChangeTests {
    private let fixture: OperatorFixture
    private let work = ChangeWork(
        entitlements: ["pro"], foldSettings: FoldSettings(), clock: ManualClock(OperatorFixture.now))

    init() throws { fixture = try OperatorFixture() }

    /// Does changes as a worker while the body runs.
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

    private func audit(_ query: String = "", as role: OperatorRole = .operator) -> [JSON] {
        fixture.get("/audit\(query)", as: role).json["items"]?.arrayValue ?? []
    }

    private func grants() throws -> Int64 {
        try fixture.database.count("SELECT count(*) FROM entitled.action WHERE kind = 'grant'")
    }

    // MARK: - What is done

    @Test func `a grant is done by a worker, shown with its outcome, and stands in the audit`() throws {
        let answer = try working { fixture.post("/customers/Anna%40home/grants", Self.grant, as: .support) }
        #expect(answer.status == 200, "\(answer.text)")
        let job = try #require(answer.json["job"]?.intValue)
        #expect(answer.header("location") == "/operator/v1/jobs/\(job)")
        #expect(answer.json["state"] == .string("done") && answer.json["outcome"]?["entitlement"] == .string("pro"))
        let customer = fixture.get("/customers/anna").text
        #expect(customer.contains("rc_promo") || customer.contains("promotional"), "\(customer)")
        let shown = fixture.get("/jobs/\(job)").json
        #expect(shown["outcome"]?["entitlement"] == .string("pro") && shown["reason"] == .string("ticket 4711"))
        let entry = try #require(audit("?kind=grant").first)
        #expect(entry["actor"] == .string("support") && entry["outcome"] == .string("done"))
        #expect(entry["job"] == .int(job) && entry["reason"] == .string("ticket 4711"))
        #expect(entry["credential"]?.stringValue?.hasPrefix("key opk_") == true)
        let revoked = try working {
            fixture.post("/customers/anna/grants/revoke", Self.reason(["entitlement": .string("pro")]))
        }
        #expect(revoked.status == 200 && revoked.json["outcome"]?["changed"] == .bool(true), "\(revoked.text)")
    }

    @Test func `a delivery is sent again, and an endpoint is paused, disabled and enabled`() throws {
        let delivery = try #require(
            fixture.get("/deliveries").json["items"]?.arrayValue?.first?["id"]?.stringValue)
        try working {
            let sent = fixture.post("/deliveries/\(delivery)/resends", Self.reason(), as: .integrator)
            #expect(sent.status == 200 && sent.json["target"] == .string(delivery), "\(sent.text)")
            let until = Self.reason(["until": .string("2099-01-01T00:00:00Z")])
            #expect(fixture.post("/endpoints/ep_1/pause", until).status == 200)
            for word in ["disable", "enable"] {
                #expect(fixture.post("/endpoints/ep_1/\(word)", Self.reason(), as: .integrator).status == 200)
            }
        }
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.delivery WHERE state = 0") == 1)
        #expect(audit().count == 4)
    }

    @Test func `the same key and body is the same change, another body is refused`() throws {
        try working {
            let first = fixture.post("/customers/anna/grants", Self.grant, idempotencyKey: "once")
            let second = fixture.post("/customers/anna/grants", Self.grant, idempotencyKey: "once")
            #expect(first.status == 200 && first.header("idempotent-replayed") == nil, "\(first.text)")
            #expect(second.status == 200 && second.header("idempotent-replayed") == "true")
            #expect(first.text == second.text)
            let other = fixture.post(
                "/customers/anna/grants", Self.reason(["entitlement": .string("pro"), "duration": .string("daily")]),
                idempotencyKey: "once")
            #expect(other.status == 409 && fixture.code(other) == "idempotency_mismatch")
            // Another operator's key is another one.
            #expect(
                fixture.post("/customers/ben/grants", Self.grant, as: .support, idempotencyKey: "once").status == 200)
        }
        #expect(try grants() == 2)
    }

    @Test func `a change that was done is repeated, even if it could not be asked for any more`() throws {
        let until = JSON.string("2099-01-01T00:00:00Z")
        let pause = Self.reason(["until": until])
        try working {
            #expect(fixture.post("/endpoints/ep_1/pause", pause, idempotencyKey: "once").status == 200)
            #expect(fixture.post("/customers/anna/grants", Self.grant, idempotencyKey: "two").status == 200)
        }
        try fixture.database.execute("UPDATE entitled.endpoint SET removed_ms = 1")
        try fixture.database.execute("UPDATE entitled.app_user_id SET id = 'gone' WHERE id = 'anna'")
        // The members in another order are the same request.
        let turned = JSON.object(Array((pause.members ?? []).reversed()))
        for (path, body, key) in [
            ("/endpoints/ep_1/pause", turned, "once"), ("/customers/anna/grants", Self.grant, "two"),
        ] {
            let answer = fixture.post(path, body, idempotencyKey: key)
            #expect(answer.status == 200 && answer.header("idempotent-replayed") == "true", "\(answer.text)")
            #expect(fixture.post(path, body, idempotencyKey: "new").status == 404)
        }
        #expect(fixture.post("/endpoints/ep_1/disable", Self.reason(), idempotencyKey: "once").status == 409)
    }

    @Test func `a repetition of what a former program wrote is one`() throws {
        let pause = Self.reason(["until": .string("2099-01-01T00:00:00Z")])
        try working {
            #expect(fixture.post("/endpoints/ep_1/pause", pause, idempotencyKey: "once").status == 200)
        }
        let former = JSON.object([
            "kind": .string("endpoint_pause"), "target": .string("ep_1"),
            "parameters": .object(["until": .int(4_070_908_800_000)]), "reason": .string("ticket 4711"),
        ]).text
        try fixture.database.execute(
            "UPDATE entitled.job SET request_hash = sha256(convert_to($1, 'UTF8'))", [.text(former)])
        let again = fixture.post("/endpoints/ep_1/pause", pause, idempotencyKey: "once")
        #expect(again.status == 200 && again.header("idempotent-replayed") == "true", "\(again.text)")
        for (path, body) in [
            ("/endpoints/ep_1/pause", Self.reason(["until": .string("2099-01-02T00:00:00Z")])),
            ("/endpoints/ep_1/disable", Self.reason()), ("/endpoints/ep_2/disable", Self.reason()),
        ] {
            let other = fixture.post(path, body, idempotencyKey: "once")
            #expect(other.status == 409 && fixture.code(other) == "idempotency_mismatch", "\(path) \(other.text)")
        }
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 1)
    }

    @Test func `an operator who gets a name anew has nothing of the one who had it before`() throws {
        let path = "/customers/anna/grants"
        let asked = try working { fixture.post(path, Self.grant, as: .support, idempotencyKey: "once") }
        let place = try #require(asked.header("location")).replacing("/operator/v1", with: "")
        #expect(fixture.get(place, as: .support).status == 200)
        #expect(audit(as: .support).count == 1)
        try fixture.database.execute(
            """
            UPDATE entitled.console_user SET created_ms = (extract(epoch FROM clock_timestamp()) * 1000)::int8 + 1
            WHERE name = 'support'
            """)
        #expect(fixture.get(place, as: .support).status == 404)
        #expect(fixture.get(place, as: .operator).status == 200)
        #expect(audit(as: .support).isEmpty)
        #expect(audit().count == 1)
        try working {
            let again = fixture.post(path, Self.grant, as: .support, idempotencyKey: "once")
            #expect(again.status == 200 && again.header("idempotent-replayed") == nil, "\(again.text)")
        }
    }

    @Test func `a refusal names a customer who is there, to those who see customers`() throws {
        for id in ["Anna%40home", "former-customer"] {
            #expect(fixture.post("/customers/\(id)/grants", Self.grant, as: .read).status == 403)
        }
        #expect(fixture.post("/endpoints/ep_1/enable", Self.reason(), as: .read).status == 403)
        #expect(
            try fixture.database.texts("SELECT target FROM entitled.audit ORDER BY id") == ["Anna@home", "", "ep_1"])
        #expect(audit().map { $0["target"]?.stringValue } == ["ep_1", "", "Anna@home"])
        // Else the audit would tell which customers there are.
        #expect(audit(as: .read).map { $0["target"]?.stringValue } == ["ep_1", "", ""])
        #expect(audit("?target=Anna%40home", as: .read).isEmpty)
        #expect(audit("?target=Anna%40home").count == 1)
    }

    @Test func `the one who asked for a change sees what became of it, and others do not`() throws {
        let delivery = try #require(
            fixture.get("/deliveries").json["items"]?.arrayValue?.first?["id"]?.stringValue)
        for role in [OperatorRole.support, .integrator] {
            let asked = try working { fixture.post("/deliveries/\(delivery)/resends", Self.reason(), as: role) }
            let path = try #require(asked.header("location")).replacing("/operator/v1", with: "")
            #expect(fixture.get(path, as: role).json["state"] == .string("done"))
            #expect(fixture.get(path, as: .operator).status == 200)
            for other in OperatorRole.allCases where other != role && other != .operator {
                #expect(fixture.get(path, as: other).status == 404)
                #expect(fixture.get("/jobs/99", as: other).status == 404)
            }
        }
    }

    @Test func `two at once under one key are one change`() throws {
        try working {
            let callers = (0..<4).map { _ in
                TestThread { [fixture] in fixture.post("/customers/anna/grants", Self.grant, idempotencyKey: "twice") }
            }
            let answers = try callers.map { try $0.value() }
            #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
            #expect(Set(answers.map { $0.json["job"]?.intValue }).count == 1)
        }
        #expect(try grants() == 1)
    }

    @Test func `without a worker the answer is where to look, and the change is done later`() throws {
        let answer = fixture.post("/customers/anna/grants", Self.grant)
        #expect(answer.status == 202 && answer.json["state"] == .string("running"), "\(answer.text)")
        let path = try #require(answer.header("location")).replacing("/operator/v1", with: "")
        #expect(fixture.get(path).json["state"] == .string("running"))
        try working {
            try eventually("it is done") { fixture.get(path).json["state"] == .string("done") }
        }
    }

    // MARK: - What is not

    @Test func `each role may what it may, and what is refused stands in the audit`() throws {
        let bodies: [ChangeKind: JSON] = [
            .grant: Self.grant, .revoke: Self.reason(["entitlement": .string("pro")]),
            .endpointPause: Self.reason(["until": .string("2099-01-01T00:00:00Z")]),
        ]
        for role in OperatorRole.allCases {
            var refused = 0
            for route in ChangeRoute.all {
                let path = route.path.replacing("/operator/v1", with: "").replacing("{id}", with: "nothing")
                    .replacing("{app}", with: "demo").replacing("{environment}", with: "Production")
                    .replacing("{uuid}", with: "00000000-0000-4000-8000-000000000000")
                let answer = fixture.send(route.method, path, bodies[route.kind] ?? Self.reason(), as: role)
                if route.kind.roles.contains(role) {
                    // A new endpoint and an order are looked for nowhere; without a URL, or a number, it is none.
                    let status = [.endpointAdd, .orderLookup].contains(route.kind) ? 400 : 404
                    #expect(answer.status == status, "\(role) \(path): \(answer.text)")
                } else {
                    #expect(answer.status == 403 && fixture.code(answer) == "forbidden", "\(role) \(path)")
                    #expect(answer.json["error"]?["needs"]?.arrayValue?.isEmpty == false)
                    refused += 1
                    // Not even which members there are.
                    #expect(fixture.send(route.method, path, .string("nonsense"), as: role).status == 403)
                }
            }
            let own = audit("?limit=100", as: role)
            // So many a minute are noted.
            #expect(own.count == min(2 * refused, 30) || role == .operator)
            #expect(own.allSatisfy { $0["actor"] == .string(role.rawValue) } || role == .operator)
            #expect(own.allSatisfy { $0["outcome"] == .string("refused") && $0["job"] == .null })
        }
        #expect(fixture.get("/audit?actor=operator", as: .support).status == 403)
        #expect(fixture.get("/audit?actor=support", as: .support).status == 200)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test func `an operator who is refused again and again does not fill the audit`() {
        for _ in 0..<100 { _ = fixture.post("/endpoints/ep_1/enable", Self.reason(), as: .read) }
        #expect(audit("?limit=100").count <= 60)
    }

    @Test func `a change that a worker refuses is 409 with its reason`() throws {
        let answer = try working {
            fixture.post(
                "/customers/anna/grants", Self.reason(["entitlement": .string("gold"), "duration": .string("daily")]))
        }
        #expect(answer.status == 409 && fixture.code(answer) == "not_done", "\(answer.text)")
        #expect(answer.json["error"]?["job"]?.intValue != nil)
        #expect(audit("?kind=grant").first?["outcome"] == .string("refused"))
    }

    @Test func `wrong requests are told what is wrong, and nothing is written`() throws {
        let path = "/customers/anna/grants"
        func expect(_ answer: HTTPCall, _ status: Int, _ code: String, field: String? = nil) {
            #expect(answer.status == status && fixture.code(answer) == code, "\(answer.text)")
            #expect(answer.json["error"]?["field"]?.stringValue == field, "\(answer.text)")
        }
        expect(fixture.post(path, Self.grant, idempotencyKey: nil), 400, "bad_request", field: "Idempotency-Key")
        for key in ["", "with space", String(repeating: "k", count: 256)] {
            expect(fixture.post(path, Self.grant, idempotencyKey: key), 400, "bad_request", field: "Idempotency-Key")
        }
        for body in [JSON.array([]), .string("x"), .int(1), .null] {
            expect(fixture.post(path, body), 400, "bad_request")
        }
        let pro = JSON.string("pro")
        let cases: [(members: [String: JSON], code: String, field: String)] = [
            (["entitlement": pro], "bad_request", "duration"),
            (["duration": .string("daily")], "bad_request", "entitlement"),
            (["entitlement": .int(1), "duration": .string("daily")], "bad_request", "entitlement"),
            (["entitlement": .string("nope"), "duration": .string("daily")], "bad_request", "entitlement"),
            (["entitlement": pro, "duration": .string("hourly")], "bad_request", "duration"),
            (
                ["entitlement": pro, "duration": .string("daily"), "until": .string("2099-01-01T00:00:00Z")],
                "bad_request", "duration"
            ),
            (["entitlement": pro, "until": .string("2001-01-01T00:00:00Z")], "bad_request", "until"),
            (["entitlement": pro, "until": .string("soon")], "bad_request", "until"),
            (["entitlement": pro, "duration": .string("daily"), "reson": .string("x")], "unknown_parameter", "reson"),
            (["entitlement": pro, "duration": .string("daily"), "reason": .string("")], "bad_request", "reason"),
            (["entitlement": pro, "duration": .string("daily"), "reason": .null], "bad_request", "reason"),
            (
                [
                    "entitlement": pro, "duration": .string("daily"),
                    "reason": .string(String(repeating: "r", count: 1001)),
                ], "bad_request", "reason"
            ),
        ]
        for one in cases { expect(fixture.post(path, Self.reason(one.members)), 400, one.code, field: one.field) }
        let long = Self.reason(["entitlement": .string(String(repeating: "e", count: 17_000))])
        expect(fixture.post(path, long), 413, "body_too_large")
        expect(fixture.post(path + "?preveiw=true", Self.grant), 400, "unknown_parameter", field: "preveiw")
        expect(fixture.post("/customers/nobody%20here/grants", Self.grant), 404, "not_found")
        expect(fixture.post("/deliveries/dlv_1/resends", Self.reason()), 404, "not_found")
        expect(fixture.post("/endpoints/ep_2/enable", Self.reason()), 404, "not_found")
        expect(fixture.post("/notifications/demo/Production/1/reprocess", Self.reason()), 404, "not_found")
        expect(fixture.post(path, Self.grant, headers: ["Origin": "https://example.com"]), 403, "forbidden")
        #expect(fixture.call("GET", "/operator/v1\(path)", key: fixture.keys["operator"]).header("allow") == "POST")
        #expect(fixture.post("/customers", Self.grant).header("allow") == "GET, HEAD")
        #expect(fixture.post("/nothing", Self.grant).status == 404)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test func `the audit is read page by page, by filters`() throws {
        try working {
            for number in 0..<5 {
                let until = Self.reason(["until": .string("2099-01-0\(number + 1)T00:00:00Z")])
                #expect(fixture.post("/endpoints/ep_1/pause", until).status == 200)
            }
            #expect(fixture.post("/customers/anna/grants", Self.grant).status == 200)
        }
        var seen: [Int64] = []
        var after: String?
        repeat {
            let page = fixture.get("/audit?kind=endpoint_pause&limit=2" + (after.map { "&after=\($0)" } ?? "")).json
            seen += (page["items"]?.arrayValue ?? []).compactMap { $0["id"]?.intValue }
            after = page["next"]?.stringValue
        } while after != nil
        #expect(seen.count == 5 && seen == seen.sorted(by: >))
        #expect(audit("?target=anna").count == 1)
        #expect(audit("?since=1h").count == 6 || audit().count == 6)
        #expect(fixture.get("/audit?kind=nonsense").status == 400)
        #expect(fixture.get("/audit?atcor=x").status == 400)
    }
}
