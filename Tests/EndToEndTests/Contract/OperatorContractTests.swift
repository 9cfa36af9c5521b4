import Base
import FoundationEssentials
import TestSupport
import Testing

/// `schemas/operator.yaml` beside a running console: every path is answered, and every answer is one of the contract.
///
/// Serialised: each test runs a Python program that takes a processor.
@Suite(
    .serialized, .enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"),
    .enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct OperatorContractTests {
    @Test func `the document is one of OpenAPI, with an example of every body that is sent`() throws {
        let said = try ContractFiles.run("document.py", [ContractFiles.operators])
        #expect(said["faults"] == .array([]))
    }

    @Test func `every path of the operator API answers as the contract has it`() throws {
        let scene = try APIFixture(["reports": .object(["refresh": .string("1m")])])
        let consumer = try Consumer()
        let endpoint = try scene.site.addEndpoint(consumer)
        let id = try scene.makeCustomer()
        scene.call(
            "POST", "/v1/subscribers/\(id)/attributes",
            .object([
                "attributes": .object([
                    "$email": .object(["value": .string("anna@example.com"), "updated_at_ms": .int(1_767_225_600_000)])
                ])
            ]))
        scene.call(
            "POST", "/v1/subscribers/\(id)/entitlements/pro/promotional", .object(["duration": .string("daily")]))
        try scene.site.run("users", "add", "anna", "--role", "operator")
        let made = try scene.site.run("users", "key", "anna", "--json").document
        let key = try #require(made?["key"]?.stringValue)
        let desk = try OperatorFixture(scene, key: key)
        // A question of Apple's, which only the preview of an answer is about: no app here has a key.
        try scene.site.database?.execute(
            """
            INSERT INTO entitled.refund_request (lane, app, environment, transaction_id, original_transaction_id, product_id,
                reasons, repeats, asked_ms, deadline_ms)
            VALUES (0, 'demo', 0, 'asked', 'asked', 'monthly', '{}', 0, 0, 9000000000000)
            """)
        // As if ingest had been there two hours ago, and not since.
        try scene.site.database?.execute(
            "INSERT INTO entitled.listening SELECT floor(extract(epoch FROM clock_timestamp()) / 60)::int8 - 120")
        try desk.visit(customer: id, endpoint: endpoint.id, refund: "asked")
        let (faults, seen) = try desk.judge()
        #expect(faults == [])
        let successes = try ContractFiles.operations(of: ContractFiles.operators).map { "\($0) 200" }
        #expect(Set(successes).subtracting(seen) == [])
        #expect(
            seen.isSuperset(of: [
                "GET /operator/v1/me 304", "GET /operator/v1/me 401", "GET /operator/v1/me 403",
                "GET /operator/v1/events 400", "GET /operator/v1/events/{id} 404",
                "POST /operator/v1/customers/{id}/grants 400", "POST /operator/v1/customers/{id}/grants 409",
                "POST /operator/v1/jobs 202",
            ]))
    }
}

/// The console of an installation, and what was asked of it.
private final class OperatorFixture {
    private let port: UInt16
    private let key: String
    private var exchanges: [APIFixture.Exchange] = []

    init(_ scene: APIFixture, key: String) throws {
        port = try scene.consolePort()
        self.key = key
    }

    @discardableResult
    func get(_ path: String, key: String? = nil, headers: [String: String] = [:]) -> HTTPCall {
        var headers = headers
        headers["Authorization"] = "Bearer \(key ?? self.key)"
        let answer = HTTPCall.send("GET", path, headers: headers, body: [], to: port)
        exchanges.append(APIFixture.Exchange(method: "GET", path: path, request: [], answer: answer))
        return answer
    }

