import Base
import Database
import Duties
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Grants to many customers by the operator API.
struct OperatorGrantTests {
    private let fixture: BulkFixture
    private var scene: OperatorFixture { fixture.scene }

    init() throws { fixture = try BulkFixture() }

    private static func grant(_ members: [String: JSON]) -> JSON {
        BulkFixture.request(
            members.merging(["kind": .string("grant"), "entitlement": .string("pro")]) { given, _ in given })
    }

    private static let named = grant([
        "ids": .strings(["anna", "Anna@home", "ben", "nobody"]), "duration": .string("monthly"),
    ])

    @Test func `the preview tells who gets it and who not, and the job does that`() throws {
        let preview = scene.post("/jobs?preview=true", Self.named, as: .support).json
        let rows = preview["rows"] ?? .null
        #expect(rows["matched"] == .int(4) && rows["would_queue"] == .int(2), "\(preview.text)")
        #expect(rows["skipped"] == .object(["same_customer": .int(1), "unknown": .int(1)]))
        #expect(rows["samples"]?.arrayValue?.count == 4 && preview["kind"] == .string("bulk_grant"))
        let webhooks = preview["webhooks"]?.arrayValue?.first
        #expect(
            webhooks?["type"] == .string("NON_RENEWING_PURCHASE")
                && webhooks?["endpoints"] == .strings(["ep_1", "ep_2"]))
        let job = try fixture.ask(Self.named, as: .support, plan: preview["plan"]?.stringValue)
        let settings = BulkGrantSettings(entitlements: ["pro"], foldSettings: FoldSettings())
        let done = try JobDriver(job, kinds: BulkWork.kinds(granting: settings)).attend(
            on: fixture.worker, rest: { _ in }
        ) { _, _ in false }
        #expect(done.counts == JobCounts(matched: 4, queued: 2, skipped: 2), "\(done)")
        let shown = scene.get("/jobs/\(job)", as: .support).json
        #expect(shown["skipped_by_reason"] == .object(["same_customer": .int(1), "unknown": .int(1)]), "\(shown.text)")
        #expect(shown["parameters"] == .object([]) && shown["outcome"]?["entitlement"] == .string("pro"))
        #expect(scene.get("/customers/ben", as: .support).text.contains("\"pro\""))
    }

    @Test func `a filter is that of the list of customers, and nothing that widens it is taken`() throws {
        func call(_ members: [String: JSON]) -> (status: Int, field: JSON?) {
            let call = scene.post("/jobs?preview=true", Self.grant(members))
            return (call.status, call.json["error"]?["field"])
        }
        let all: [String: JSON] = ["filter": BulkFixture.object(["until": .string("2026-01-01")])]
        let month: [String: JSON] = ["duration": .string("monthly")]
        #expect(call(all.merging(month) { a, _ in a }).status == 200)
        let shown = scene.post("/jobs?preview=true", Self.grant(all.merging(month) { a, _ in a })).json
        #expect(shown["rows"]?["would_queue"] == .int(2), "\(shown.text)")
        for filter in [["type": JSON.string(",")], ["since": .string("")], ["since": .null], [:], ["limit": .int(5)]] {
            let answer = call(["filter": BulkFixture.object(filter)].merging(month) { a, _ in a })
            #expect(answer.status == 400, "\(filter)")
        }
        #expect(call(["ids": .strings([""])].merging(month) { a, _ in a }).field == .string("ids"))
        #expect(call(["ids": .strings(["anna", "anna"])].merging(month) { a, _ in a }).field == .string("ids"))
        #expect(
            call(["ids": .strings((1...501).map { "u\($0)" })].merging(month) { a, _ in a }).field == .string("ids"))
        #expect(call(all).field == .string("duration"))
        for until in ["1970-01-01", "infinity", "-infinity", ""] {
            #expect(call(all.merging(["until": .string(until)]) { a, _ in a }).field == .string("until"), "\(until)")
        }
        try fixture.database.execute(
            """
            INSERT INTO entitled.customer (original_app_user_id, first_seen_ms)
            SELECT 'many ' || n, 1000 FROM generate_series(1, $1) n
            """, [.int8(Int64(CustomerBulk.most))])
        let wide = scene.post("/jobs", Self.grant(all.merging(month) { a, _ in a }))
        #expect(wide.status == 400 && wide.text.contains("more than 10000 customers"), "\(wide.text)")
        #expect(try fixture.database.count("SELECT count(*) FROM entitled.job") == 0)
    }

    @Test func `only who may grant to one may grant to many`() {
        for role in OperatorRole.allCases {
            let status = scene.post("/jobs?preview=true", Self.named, as: role).status
            #expect(status == ([.support, .operator].contains(role) ? 200 : 403), "\(role)")
        }
    }
}
