import Base
import Crypto
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// What operators tell Apple and consumers: answers about refunds, extensions, secrets; and how much a change would move.
struct OperatorSellerTests {
    private let fixture: OperatorFixture
    private let work: ChangeWork

    init() throws {
        fixture = try OperatorFixture()
        let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
        work = ChangeWork(
            entitlements: [], foldSettings: FoldSettings(), refundApps: ["demo"], keys: { sealer }, clock: SystemClock()
        )
    }

    private static func body(_ members: KeyValuePairs<String, JSON?>) -> JSON {
        .object(
            (JSON.object(members).members ?? []) + [JSON.Member(name: "reason", value: .string("ticket 4711"))])
    }

    private func post(
        _ path: String, _ body: JSON, as role: OperatorRole = .operator, idempotencyKey: String = "k",
        headers: [String: String] = [:]
    ) throws -> HTTPCall {
        let thread = TestThread { [work, database = fixture.database] in
            let connection = try database.connect(role: "entitled_worker")
            let deadline = ContinuousClock.now + .seconds(3)
            while try work.next(on: connection) == nil, .now < deadline {}
        }
        let call = fixture.post(path, body, as: role, idempotencyKey: idempotencyKey, headers: headers)
        try thread.value()
        return call
    }

    private func ask(_ transaction: String, deadline: Int64 = 9_000_000_000_000, app: String = "demo") throws {
        let lane = Lane(app: app, environment: .production, subject: OperatorFixture.otid).number
        try fixture.database.execute(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
                reasons, repeats, asked_ms, deadline_ms) VALUES ($1, $5, 0, $2, $3, 'monthly', '{OTHER}', 0, 1, $4)
            """, [.int2(lane), .text(transaction), .text(OperatorFixture.otid), .int8(deadline), .text(app)])
    }

    // MARK: - Refunds

    @Test func `a question is answered with consent, as it was shown`() throws {
        try ask("t1")
        let path = "/refunds/t1/answer"
        let body = Self.body(["consent": .bool(true), "preference": .string("decline"), "consumed": .int(80)])
        let preview = fixture.post("\(path)?preview=true", body, as: .support)
        #expect(preview.json["before"]?["state"] == .string("open"), "\(preview.text)")
        #expect(preview.json["after"]?["preference"] == .string("DECLINE"))
        #expect(preview.json["after"]?["consumed_percent"] == .int(80) && preview.json["refusal"] == .null)
        let plan = try #require(preview.json["plan"]?.stringValue)
        try fixture.database.execute("UPDATE entitled.refund_request SET deadline_ms = deadline_ms - 1")
        let stale = fixture.post(path, body, as: .support, headers: ["If-Plan": plan])
        #expect(fixture.code(stale) == "changed_meanwhile")
        try fixture.database.execute("UPDATE entitled.refund_request SET deadline_ms = deadline_ms + 1")
        let done = try post(path, body, as: .support, headers: ["If-Plan": plan])
        #expect(done.status == 200 && done.json["outcome"]?["state"] == .string("ready"), "\(done.text)")
        #expect(done.json["target"] == .string(OperatorFixture.otid))
        let row = fixture.get("/refunds", as: .support).json["items"]?.arrayValue?.first
        #expect(row?["answered_by"] == .string("support") && row?["answer"]?["consumed"] == .int(80_000))
        // Roles that see no customers are not told which purchase it was, not even in the audit.
        #expect(
            fixture.get("/audit?kind=refund_answer").json["items"]?.arrayValue?.first?["target"]
                == .string(OperatorFixture.otid))
    }

    @Test func `what is no answer is refused, and so is each role that answers none`() throws {
        try ask("t1")
        let consent = JSON.bool(true)
        let wrong: [(JSON, String)] = [
            (Self.body([:]), "consent"), (Self.body(["consent": .bool(false)]), "consent"),
            (Self.body(["consent": consent, "preference": .string("yes")]), "preference"),
            (Self.body(["consent": consent, "delivery": .string("yes")]), "delivery"),
            (Self.body(["consent": consent, "consumed": .int(101)]), "consumed"),
            (Self.body(["consent": consent, "consumed": .int(5), "delivery": .string("other")]), "consumed"),
            (
                Self.body(["consent": consent, "consumed": .int(0), "preference": .string("grant_prorated")]),
                "consumed"
            ),
        ]
        for (body, field) in wrong {
            let call = fixture.post("/refunds/t1/answer", body)
            #expect(call.status == 400 && call.json["error"]?["field"] == .string(field), "\(body.text): \(call.text)")
        }
        let right = Self.body(["consent": consent])
        #expect(fixture.post("/refunds/none/answer", right).status == 404)
        for role in [OperatorRole.integrator, .finance, .read] {
            #expect(fixture.post("/refunds/t1/answer", right, as: role).status == 403)
        }
        // Which purchase a refused request was about is not noted: it may be a deleted customer's.
        #expect(try fixture.database.texts("SELECT DISTINCT target FROM entitled.audit") == [""])
        try ask("t2", deadline: 5)
        let late = fixture.post("/refunds/t2/answer?preview=true", right)
        #expect(late.json["refusal"]?.stringValue?.contains("the 12 hours are over") == true, "\(late.text)")
        try ask("t1", app: "other")
        #expect(fixture.post("/refunds/t1/answer?preview=true", right).status == 400)
        let named = Self.body(["consent": consent, "app": .string("other")])
        #expect(
            fixture.post("/refunds/t1/answer?preview=true", named).json["refusal"]?.stringValue?
                .contains("No worker answers") == true)
    }

    // MARK: - Secrets

    @Test func `a new secret is in the first answer, and in no other one`() throws {
        let path = "/endpoints/ep_1/rotate-secret"
        let body = Self.body(["overlap": .string("1h")])
        let preview = fixture.post("\(path)?preview=true", body, as: .integrator)
        #expect(preview.json["after"]?["valid_secrets"] == .int(1), "\(preview.text)")
        let plan = try #require(preview.json["plan"]?.stringValue)
        let began = ContinuousClock.now
        let done = try post(path, body, as: .integrator, headers: ["If-Plan": plan])
        // Until then a worker may sign with the former one alone.
        #expect(ContinuousClock.now - began >= EndpointSecrets.spreading)
        let secret = try #require(done.json["outcome"]?["secret"]?.stringValue, "\(done.text)")
        #expect(secret.hasPrefix("whsec_") && done.header("cache-control") == "no-store")
        let again = fixture.post(path, body, as: .integrator, idempotencyKey: "k")
        #expect(again.status == 200 && again.header("idempotent-replayed") == "true", "\(again.text)")
        #expect(again.json["outcome"]?["endpoint"] == .string("ep_1"))
        let job = try #require(done.json["job"]?.intValue)
        let others = [again, fixture.get("/jobs/\(job)"), fixture.get("/jobs"), fixture.get("/audit")]
        for call in others { #expect(!call.text.contains(secret) && !call.text.contains("sealed"), "\(call.text)") }
        #expect(!fixture.log.text.contains(secret))
        // What was shown is another one now.
        let stale = fixture.post(path, body, as: .integrator, idempotencyKey: "l", headers: ["If-Plan": plan])
        #expect(fixture.code(stale) == "changed_meanwhile")
        for wrong in ["1", "31d", "-1s", "x"] {
            #expect(fixture.post(path, Self.body(["overlap": .string(wrong)])).status == 400, "\(wrong)")
        }
        #expect(fixture.post(path, body, as: .support).status == 403)
        #expect(fixture.post("/endpoints/none/rotate-secret", body).status == 404)
    }

    // MARK: - Extensions

    @Test func `an extension is asked for, and its preview says until when`() throws {
        let path = "/purchases/demo/Production/\(OperatorFixture.otid)/extensions"
        let body = Self.body(["days": .int(7), "apple_reason": .string("outage")])
        try fixture.sign()
        let preview = fixture.post("\(path)?preview=true", body, as: .support)
        let refusal = try #require(preview.json["refusal"]?.stringValue, "\(preview.text)")
        #expect(refusal.contains("no key for Apple's Server API"))
        let asked = fixture.post(path, body, as: .support)
        #expect(asked.status == 202, "\(asked.text)")
        let parameters = try fixture.database.texts("SELECT parameters FROM entitled.job").first ?? ""
        let request = try JSON(parsing: Array(parameters.utf8))
        #expect(request["days"] == .int(7) && request["request_id"]?.stringValue?.count == 36, "\(parameters)")
        for wrong in [Self.body([:]), Self.body(["days": .int(91), "apple_reason": .string("outage")])] {
            #expect(fixture.post(path, wrong).json["error"]?["field"] == .string("days"))
        }
        let reason = Self.body(["days": .int(1), "apple_reason": .string("because")])
        #expect(fixture.post(path, reason).json["error"]?["field"] == .string("apple_reason"))
        #expect(fixture.post(path, body, as: .integrator).status == 403)
        #expect(fixture.post("/purchases/demo/Production/none/extensions", body).status == 404)
    }

    // MARK: - Previews of much

    @Test func `previews count all that would move, and say that they list a part`() throws {
        try fixture.sign()
        try fixture.database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew, version,
                updated_ms, account)
            SELECT n % 256, CASE n WHEN 700 THEN '$promotional' ELSE 'demo' END, 0, 'p' || n, 'anna', 'monthly', true, 1, 1000,
                CASE WHEN n <= 120 THEN 5 END
            FROM generate_series(1, 700) n
            """)
        let transfer = fixture.post("/customers/anna/transfers?preview=true", Self.body(["to": .string("ben")])).json
        for side in ["before", "after"] {
            #expect(transfer[side]?["purchase_count"]?["value"] == .int(700), "\(transfer.text)")
            #expect(transfer[side]?["purchases"]?.arrayValue?.count == 100 && transfer[side]?["is_cut"] == .bool(true))
        }
        #expect(transfer["webhooks"]?.arrayValue?.count == 1)
        let one = Self.body(["to": .string("ben"), "purchase": .string("p3")])
        let single = fixture.post("/customers/anna/transfers?preview=true", one).json["before"]
        #expect(single?["purchase_count"]?["value"] == .int(1) && single?["is_cut"] == .bool(false))
        let grant = Self.body(["to": .string("ben"), "purchase": .string("p700")])
        #expect(fixture.post("/customers/anna/transfers?preview=true", grant).json["refusal"] != .null)
        try fixture.database.execute(
            "UPDATE entitled.purchase SET account = 5 WHERE original_transaction_id = $1", [.text(OperatorFixture.otid)]
        )
        let path = "/purchases/demo/Production/\(OperatorFixture.otid)/claims?preview=true"
        let claim = fixture.post(path, Self.body(["customer": .string("ben")])).json
        #expect(claim["after"]?["purchase_count"]?["value"] == .int(121), "\(claim.text)")
        #expect(claim["after"]?["is_cut"] == .bool(true) && claim["after"]?["owner"] == .string("ben"))
        #expect(claim["before"]?["purchases"]?.arrayValue?.first == .string(OperatorFixture.otid))
    }

    // MARK: - Report, catalogue

    @Test func `a report is counted for those who see charts, and the catalogue is checked`() throws {
        let report = fixture.get("/report?from=2024-01-01&to=2024-02-01&by=week", as: .finance)
        #expect(report.status == 200 && report.json["parts"]?.arrayValue?.count == 5, "\(report.text)")
        #expect(fixture.get("/report?from=2024-01-01&to=2024-02-01&by=week", as: .finance).text == report.text)
        for wrong in [
            "", "?from=x", "?from=2025-01&to=2024-01", "?from=1d&by=hour", "?from=1d&app=none", "?from=1d&x=1",
        ] {
            #expect(fixture.get("/report\(wrong)", as: .finance).status == 400, "\(wrong)")
        }
        #expect(fixture.get("/report?from=1d", as: .support).status == 403)
        let check = fixture.get("/catalog/check", as: .support)
        #expect(check.status == 200 && check.json["findings"]?.arrayValue != nil && check.json["ok"]?.boolValue != nil)
        #expect(fixture.get("/catalog/check", as: .finance).status == 403)
    }
}