    @discardableResult
    func post(
        _ path: String, _ body: JSON, key: String = UUID().uuidString, method: String = "POST"
    ) -> HTTPCall {
        let headers = ["Authorization": "Bearer \(self.key)", "Idempotency-Key": key]
        let answer = HTTPCall.send(method, path, headers: headers, body: body.bytes, to: port)
        exchanges.append(APIFixture.Exchange(method: method, path: path, request: body.bytes, answer: answer))
        return answer
    }

    /// Every change, and a job and the audit that come of them.
    private func change(
        customer: String, purchase: String, event: String, endpoint: String, delivery: String, notification: String,
        refund: String
    ) {
        let root = "/operator/v1"
        func reason(_ members: [JSON.Member] = []) -> JSON {
            .object(members + [JSON.Member(name: "reason", value: .string("contract"))])
        }
        let entitlement = JSON.Member(name: "entitlement", value: .string("pro"))
        let grant = reason([entitlement, JSON.Member(name: "duration", value: .string("daily"))])
        let made = post("\(root)/customers/\(customer)/grants", grant, key: "contract")
        post("\(root)/customers/\(customer)/grants", grant, key: "contract")
        post("\(root)/customers/\(customer)/grants", reason([entitlement]))
        let yearly = reason([entitlement, JSON.Member(name: "duration", value: .string("yearly"))])
        post("\(root)/customers/\(customer)/grants", yearly, key: "contract")
        post("\(root)/customers/\(customer)/grants/revoke", reason([entitlement]))
        post("\(root)/customers/\(customer)/grants?preview=true", grant)
        post("\(root)/events/\(event)/resends?preview=true", reason())
        post("\(root)/events/\(event)/resends", reason([JSON.Member(name: "endpoint", value: .string(endpoint))]))
        post("\(root)/deliveries/\(delivery)/resends", reason())
        post("\(root)/notifications/\(notification)/reprocess", reason())
        let until = JSON.Member(name: "until", value: .string("2099-01-01T00:00:00Z"))
        post("\(root)/endpoints/\(endpoint)/pause", reason([until]))
        for word in ["disable", "enable"] { post("\(root)/endpoints/\(endpoint)/\(word)", reason()) }
        let note = post("\(root)/customers/\(customer)/notes", .object(["text": .string("A note.")]))
        get("\(root)/customers/\(customer)/notes")
        let number = note.json["outcome"]?["note"]?.intValue ?? 0
        post("\(root)/customers/\(customer)/notes/\(number)/remove", .object([JSON.Member]()))
        let alias = [
            JSON.Member(name: "alias", value: .string("contract-alias")), .init(name: "create", value: .bool(true)),
        ]
        post("\(root)/customers/\(customer)/aliases?preview=true", reason(alias))
        post("\(root)/customers/\(customer)/aliases", reason(alias))
        post("\(root)/customers/\(customer)/transfers", reason([.init(name: "to", value: .string("contract-alias"))]))
        post(
            "\(root)/purchases/\(purchase)/claims", reason([.init(name: "customer", value: .string("contract-alias"))]))
        let consent = JSON.Member(name: "consent", value: .bool(true))
        post("\(root)/refunds/\(refund)/answer?preview=true", reason([consent]))
        post("\(root)/refunds/none/answer", reason([consent]))
        post("\(root)/endpoints/\(endpoint)/rotate-secret?preview=true", reason())
        post("\(root)/endpoints/\(endpoint)/rotate-secret", reason())
        let days = [JSON.Member(name: "days", value: .int(7)), .init(name: "apple_reason", value: .string("outage"))]
        post("\(root)/purchases/\(purchase)/extensions?preview=true", reason(days))
        post("\(root)/purchases/\(purchase)/extensions", reason(days))
        post("\(root)/purchases/\(purchase)/status-looks?preview=true", reason())
        post("\(root)/purchases/\(purchase)/status-looks", reason())
        let order = JSON.Member(name: "order_id", value: .string("MK5TTTVWJH"))
        post("\(root)/order-lookups?preview=true", .object([order]))
        post("\(root)/order-lookups", .object([order]))
        endpoints(reason)
        post("\(root)/customers/contract-alias?preview=true", reason(), method: "DELETE")
        let erase = [JSON.Member(name: "policy", value: .string("pseudonymise"))]
        bulk(reason)
        replayAndGrant(customer: customer, endpoint: endpoint, reason)
        post("\(root)/customers/contract-alias", reason(erase), method: "DELETE")
        get("\(root)/jobs/\(made.json["job"]?.intValue ?? 0)")
        get("\(root)/audit")
    }

