import Base
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

/// What operators ask of Apple by the API: the request, its preview and its bounds. The answers are `StatusInquiryTests`'.
struct OperatorInquiryTests {
    private let fixture: OperatorFixture

    init() throws {
        fixture = try OperatorFixture()
        try fixture.sign()
    }

    private static let reason = JSON.object(["reason": .string("ticket 4711")])
    private static let path = "/purchases/demo/Production/\(OperatorFixture.otid)/status-looks"

    private static func order(_ id: String, _ more: KeyValuePairs<String, JSON?> = [:]) -> JSON {
        .object([JSON.Member(name: "order_id", value: .string(id))] + (JSON.object(more).members ?? []))
    }

    private func jobs() throws -> [String] {
        try fixture.database.texts(
            "SELECT concat_ws(' ', kind, target, parameters, reason) FROM entitled.job ORDER BY id")
    }

    @Test func `a purchase is asked about, and the preview says whether Apple can be asked`() throws {
        let preview = fixture.post("\(Self.path)?preview=true", Self.reason, as: .support)
        #expect(preview.json["before"]?["status"]?.stringValue != nil, "\(preview.text)")
        #expect(preview.json["refusal"]?.stringValue?.contains("no key for Apple's Server API") == true)
        #expect(try jobs() == [])
        let asked = fixture.post(Self.path, Self.reason, as: .support, idempotencyKey: "1")
        #expect(asked.status == 202, "\(asked.text)")
        let parameters = #"{"app":"demo","environment":"Production"}"#
        #expect(try jobs() == ["status_poll \(OperatorFixture.otid) \(parameters) ticket 4711"])
        let again = fixture.post(Self.path, Self.reason, as: .support, idempotencyKey: "1")
        #expect(again.status == 202, "\(again.text)")
        #expect(try jobs().count == 1)
        let none = JSON.object([JSON.Member]())
        #expect(fixture.post(Self.path, none, idempotencyKey: "2").json["error"]?["field"] == .string("reason"))
        #expect(
            fixture.post("/purchases/demo/Production/none/status-looks", Self.reason, idempotencyKey: "3").status == 404
        )
        for role in [OperatorRole.integrator, .finance, .read] {
            #expect(fixture.post(Self.path, Self.reason, as: role, idempotencyKey: "4").status == 403)
        }
    }

    @Test func `an order is asked about with or without a reason, and a text that is none is refused`() throws {
        let preview = fixture.post("/order-lookups?preview=true", Self.order("MK5TTTVWJH"), as: .support)
        #expect(preview.json["target"] == .string("MK5TTTVWJH"), "\(preview.text)")
        #expect(preview.json["refusal"]?.stringValue?.contains("No app with Production has a key") == true)
        let asked = fixture.post("/order-lookups", Self.order("mk5tttvwjh"), as: .support)
        #expect(asked.status == 202, "\(asked.text)")
        let body = Self.order("MK5TTTVWJH", ["app": .string("demo"), "reason": .string("ticket 1")])
        #expect(fixture.post("/order-lookups", body, idempotencyKey: "2").status == 202)
        #expect(
            try jobs() == [
                "order_lookup MK5TTTVWJH {} an order's number",
                #"order_lookup MK5TTTVWJH {"app":"demo"} ticket 1"#,
            ])
        for text in ["2000000000000001", "M", "MK5 TTT", String(repeating: "M", count: 40)] {
            let wrong = fixture.post("/order-lookups", Self.order(text), idempotencyKey: "3")
            #expect(wrong.status == 400 && wrong.json["error"]?["field"] == .string("order_id"), "\(wrong.text)")
        }
        let other = fixture.post(
            "/order-lookups", Self.order("MK5TTTVWJH", ["app": .string("none")]), idempotencyKey: "4")
        #expect(other.status == 400 && other.json["error"]?["field"] == .string("app"), "\(other.text)")
        #expect(fixture.post("/order-lookups", Self.order("MK5TTTVWJH"), as: .read, idempotencyKey: "5").status == 403)
    }

    @Test func `one question too many is turned away with a time`() throws {
        let key = OperatorFixture.otid
        try fixture.database.execute(
            """
            INSERT INTO entitled.job (kind, request, parameters, made_by, created_ms, updated_ms, target, idempotency_key)
            SELECT 'status_poll', 'r' || n, '{}', made.name, 1, 1, $1, 'k' || n
            FROM (SELECT name FROM entitled.console_user WHERE role = 'operator' LIMIT 1) made, generate_series(1, 16) n
            """, [.text(key)])
        let refused = fixture.post(Self.path, Self.reason, idempotencyKey: "more")
        #expect(refused.status == 429, "\(refused.text)")
        #expect(refused.headers.contains { $0.name.lowercased() == "retry-after" && $0.value == "30" })
        #expect(
            refused.json["error"]?["message"]?.stringValue?.contains("16 of your questions to Apple") == true,
            "\(refused.text)")
        #expect(fixture.post(Self.path, Self.reason, as: .support, idempotencyKey: "theirs").status == 202)
    }
}
