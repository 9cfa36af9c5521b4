import API
import Base
import TestSupport
import Testing

/// Customers by REST v2.
struct V2CustomerRouteTests {
    private static let day = V2Fixture.day

    @Test func `a customer has the members of RevenueCat's document, and what gives access`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        let answer = scene.get("/customers/bob")
        #expect(answer.status == 200)
        let bought = V2Fixture.now - Self.day
        #expect(
            answer.text == """
                {"active_entitlements":{"items":[{"entitlement_id":"pro","expires_at":\(bought + 30 * Self.day),\
                "object":"customer.active_entitlement"}],"next_page":null,"object":"list",\
                "url":"/v2/projects/proj1ab2c3d4/customers/bob/active_entitlements"},"experiment":null,\
                "first_seen_at":\(bought),"id":"bob","last_seen_app_version":null,"last_seen_at":\(bought),\
                "last_seen_country":null,"last_seen_platform":null,"last_seen_platform_version":null,\
                "object":"customer","project_id":"proj1ab2c3d4"}

                """)
    }

    @Test func `reading makes no customer`() throws {
        let scene = try V2Fixture()
        for path in ["", "/active_entitlements", "/subscriptions", "/purchases", "/aliases", "/attributes"] {
            let answer = scene.get("/customers/ada\(path)")
            #expect(answer.status == 404, "\(path)")
            #expect(
                answer.text == """
                    {"message":"No customer has the id ada.","object":"error","param":"customer_id","retryable":false,\
                    "type":"resource_missing"}

                    """)
        }
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.customer") == 0)
    }

    @Test func `lists of what a customer has`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        try scene.buy("bob", "2", product: "lifetime", isSubscription: false)
        let subscriptions = scene.get("/customers/bob/subscriptions").json
        #expect(subscriptions["url"] == .string("\(V2Fixture.project)/customers/bob/subscriptions"))
        #expect(subscriptions["items"]?.arrayValue?.map { $0["product_id"] } == [.string("monthly")])
        #expect(subscriptions["items"]?.arrayValue?.first?["country"] == .string("DE"))
        #expect(subscriptions["items"]?.arrayValue?.first?["total_revenue_in_usd"]?["gross"]?.text == "9.99")
        let purchases = scene.get("/customers/bob/purchases?environment=production").json
        #expect(purchases["items"]?.arrayValue?.map { $0["product_id"] } == [.string("lifetime")])
        #expect(scene.get("/customers/bob/purchases?environment=sandbox").json["items"] == .array([]))
        #expect(scene.get("/customers/bob/purchases?environment=moon").json["param"] == .string("environment"))
        let active = scene.get("/customers/bob/active_entitlements").json
        #expect(active["items"]?.arrayValue?.map { $0["entitlement_id"] } == [.string("pro")])
    }

    @Test func `an alias leads to the customer, who is named as the caller named them`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        let alias = JSON.object(["new_app_user_id": .string("robert")])
        #expect(
            scene.api.call("POST", "/v1/subscribers/bob/alias", alias, key: KeyedAPI.secretKey).status == 200)
        let aliases = try #require(scene.get("/customers/robert/aliases").json["items"]?.arrayValue)
        #expect(Set(aliases.compactMap { $0["id"]?.stringValue }) == ["bob", "robert"])
        #expect(scene.get("/customers/robert").json["id"] == .string("robert"))
        let subscription = scene.get("/customers/robert/subscriptions").json["items"]?.arrayValue?.first
        #expect(subscription?["customer_id"] == .string("robert"))
        #expect(subscription?["original_customer_id"] == aliases.first?["id"])
    }

    @Test func `naming a customer is no use of the id, so that webhooks go on naming the same`() throws {
        let scene = try V2Fixture()
        try scene.buy("bob", "1")
        let order = JSON.object(["entitlement_id": .string("pro"), "expires_at": .int(V2Fixture.now + Self.day)])
        for path in ["", "/active_entitlements", "/subscriptions", "/purchases", "/aliases", "/attributes"] {
            #expect(scene.get("/customers/bob\(path)").status == 200)
        }
        #expect(scene.post("/customers/bob/actions/grant_entitlement", order).status == 201)
        func used() throws -> Int64 {
            try scene.api.database.count(
                "SELECT count(*) FROM entitled.app_user_id WHERE last_seen_ms IS NOT NULL")
        }
        #expect(try used() == 0)
        #expect(
            scene.api.call("POST", "/v1/subscribers/bob/attributes", .object(["attributes": .object([])])).status == 200
        )
        #expect(try used() == 1)
    }

    @Test func `a UUID in another case is the same customer`() throws {
        let scene = try V2Fixture()
        let id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
        try scene.buy(id, "1")
        #expect(scene.get("/customers/\(id.uppercased())/active_entitlements").json["items"]?.arrayValue?.count == 1)
        let taken = scene.post(
            "/customers/\(id.uppercased())/attributes",
            .object(["attributes": .array([.object(["name": .string("plan"), "value": .string("a")])])]))
        #expect(taken.status == 200)
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.app_user_id") == 1)
    }

    @Test func `all customers come once, page by page`() throws {
        let scene = try V2Fixture()
        let ids = ["ada", "bob", "carl", "dora", "eve", "ä ö?&=+"]
        for id in ids {
            #expect(scene.post("/customers", .object(["id": .string(id)])).status == 201)
        }
        var (seen, next): ([String], String?) = ([], "\(V2Fixture.project)/customers?limit=2")
        while let path = next, seen.count < 20 {
            let page = scene.api.call("GET", path, key: KeyedAPI.secretKey).json
            #expect(page["object"] == .string("list"))
            #expect(page["url"] == .string("\(V2Fixture.project)/customers"))
            seen += (page["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
            next = page["next_page"]?.stringValue
        }
        #expect(seen == ids)
        #expect(scene.get("/customers?starting_after=carla").json["items"]?.arrayValue?.count == 3)
        #expect(scene.get("/customers").json["next_page"] == .null)
    }

    @Test func `what a list cannot be asked is said with the parameter`() throws {
        let scene = try V2Fixture()
        _ = scene.post("/customers", .object(["id": .string("bob")]))
        for (query, parameter) in [
            ("limit=0", "limit"), ("limit=x", "limit"), ("limit=-1", "limit"),
            ("search=a%40example.com", "search"),
        ] {
            let answer = scene.get("/customers?\(query)")
            #expect(answer.status == 400, "\(query)")
            #expect(answer.json["type"] == .string("parameter_error"), "\(query)")
            #expect(answer.json["param"] == .string(parameter), "\(query)")
        }
        for limit in ["2000", "99999999999999999999", "1000"] {
            #expect(scene.get("/customers?limit=\(limit)").status == 200)
        }
        #expect(scene.get("/customers?limit=1&limit=2").json["type"] == .string("invalid_request"))
        #expect(scene.get("/customers?limit=%FF").status == 400)
        #expect(scene.get("/customers/bob/aliases?starting_after=eve").json["param"] == .string("starting_after"))
        #expect(scene.get("/customers/bob/aliases?starting_after=bob").json["items"] == .array([]))
    }

    @Test func `a customer is made once, with attributes`() throws {
        let scene = try V2Fixture()
        func make(_ attributes: JSON?) -> HTTPCall {
            scene.post("/customers", .object(["id": .string("bob"), "attributes": attributes]))
        }
        let wrong = make(.array([.object(["name": .string("$nonsense"), "value": .string("a")])]))
        #expect(wrong.status == 400)
        #expect(wrong.json["param"] == .string("attributes"))
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.customer") == 0)
        let made = make(.array([.object(["name": .string("$email"), "value": .string("a@example.com")])]))
        #expect(made.status == 201)
        #expect(made.json["attributes"]?["items"]?.arrayValue?.first?["value"] == .string("a@example.com"))
        let again = make(nil)
        #expect(again.status == 409)
        #expect(again.json["type"] == .string("resource_already_exists"))
        #expect(scene.post("/customers", .object(["id": .string("null")])).json["type"] == .string("parameter_error"))
        let id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
        #expect(scene.post("/customers", .object(["id": .string(id)])).status == 201)
        #expect(scene.post("/customers", .object(["id": .string(id.uppercased())])).status == 409)
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.app_user_id") == 2, "no other spelling")
        #expect(scene.post("/customers", .object([])).json["param"] == .string("id"))
    }

    @Test func `attributes are set, listed and deleted`() throws {
        let scene = try V2Fixture()
        _ = scene.post("/customers", .object(["id": .string("bob")]))
        func set(_ items: [JSON]) -> HTTPCall {
            scene.post("/customers/bob/attributes", .object(["attributes": .array(items)]))
        }
        func item(_ name: String, _ value: JSON) -> JSON { .object(["name": .string(name), "value": value]) }
        let set1 = set([item("plan", .string("a")), item("$displayName", .string("Bob"))])
        #expect(set1.status == 200)
        #expect(set1.json["items"]?.arrayValue?.map { $0["name"] } == [.string("$displayName"), .string("plan")])
        #expect(scene.get("/customers/bob?expand=attributes").json["attributes"]?["items"]?.arrayValue?.count == 2)
        #expect(scene.get("/customers/bob").json["attributes"] == nil)
        #expect(set([item("plan", .null)]).json["items"]?.arrayValue?.count == 1)
        #expect(scene.get("/customers/bob/attributes").json["items"]?.arrayValue?.count == 1)
        let part = set([item("plan", .string("b")), item("no key", .string("a"))])
        #expect(part.status == 400)
        #expect(part.json["message"]?.stringValue?.contains("no key") == true)
        #expect(scene.get("/customers/bob/attributes").json["items"]?.arrayValue?.count == 1, "none was saved")
        let many = (0..<201).map { item("k\($0)", .null) }
        #expect(set(many).json["message"]?.stringValue?.contains("200") == true)
        for wrong in [
            [item("plan", .int(1))], [item("plan", .string("a")), item("plan", .string("b"))], [.string("plan")],
            [item("no key", .string("a"))], [.object(["name": .string("plan")])],
        ] {
            #expect(set(wrong).json["param"] == .string("attributes"))
        }
        #expect(scene.post("/customers/bob/attributes", .object([])).status == 400)
    }

    @Test func `of several calls that create one customer one does, and no other writes its attributes`() throws {
        let scene = try V2Fixture()
        for number in 0..<20 {
            let calls = (0..<4).map { caller in
                TestThread {
                    scene.post(
                        "/customers",
                        .object([
                            "id": .string("new-\(number)"),
                            "attributes": .array([
                                .object(["name": .string("from-\(caller)"), "value": .string("x")])
                            ]),
                        ])
                    ).status
                }
            }
            let statuses = try calls.map { try $0.value() }.sorted()
            #expect(statuses == [201, 409, 409, 409])
        }
        let counts = try scene.api.database.texts(
            "SELECT DISTINCT count(*)::text FROM entitled.customer_attribute GROUP BY app_user_id")
        #expect(counts == ["1"])
    }
}