    /// An endpoint from its beginning to its end.
    private func endpoints(_ reason: ([JSON.Member]) -> JSON) {
        let root = "/operator/v1"
        let url = JSON.Member(name: "url", value: .string("https://consumer.invalid/hooks"))
        let wanted = [
            url, JSON.Member(name: "events", value: .strings(["RENEWAL"])),
            .init(name: "asymmetric", value: .bool(true)),
            JSON.Member(name: "headers", value: .strings(["X-Tenant: demo"])),
        ]
        post("\(root)/endpoints?preview=true", reason([url]))
        let id = post("\(root)/endpoints", reason(wanted)).json["outcome"]?["endpoint"]?.stringValue ?? "none"
        post("\(root)/endpoints", reason([.init(name: "url", value: .string("ftp://x"))]))
        let change = reason([JSON.Member(name: "ordering", value: .string("purchase"))])
        post("\(root)/endpoints/\(id)?preview=true", change, method: "PATCH")
        post("\(root)/endpoints/\(id)", change, method: "PATCH")
        post("\(root)/endpoints/\(id)", change, method: "PATCH")
        post("\(root)/endpoints/\(id)/test?preview=true", reason([]))
        post("\(root)/endpoints/\(id)/test", reason([]))
        post("\(root)/endpoints/\(id)?preview=true", reason([]), method: "DELETE")
        post("\(root)/endpoints/\(id)", reason([]), method: "DELETE")
    }

    /// A change of many rows, which ends before it is cancelled, or not.
    private func bulk(_ reason: ([JSON.Member]) -> JSON) {
        let root = "/operator/v1"
        let members = [
            JSON.Member(name: "kind", value: .string("resend")),
            JSON.Member(name: "filter", value: .object(["state": .string("delivered"), "attempts_min": .int(1)])),
        ]
        post("\(root)/jobs?preview=true", reason(members))
        let job = post("\(root)/jobs", reason(members)).json["job"]?.intValue ?? 0
        post("\(root)/jobs/\(job)/cancel?preview=true", reason([]))
        post("\(root)/jobs/\(job)/cancel", reason([]))
        get("\(root)/jobs/\(job)")
    }

    /// A replay, and a grant to several customers.
    private func replayAndGrant(customer: String, endpoint: String, _ reason: ([JSON.Member]) -> JSON) {
        let root = "/operator/v1"
        let replay = [
            JSON.Member(name: "kind", value: .string("replay_webhooks")),
            JSON.Member(
                name: "filter",
                value: .object(["endpoint": .string(endpoint), "mode": .string("missing"), "since": .string("7d")])),
        ]
        let grant = [
            JSON.Member(name: "kind", value: .string("grant")),
            .init(name: "ids", value: .strings([customer, "nobody"])),
            .init(name: "entitlement", value: .string("pro")), .init(name: "duration", value: .string("weekly")),
        ]
        for members in [replay, grant] {
            post("\(root)/jobs?preview=true", reason(members))
            let job = post("\(root)/jobs", reason(members)).json["job"]?.intValue ?? 0
            get("\(root)/jobs/\(job)")
        }
    }

    private func items(_ path: String) -> [JSON] { get("/operator/v1\(path)").json["items"]?.arrayValue ?? [] }

    private func text(_ item: JSON?, _ name: String) throws -> String {
        guard let text = item?[name]?.stringValue else { throw TestFailure("no \(name) in \(item?.text ?? "nothing")") }
        return text
    }

