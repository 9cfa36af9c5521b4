import Base
import Crypto
import Customers
import Database
import Duties
import HTTP
import Postgres
import Schemas
import Subscriptions
import TestSupport
import Testing

/// Endpoints and deletions by the operator API.
struct OperatorEndpointTests {
    private let fixture: OperatorFixture
    private let work: ChangeWork
    private let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    private static let url = "https://198.100.1.1/hooks"

    init() throws {
        fixture = try OperatorFixture()
        let sealer = self.sealer
        work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), keys: { sealer }, endpoints: EndpointRules(apps: ["demo"]),
            clock: SystemClock())
        let worker = try fixture.database.connect(role: "entitled_worker")
        try SealingKeyRegister.check(sealer, now: 1, on: worker)
        #expect(try SecretIntake.publish(sealer, on: worker))
    }

    private static func body(_ members: KeyValuePairs<String, JSON?> = [:]) -> JSON {
        .object((JSON.object(members).members ?? []) + [JSON.Member(name: "reason", value: .string("ticket 4711"))])
    }

    /// Asks, while a worker does the next change.
    private func send(
        _ method: String, _ path: String, _ body: JSON, as role: OperatorRole = .integrator,
        key: String = Hex.encode(SecureRandom.bytes(8)), headers: [String: String] = [:]
    ) throws -> HTTPCall {
        let thread = TestThread { [work, database = fixture.database] in
            let connection = try database.connect(role: "entitled_worker")
            let deadline = ContinuousClock.now + .seconds(3)
            while try work.next(on: connection) == nil, .now < deadline {}
        }
        let call = fixture.send(method, path, body, as: role, idempotencyKey: key, headers: headers)
        try thread.value()
        return call
    }

    private func ask(
        _ method: String, _ path: String, _ body: JSON, as role: OperatorRole = .integrator, plan: String? = nil
    ) -> HTTPCall {
        fixture.send(method, path, body, as: role, headers: plan.map { ["If-Plan": $0] } ?? [:])
    }

    private func loaded(_ id: String) throws -> Endpoint? {
        try EndpointTable.load(
            id: id, sealer: sealer, now: OperatorFixture.now, on: fixture.database.connect(role: "entitled_worker")
        ).first
    }

    // MARK: - Endpoints

    @Test func `an endpoint is added, changed, tested and removed, each as it was shown`() throws {
        let wanted = Self.body([
            "url": .string(Self.url), "events": .strings(["RENEWAL", "EXPIRATION"]), "apps": .strings(["demo"]),
            "environments": .strings(["Production"]), "retry_schedule": .string("1m,5m"),
            "authorization": .string("Bearer hunter2"), "headers": .strings(["X-Tenant: topsecret"]),
        ])
        let shown = ask("POST", "/endpoints?preview=true", wanted)
        #expect(shown.json["refusal"] == .null && shown.json["target"] == .string("new"), "\(shown.text)")
        #expect(
            shown.json["after"]?["events"] == .strings(["RENEWAL", "EXPIRATION"]) && !shown.text.contains("hunter2"))
        let plan = try #require(shown.json["plan"]?.stringValue)
        let added = try send("POST", "/endpoints", wanted, key: "add", headers: ["If-Plan": plan])
        let id = try #require(added.json["outcome"]?["endpoint"]?.stringValue, "\(added.text)")
        let secret = try #require(added.json["outcome"]?["secret"]?.stringValue)
        #expect(added.json["target"] == .string(id) && added.header("cache-control") == "no-store")
        #expect(try loaded(id)?.secrets.map(\.text) == [secret])
        #expect(try loaded(id)?.authorization?.exposed == "Bearer hunter2")
        // The same request is the same change, and shows no secret any more.
        let again = ask("POST", "/endpoints", wanted)
        #expect(again.status == 202)
        try fixture.database.execute("DELETE FROM entitled.job WHERE state = 'running'")
        let repeated = fixture.send("POST", "/endpoints", wanted, as: .integrator, idempotencyKey: "add")
        #expect(
            repeated.header("idempotent-replayed") == "true" && repeated.json["outcome"]?["endpoint"] == .string(id))
        #expect(repeated.json["outcome"]?["secret"] == nil, "\(repeated.text)")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.endpoint") == 2)

        let path = "/endpoints/\(id)"
        let change = Self.body([
            "ordering": .string("purchase"), "events": .null, "without_headers": .strings(["x-tenant"]),
        ])
        let before = ask("PATCH", "\(path)?preview=true", change)
        #expect(before.json["before"]?["ordering"] == .string("none"), "\(before.text)")
        #expect(before.json["after"]?["events"] == .strings([]) && before.json["after"]?["headers"] == .strings([]))
        let changed = try send("PATCH", path, change, headers: ["If-Plan": before.json["plan"]?.stringValue ?? ""])
        #expect(changed.status == 200, "\(changed.text)")
        let now = try #require(try loaded(id))
        #expect(now.ordering == .purchase && now.events.isEmpty && now.headers.isEmpty && now.hasAuthorization)
        // What was shown is another one now.
        let stale = ask("PATCH", path, Self.body(["ordering": .string("none")]))
        #expect(stale.status == 202)
        try fixture.database.execute("DELETE FROM entitled.job WHERE state = 'running'")
        let late = fixture.send(
            "PATCH", path, change, as: .integrator, headers: ["If-Plan": before.json["plan"]?.stringValue ?? ""])
        #expect(late.status == 400 || fixture.code(late) == "changed_meanwhile", "\(late.text)")

        #expect(ask("POST", "\(path)/test?preview=true", Self.body()).json["webhooks"]?.arrayValue?.count == 1)
        let tested = try send("POST", "\(path)/test", Self.body())
        #expect(tested.json["outcome"]?["event"]?.stringValue != nil, "\(tested.text)")
        let loss = ask("DELETE", "\(path)?preview=true", Self.body())
        #expect(loss.json["after"]?["state"] == .string("removed"), "\(loss.text)")
        #expect(loss.json["after"]?["given_up_by_this"]?["value"] == .int(1))
        let removed = try send("DELETE", path, Self.body())
        #expect(removed.json["outcome"]?["state"] == .string("removed"), "\(removed.text)")
        #expect(try loaded(id) == nil && ask("DELETE", path, Self.body()).status == 404)
        for answer in [
            fixture.get("/jobs"), fixture.get("/audit"), fixture.get("/jobs/\(added.json["job"]?.intValue ?? 0)"),
        ] {
            for part in ["hunter2", "topsecret", secret, "sealed", "given"] { #expect(!answer.text.contains(part)) }
        }
        #expect(!fixture.log.text.contains("hunter2") && !fixture.log.text.contains(secret))
    }

    @Test func `an endpoint takes a secret that its consumer has already, which no answer and no row shows`() throws {
        let added = try send("POST", "/endpoints", Self.body(["url": .string(Self.url)]))
        let id = try #require(added.json["outcome"]?["endpoint"]?.stringValue, "\(added.text)")
        let path = "/endpoints/\(id)/rotate-secret"
        let secret = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 24))
        let body = Self.body(["secret": .string(secret), "overlap": .string("0s")])
        let shown = ask("POST", "\(path)?preview=true", body)
        #expect(shown.json["after"]?["secrets"] == .strings(["secret"]), "\(shown.text)")
        let plan = try #require(shown.json["plan"]?.stringValue)
        // A plan with one that is given is no plan to make one.
        let other = ask("POST", path, Self.body(["overlap": .string("0s")]), plan: plan)
        #expect(fixture.code(other) == "changed_meanwhile", "\(other.text)")
        let done = try send("POST", path, body, key: "rotate", headers: ["If-Plan": plan])
        #expect(done.status == 200 && done.json["outcome"]?["secret"] == nil, "\(done.text)")
        #expect(try loaded(id)?.secrets.map(\.text) == [secret])
        let again = fixture.send("POST", path, body, as: .integrator, idempotencyKey: "rotate")
        #expect(again.header("idempotent-replayed") == "true", "\(again.text)")
        let rows = try fixture.database.texts(
            "SELECT row_to_json(j)::text FROM entitled.job j UNION ALL SELECT row_to_json(a)::text FROM entitled.audit a"
        )
        let answers = [shown, done, again, fixture.get("/jobs"), fixture.get("/audit")].map(\.text)
        for text in rows + answers + [fixture.log.text] { #expect(!text.contains(secret), "\(text)") }
        for wrong in ["whsec_x", "x"] {
            let call = ask("POST", path, Self.body(["secret": .string(wrong)]))
            #expect(call.status == 400 && call.json["error"]?["field"] == .string("secret"), "\(call.text)")
            #expect(!call.text.contains(wrong + "\""))
        }
    }

    @Test func `the body alone says what of secrets is given: no hash of it is kept`() throws {
        func hash(_ authorization: String) throws -> [UInt8]? {
            try hash("/endpoints", ["url": .string(Self.url), "authorization": .string(authorization)], authorization)
        }
        func hash(_ path: String, _ members: KeyValuePairs<String, JSON?>, _ authorization: String) throws -> [UInt8]? {
            #expect(ask("POST", path, Self.body(members)).status == 202)
            let rows = try fixture.database.connect().query("SELECT request_hash, parameters FROM entitled.job")
            let row = try rows.one()
            #expect(try !row.text("parameters").contains(authorization))
            try fixture.database.execute("DELETE FROM entitled.job")
            return try row.optionalBytes("request_hash")
        }
        #expect(try hash("Bearer one") == hash("Bearer two"))
        func rotation(_ byte: UInt8) throws -> [UInt8]? {
            let secret = "whsec_" + Base64.encode([UInt8](repeating: byte, count: 24))
            return try hash("/endpoints/ep_1/rotate-secret", ["secret": .string(secret)], secret)
        }
        #expect(try rotation(1) == rotation(2))
    }

    @Test func `each wrong member is named, and nothing is asked of a worker`() throws {
        let long = String(repeating: "x", count: 300)
        let wrong: [(KeyValuePairs<String, JSON?>, String)] = [
            ([:], "url"), (["url": .string("ftp://x")], "url"), (["url": .string("javascript:alert(1)")], "url"),
            (["url": .string("https://a b")], "url"), (["url": .int(1)], "url"),
            (["url": .string(Self.url), "events": .strings(["renewal"])], "events"),
            (["url": .string(Self.url), "events": .strings([long])], "events"),
            (["url": .string(Self.url), "events": .strings(["TEST", "TEST"])], "events"),
            (["url": .string(Self.url), "events": .object(["a": .int(1)])], "events"),
            (["url": .string(Self.url), "apps": .strings(["none"])], "apps"),
            (["url": .string(Self.url), "environments": .strings(["Xcode"])], "environments"),
            (["url": .string(Self.url), "format": .string("xml")], "format"),
            (["url": .string(Self.url), "ordering": .string("x")], "ordering"),
            (["url": .string(Self.url), "include": .string("x")], "include"),
            (["url": .string(Self.url), "retry_schedule": .string("1ms")], "retry_schedule"),
            (["url": .string(Self.url), "headers": .strings(["Host: x"])], "headers"),
            (["url": .string(Self.url), "headers": .strings(["X-A: b\r\nX-C: d"])], "headers"),
            (["url": .string(Self.url), "headers": .strings(["X-A: a", "x-a: b"])], "headers"),
            (["url": .string(Self.url), "authorization": .string("a\r\nb: c")], "authorization"),
            (["url": .string(Self.url), "secret": .string("whsec_x")], "secret"),
            (["url": .string(Self.url), "without_headers": .strings(["X-A"])], "without_headers"),
            (["url": .string(Self.url), "since": .string("when")], "since"),
            (
                ["url": .string(Self.url), "events": .strings(["TEST"]), "excepted_events": .strings(["RENEWAL"])],
                "excepted_events"
            ),
        ]
        for (members, field) in wrong {
            let call = ask("POST", "/endpoints", Self.body(members))
            #expect(call.status == 400 && call.json["error"]?["field"] == .string(field), "\(members): \(call.text)")
            for part in ["X-C", "whsec_x"] { #expect(!call.text.contains(part)) }
        }
        #expect(ask("PATCH", "/endpoints/ep_1", Self.body()).status == 400)
        #expect(ask("PATCH", "/endpoints/ep_1", Self.body(["ordering": .string("none")])).status == 400)
        #expect(ask("PATCH", "/endpoints/none", Self.body(["ordering": .string("purchase")])).status == 404)
        #expect(ask("PATCH", "/endpoints/ep_1", Self.body(["without_headers": .strings(["X-A"])])).status == 400)
        #expect(ask("DELETE", "/endpoints/we_operations", Self.body()).status == 400)
        #expect(ask("POST", "/endpoints/none/test", Self.body()).status == 404)
        let unreasoned = fixture.send("DELETE", "/endpoints/ep_1", .object([JSON.Member]()), as: .integrator)
        #expect(unreasoned.status == 400 && unreasoned.json["error"]?["field"] == .string("reason"))
        let refused = ask("POST", "/endpoints?preview=true", Self.body(["url": .string("https://127.0.0.1/")]))
        #expect(refused.json["refusal"]?.stringValue?.contains("not public") == true, "\(refused.text)")
        let big = (0..<64).map { "X-\($0): \(String(repeating: "a", count: 180))" }
        let tooBig = ask("POST", "/endpoints", Self.body(["url": .string(Self.url), "headers": .strings(big)]))
        #expect([400, 413].contains(tooBig.status), "\(tooBig.text)")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test(arguments: OperatorRole.allCases)
    func `integrators and operators change endpoints, and operators delete customers`(role: OperatorRole) throws {
        let isOne = role == .integrator || role == .operator
        let calls = [
            ask("POST", "/endpoints?preview=true", Self.body(["url": .string(Self.url)]), as: role),
            ask("PATCH", "/endpoints/ep_1?preview=true", Self.body(["ordering": .string("purchase")]), as: role),
            ask("DELETE", "/endpoints/ep_1?preview=true", Self.body(), as: role),
            ask("POST", "/endpoints/ep_1/test?preview=true", Self.body(), as: role),
        ]
        for call in calls { #expect(call.status == (isOne ? 200 : 403), "\(role): \(call.text)") }
        let deletion = ask("DELETE", "/customers/anna?preview=true", Self.body(), as: role)
        #expect(deletion.status == (role == .operator ? 200 : 403), "\(deletion.text)")
        // A refusal says no more to one who may not than that they may not.
        if !isOne {
            #expect(ask("PATCH", "/endpoints/none", Self.body(["x": .int(1)]), as: role).status == 403)
            #expect(try fixture.database.count("SELECT count(*) FROM entitled.audit WHERE outcome = 'refused'") == 6)
        }
    }

    @Test func `an older schema is told, and keeps nothing from being read`() throws {
        let former = try #require(Schemas.migrations.first { $0.version == 43 })
        try fixture.database.execute("ALTER TABLE entitled.sealing_key DROP COLUMN intake_key")
        try fixture.database.connect().execute(script: former.sql)
        let calls = [
            ask("POST", "/endpoints", Self.body(["url": .string(Self.url)])),
            ask("POST", "/endpoints", Self.body(["url": .string(Self.url), "authorization": .string("Bearer x")])),
            ask("PATCH", "/endpoints/ep_1", Self.body(["ordering": .string("purchase")])),
            ask("DELETE", "/endpoints/ep_1", Self.body()), ask("POST", "/endpoints/ep_1/test", Self.body()),
            ask("DELETE", "/customers/anna", Self.body(), as: .operator),
        ]
        for call in calls {
            #expect(call.status == 503 && call.text.contains("run `entitled migrate`"), "\(call.text)")
        }
        #expect(ask("DELETE", "/customers/anna", Self.body(), as: .read).status == 403)
        #expect(fixture.get("/endpoints").status == 200)
        // Workers go on with what they know.
        let worker = try fixture.database.connect(role: "entitled_worker")
        #expect(try !SecretIntake.publish(sealer, on: worker))
        #expect(try send("POST", "/endpoints/ep_1/disable", Self.body()).status == 200)
    }

    @Test func `secrets wait for a worker that says what they are sealed to`() throws {
        try fixture.database.execute("UPDATE entitled.sealing_key SET intake_key = NULL")
        let call = ask(
            "POST", "/endpoints", Self.body(["url": .string(Self.url), "authorization": .string("Bearer x")]))
        #expect(call.status == 503 && call.text.contains("No worker has noted yet"), "\(call.text)")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    // MARK: - Deletions

    @Test func `a deletion is counted before, and done by the id as it is alone`() throws {
        try fixture.sign()
        let path = "/customers/anna"
        let shown = ask("DELETE", "\(path)?preview=true", Self.body(), as: .operator)
        let before = shown.json["before"]
        #expect(before?["id_count"] == .int(2) && before?["attributes"]?["value"] == .int(1), "\(shown.text)")
        #expect(before?["purchases"]?["value"] == .int(1) && before?["entitlements"] != nil)
        #expect(shown.json["after"]?["purchases"]?["value"] == .int(1) && shown.json["webhooks"] == .array([]))
        let erasing = Self.body(["policy": .string("erase")])
        let erased = ask("DELETE", "\(path)?preview=true", erasing, as: .operator)
        #expect(erased.json["after"]?["purchases"]?["value"] == .int(0))
        for id in ["ANNA", OperatorFixture.otid, "nobody", "%20", "anna%00"] {
            #expect(ask("DELETE", "/customers/\(id)", Self.body(), as: .operator).status == 404, "\(id)")
        }
        #expect(ask("DELETE", path, Self.body(["policy": .string("all")]), as: .operator).status == 400)
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
        // One plan is not that of the other way.
        let plan = try #require(shown.json["plan"]?.stringValue)
        let other = fixture.send("DELETE", path, erasing, as: .operator, headers: ["If-Plan": plan])
        #expect(fixture.code(other) == "changed_meanwhile", "\(other.text)")
        let done = try send("DELETE", path, Self.body(), as: .operator, key: "d", headers: ["If-Plan": plan])
        #expect(done.status == 200 && done.json["outcome"]?["id_count"] == .int(2), "\(done.text)")
        #expect(fixture.get(path).status == 404)
        let again = fixture.send("DELETE", path, Self.body(), as: .operator, idempotencyKey: "d")
        #expect(again.status == 200 && again.header("idempotent-replayed") == "true", "\(again.text)")
        let worker = try fixture.database.connect(role: "entitled_worker")
        let erasure = CustomerErasure(foldSettings: FoldSettings())
        while try erasure.step(on: worker) {}
        let late = fixture.send("DELETE", path, Self.body(), as: .operator, idempotencyKey: "d")
        #expect(late.status == 409 && fixture.code(late) == "idempotency_mismatch", "\(late.text)")
        for list in ["/audit", "/jobs"] { #expect(!fixture.get(list).text.contains("anna"), "\(list)") }
    }
}
