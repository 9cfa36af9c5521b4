import API
import Base
import Customers
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

/// What REST v2 does to customers, and how it says no.
struct V2ActionRouteTests {
    private static let end = V2Fixture.now + 30 * V2Fixture.day

    private func action(_ scene: V2Fixture, _ customer: String, _ name: String, _ body: JSON) -> HTTPCall {
        scene.post("/customers/\(customer)/actions/\(name)", body)
    }

    @Test func `an entitlement is granted until an instant and taken back`() throws {
        let scene = try V2Fixture()
        _ = scene.post("/customers", .object(["id": .string("bob")]))
        let order: JSON = .object(["entitlement_id": .string("gold"), "expires_at": .int(Self.end)])
        let given = action(scene, "bob", "grant_entitlement", order)
        #expect(given.status == 201)
        let active = given.json["active_entitlements"]?["items"]?.arrayValue?.first
        #expect(active?["entitlement_id"] == .string("gold"))
        #expect(active?["expires_at"] == .int(Self.end))
        let subscription = scene.get("/customers/bob/subscriptions").json["items"]?.arrayValue?.first
        #expect(subscription?["store"] == .string("promotional"))
        let taken = action(
            scene, "bob", "revoke_granted_entitlement", .object(["entitlement_id": .string("gold")]))
        #expect(taken.status == 200)
        #expect(taken.json["active_entitlements"]?["items"] == .array([]))
        #expect(
            try scene.api.database.texts("SELECT kind || ' ' || actor FROM entitled.action ORDER BY seq")
                == ["grant api, by a secret key", "revoke api, by a secret key"])
    }

    @Test func `a grant to no customer, of nothing or to no instant is refused with the member`() throws {
        let scene = try V2Fixture()
        _ = scene.post("/customers", .object(["id": .string("bob")]))
        let cases: [(customer: String, body: JSON, status: Int, parameter: String?)] = [
            ("ada", .object(["entitlement_id": .string("gold"), "expires_at": .int(Self.end)]), 404, "customer_id"),
            ("bob", .object(["entitlement_id": .string("lead"), "expires_at": .int(Self.end)]), 404, "entitlement_id"),
            ("bob", .object(["entitlement_id": .string("gold")]), 400, "expires_at"),
            ("bob", .object(["entitlement_id": .string("gold"), "expires_at": .string("1")]), 400, "expires_at"),
            ("bob", .object(["entitlement_id": .string("gold"), "expires_at": .int(1)]), 400, "expires_at"),
            ("bob", .object(["expires_at": .int(Self.end)]), 400, "entitlement_id"),
            ("bob", .array([]), 400, nil),
        ]
        for one in cases {
            let answer = action(scene, one.customer, "grant_entitlement", one.body)
            #expect(answer.status == one.status, "\(one.body.text)")
            #expect(answer.json["param"]?.stringValue == one.parameter, "\(one.body.text)")
            #expect(answer.json["object"] == .string("error"))
        }
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.action") == 0)
    }

    private func owned(_ scene: V2Fixture, _ id: String) -> Int? {
        scene.get("/customers/\(id)/subscriptions").json["items"]?.arrayValue?.count
    }

    @Test func `purchases go to another customer, of all apps or of some`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        try scene.buy("bob", "2", product: "yearly", app: "other")
        _ = scene.post("/customers", .object(["id": .string("ada")]))
        func transfer(_ apps: JSON?, to id: String = "ada") -> HTTPCall {
            action(scene, "bob", "transfer", .object(["target_customer_id": .string(id), "app_ids": apps]))
        }
        #expect(transfer(nil, to: "nobody").json["param"] == .string("target_customer_id"))
        #expect(transfer(.strings(["third"])).json["param"] == .string("app_ids"))
        #expect(transfer(.string("demo")).json["param"] == .string("app_ids"))
        #expect(transfer(.array([])).status == 200)
        let same = transfer(nil, to: "bob")
        #expect(same.status == 400 && same.json["param"] == .string("target_customer_id"))
        #expect(owned(scene, "bob") == 2, "no app is not all apps")
        let part = transfer(.strings(["other"]))
        #expect(part.status == 200)
        #expect(part.json["source_customer"]?["id"] == .string("bob"))
        #expect(
            part.json["source_customer"]?["active_entitlements"]?["items"]?.arrayValue?.count == 2,
            "as it was before")
        #expect(
            part.json["target_customer"]?["active_entitlements"]?["items"]?.arrayValue?.map { $0["entitlement_id"] }
                == [.string("gold"), .string("pro")])
        #expect([owned(scene, "bob"), owned(scene, "ada")] == [1, 1])
        #expect(transfer(.null).status == 200)
        #expect([owned(scene, "bob"), owned(scene, "ada")] == [0, 2])
    }

    @Test func `a customer who is deleted meanwhile gets neither purchases nor attributes`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "test"), foldSettings: FoldSettings())
        let connection = try scene.api.database.connect(role: "entitled_api")
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try actions.transfer(from: "bob", to: "gone", makesCustomer: false, on: connection)
        }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try actions.setAttributes(
                .object(["k": .object(["value": .string("v")])]), of: "gone", makesCustomer: false, on: connection)
        }
        #expect(try scene.api.database.texts("SELECT id FROM entitled.app_user_id") == ["bob"])
        #expect(owned(scene, "bob") == 1)
    }

    @Test func `a customer is deleted once`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        func delete() -> HTTPCall {
            scene.api.call("DELETE", "\(V2Fixture.project)/customers/bob", key: KeyedAPI.secretKey)
        }
        let gone = delete()
        #expect(gone.status == 200)
        #expect(gone.json["object"] == .string("customer"))
        #expect(gone.json["deleted_at"]?.intValue != nil)
        #expect(delete().status == 404)
        #expect(scene.get("/customers/bob").status == 404)
    }

    @Test func `the project and its entitlements are there for callers that look ids up`() throws {
        let scene = try V2Fixture()
        let projects = scene.api.call("GET", "/v2/projects", key: KeyedAPI.secretKey).json["items"]?.arrayValue
        #expect(projects?.count == 1)
        let entitlements = scene.get("/entitlements?limit=1").json
        #expect(entitlements["items"]?.arrayValue?.map { $0["lookup_key"] } == [.string("gold")])
        #expect(
            entitlements["next_page"] == .string("\(V2Fixture.project)/entitlements?limit=1&starting_after=gold"))
        #expect(scene.get("/entitlements/pro").json["id"] == .string("pro"))
        #expect(scene.get("/entitlements/lead").json["type"] == .string("resource_missing"))
    }

    @Test func `offerings are those of the configuration, with their packages where those are asked for`() throws {
        let scene = try V2Fixture()
        let first = scene.get("/offerings?limit=1&expand=items.package").json
        let one = try #require(first["items"]?.arrayValue?.first)
        #expect(one["id"] == .string("default") && one["lookup_key"] == .string("default"))
        #expect(one["display_name"] == .string("The usual ones") && one["is_current"] == .bool(true))
        #expect(one["metadata"] == .object(["colour": .string("red")]))
        let packages = one["packages"]?["items"]?.arrayValue
        #expect(packages?.map { $0["lookup_key"] } == ["$rc_monthly", "$rc_annual", "desktop"].map { .string($0) })
        #expect(packages?.map { $0["position"] } == [.int(1), .int(2), .int(3)])
        let next = try #require(first["next_page"]?.stringValue)
        #expect(next == "\(V2Fixture.project)/offerings?limit=1&expand=items.package&starting_after=default")
        let rest = scene.api.call("GET", next, key: KeyedAPI.secretKey).json
        #expect(rest["items"]?.arrayValue?.map { $0["id"] } == [.string("sale")])
        #expect(rest["next_page"] == .null)
        let sale = scene.get("/offerings/sale").json
        #expect(sale["is_current"] == .bool(false) && sale["packages"] == nil && sale["metadata"] == .null)
        // It has no description.
        #expect(sale["display_name"] == .string("sale"))
        #expect(scene.get("/offerings/sale?expand=package").json["packages"]?["items"]?.arrayValue?.count == 1)
        #expect(scene.get("/offerings/spring").json["param"] == .string("offering_id"))
        #expect(scene.get("/offerings", key: KeyedAPI.publicKey).status == 403)
    }

    @Test func `metrics come from the tables of reports, where a worker fills them`() throws {
        let scene = try V2Fixture()
        let none = scene.get("/metrics/overview")
        #expect(none.status == 404)
        #expect(none.json["message"]?.stringValue?.contains("reports.refresh") == true)
        #expect(scene.get("/metrics/overview?currency=EUR").json["param"] == .string("currency"))
        try scene.api.database.execute("UPDATE entitled.report_refresh SET started_ms = 1767225600000")
        try scene.api.database.execute(
            """
            INSERT INTO entitled.report_transaction (lane, app, environment, original_transaction_id, transaction_id,
                product_id, product_type, period_type, purchased_ms, expires_ms, access_ends_ms, renewal_number,
                currency, price_milliunits, refunded_milliunits, commission_millionths, tax_millionths,
                price_usd_milliunits, net_usd_milliunits, is_trial_conversion, is_family_share, is_upgraded)
            VALUES (1, 'demo', 0, '1', '1', 'monthly', 'Auto-Renewable Subscription', 'NORMAL', $1, $2, $2, 1, 'USD',
                9990, 0, 300000, 0, 9990, 9990, false, false, false)
            """, [.int8(V2Fixture.now - V2Fixture.day), .int8(V2Fixture.now + 29 * V2Fixture.day)])
        try eventually("the absence is looked at again") { scene.get("/metrics/overview").status == 200 }
        let metrics = scene.get("/metrics/overview").json["metrics"]?.arrayValue ?? []
        func value(_ id: String) -> String? { metrics.first { $0["id"] == .string(id) }?["value"]?.text }
        #expect(value("active_subscriptions") == "1")
        #expect(value("active_trials") == "0")
        #expect(value("mrr") == "9.99")
        #expect(value("revenue") == "9.99")
        #expect(metrics.first?["last_updated_at"] == .int(1_767_225_600_000))
        #expect(metrics.count == 6)
    }

    @Test func `every refusal has the form of the API`() throws {
        let scene = try V2Fixture()
        let (_, reader) = try scene.api.makeKey(.secret, scope: "read")
        let create = JSON.object(["id": .string("bob")])
        let cases: [(answer: HTTPCall, status: Int, type: String)] = [
            (scene.get("/customers", key: nil), 401, "authentication_error"),
            (scene.get("/customers", key: "sk_unknown"), 401, "authentication_error"),
            (scene.get("/customers", key: KeyedAPI.publicKey), 403, "authorization_error"),
            (scene.post("/customers", create, key: reader), 403, "authorization_error"),
            (scene.get("/nothing"), 404, "resource_missing"),
            (scene.api.call("GET", "/v2", key: KeyedAPI.secretKey), 404, "resource_missing"),
            (scene.api.call("GET", "/v2/projects/a.b/customers", key: KeyedAPI.secretKey), 404, "resource_missing"),
            (scene.api.call("GET", "/v2/projects//customers", key: KeyedAPI.secretKey), 404, "resource_missing"),
            (scene.get("/customers/%FF"), 400, "invalid_request"),
            (
                scene.api.call("PUT", "\(V2Fixture.project)/customers", create, key: KeyedAPI.secretKey), 405,
                "invalid_request"
            ),
        ]
        for one in cases {
            #expect(one.answer.status == one.status, "\(one.answer.text)")
            #expect(one.answer.json["type"] == .string(one.type), "\(one.answer.text)")
            #expect(one.answer.json["object"] == .string("error"))
            #expect(one.answer.json["retryable"] == .bool(false))
            #expect(one.answer.json["code"] == nil)
        }
        #expect(scene.get("/customers", key: reader).status == 200)
        #expect(scene.api.call("GET", "/v1/subscribers/null").json["code"] != nil)
    }
}