    func visit(customer: String, endpoint: String, refund: String) throws {
        let root = "/operator/v1"
        for path in ["/healthz", "/readyz", "\(root)/openapi.yaml"] { get(path) }
        let me = get("\(root)/me")
        get("\(root)/me", headers: ["If-None-Match": me.header("ETag") ?? ""])
        get("\(root)/me", key: "op_unknown")
        get("\(root)/me", headers: ["Origin": "https://example.com"])
        get("\(root)/events?tpe=RENEWAL")
        get("\(root)/events/00000000-0000-4000-8000-000000000000")
        for path in [
            "overview", "search?q=\(customer)", "customers", "customers/\(customer)",
            "customers/\(customer)/timeline?limit=2", "customers/\(customer)/timeline?order=heard",
            "customers/\(customer)/events", "endpoints", "endpoints/\(endpoint)", "outages", "refunds?open=true",
            "products", "jobs", "actions", "workers", "charts", "charts/none", "charts/mrr?by=year", "doctor",
            "deliveries?customer=\(customer)&state=delivered",
        ] {
            get("\(root)/\(path)")
        }
        for outage in items("/outages") { get("\(root)/outages/\(outage["number"]?.intValue ?? 0)") }
        get("\(root)/outages/1")
        // The first refresh is some seconds after the start; the leader makes it.
        try eventually(timeout: .seconds(60), "the tables of reports are refreshed") {
            HTTPCall.send(
                "GET", "\(root)/charts/active", headers: ["Authorization": "Bearer \(self.key)"], to: self.port
            ).status == 200
        }
        get("\(root)/catalog/check")
        get("\(root)/report")
        try eventually("the report is counted") {
            self.get("\(root)/report?from=2026-01-01&to=2026-06-01&by=month").status == 200
        }
        for name in ["active", "mrr-movement?by=day", "retention", "revenue?environment=Sandbox", "churn?country=AT"] {
            get("\(root)/charts/\(name)")
        }
        let rows = get("\(root)/charts/active?format=csv")
        guard rows.text.hasPrefix("label,from,to,currency,"), get("\(root)/events?format=csv").status == 200,
            rows.header("content-disposition") == "attachment; filename=\"active.csv\""
        else { throw TestFailure("no CSV: \(rows.text)") }
        let bought = items("/purchases?customer=\(customer)")
        let purchase = bought.first
        let signed = try bought.first { try text($0, "app") != "$promotional" }
        let claimed =
            "\(try text(signed, "app"))/\(try text(signed, "environment"))/\(try text(signed, "original_transaction_id"))"
        get(
            "\(root)/purchases/\(try text(purchase, "app").replacing("$", with: "%24"))/\(try text(purchase, "environment"))/"
                + (try text(purchase, "original_transaction_id")))
        let event = try text(items("/events").first, "id")
        get("\(root)/events/\(event)")
        let delivery = try text(items("/deliveries").first, "id")
        get("\(root)/deliveries/\(delivery)")
        let notification = items("/notifications?limit=1").first
        let name =
            "\(try text(notification, "app"))/\(try text(notification, "environment"))/"
            + (try text(notification, "uuid"))
        get("\(root)/notifications/\(name)")
        change(
            customer: customer, purchase: claimed, event: event, endpoint: endpoint, delivery: delivery,
            notification: name, refund: refund)
    }

    func judge() throws -> (faults: [String], seen: Set<String>) {
        let said = try ContractFiles.run(
            "answers.py", [ContractFiles.operators], input: .array(exchanges.map(\.json)))
        guard let faults = said["faults"]?.arrayValue, let seen = said["seen"]?.arrayValue else {
            throw TestFailure("answers.py did not say all")
        }
        return (faults.compactMap(\.stringValue), Set(seen.compactMap(\.stringValue)))
    }
}
