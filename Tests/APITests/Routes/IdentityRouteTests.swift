import API
import Base
import Customers
import Database
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

struct IdentityRouteTests {
    private static let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"

    // MARK: - Keys

    /// Method, path, and whether a public key suffices.
    private static let routes: [(String, String, Bool)] = [
        ("POST", "/v1/subscribers/identify", true), ("POST", "/v1/subscribers/al/alias", true),
        ("POST", "/v1/subscribers/al/restore/eligibility", true), ("POST", "/v1/subscribers/al/attributes", true),
        ("POST", "/v1/subscribers/al/attribution", true),
        ("POST", "/v1/subscribers/al/adservices_attribution", true),
        ("POST", "/v1/subscribers/al/restore_behavior", false), ("DELETE", "/v1/subscribers/al", false),
    ]

    @Test func `who may call is asked first`() throws {
        let scene = try IdentityFixture()
        for (method, path, isPublic) in Self.routes {
            for key in [nil, "appl_another_key"] {
                let answer = scene.api.call(method, path, .object([]), key: key)
                #expect(answer.status == 401, "\(path)")
                #expect(answer.json["code"] == .int(7225))
            }
            let answer = scene.api.call(method, path, .object([]))
            #expect((answer.status == 403) == !isPublic, "\(path)")
        }
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.app_user_id") == 0)
    }

    @Test(arguments: ["identify", "al/alias", "al/restore/eligibility", "al/attributes", "al/attribution"])
    func `a body that is no object, or says nothing, is 400`(path: String) throws {
        let scene = try IdentityFixture()
        #expect(scene.api.call("POST", "/v1/subscribers/\(path)", .array([])).json["code"] == .int(7226))
        let empty = scene.post("/v1/subscribers/\(path)")
        #expect(empty.status == 400)
        #expect(empty.json["code"]?.intValue != nil)
    }

    // MARK: - Who is who

    @Test func `logging in says 201 once, and answers with who it is now`() throws {
        let scene = try IdentityFixture()
        func logIn(_ id: String, _ other: String) -> HTTPCall {
            scene.post("/v1/subscribers/identify", ["app_user_id": .string(id), "new_app_user_id": .string(other)])
        }
        let first = logIn(Self.anonymous, "bob")
        #expect(first.status == 201)
        #expect(first.json["subscriber"]?["original_app_user_id"] == .string(Self.anonymous))
        #expect(first.json["subscriber"]?["subscriber_attributes"] == nil)
        #expect(logIn(Self.anonymous, "bob").status == 200)
        let switched = logIn("bob", "carol")
        #expect(switched.status == 201)
        #expect(switched.json["subscriber"]?["original_app_user_id"] == .string("carol"))
        for (id, code) in [("", Int64(7220)), ("null", 7256), ("a/b", 7256)] {
            #expect(logIn("bob", id).json["code"] == .int(code))
            #expect(logIn(id, "bob").status == 400)
        }
    }

    @Test func `an alias is an empty object, and two persons are joined for backends only`() throws {
        let scene = try IdentityFixture()
        func alias(_ id: String, _ other: String, key: String = KeyedAPI.publicKey) -> HTTPCall {
            scene.post("/v1/subscribers/\(id)/alias", ["new_app_user_id": .string(other)], key: key)
        }
        let made = alias("$RCAnonymousID%3A0123456789abcdef0123456789abcdef", "bob")
        #expect(made.status == 200)
        #expect(made.text == "{}\n")
        #expect(alias("bob", "bob").status == 200)
        #expect(alias("bob", "robert").status == 200)
        #expect(scene.subscriber("robert")["original_app_user_id"] == .string(Self.anonymous))
        #expect(alias("al", "albert").status == 200)
        let refused = alias("al", "bob")
        #expect(refused.status == 400)
        #expect(refused.json["code"] == .int(7255))
        #expect(scene.subscriber("al")["original_app_user_id"] == .string("al"))
        #expect(alias("al", "bob", key: KeyedAPI.secretKey).status == 200)
        #expect(scene.subscriber("al")["original_app_user_id"] == .string(Self.anonymous))
        #expect(alias("al", "none").json["code"] == .int(7256))
    }

    @Test func `who is deleted is gone under every id, with what was said of them`() throws {
        let scene = try IdentityFixture()
        _ = scene.post(
            "/v1/subscribers/identify", ["app_user_id": .string(Self.anonymous), "new_app_user_id": .string("bob")])
        let attributes = JSON.object(["k": .object(["value": .string("v")])])
        #expect(scene.post("/v1/subscribers/bob/attributes", ["attributes": attributes]).status == 200)
        let answer = scene.api.call("DELETE", "/v1/subscribers/bob", key: KeyedAPI.secretKey)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"app_user_id":"bob","deleted":true}"# + "\n")
        for table in ["customer", "app_user_id", "customer_attribute"] {
            #expect(try scene.api.database.count("SELECT count(*) FROM entitled.\(table)") == 0)
        }
        let again = scene.api.call("DELETE", "/v1/subscribers/bob", key: KeyedAPI.secretKey)
        #expect(again.status == 404)
        #expect(again.json["code"] == .int(7259))
    }

    @Test func `many are made at once, and spellings of one UUID are one customer`() throws {
        let scene = try IdentityFixture()
        let connection = try scene.api.database.connect(role: "entitled_api")
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let uuid = "abcdefab-cdef-4abc-8def-abcdefabcdef"
        let ids: Set = ["al", "bo", "AL", uuid, uuid.uppercased()]
        #expect(try actions.admit("al", on: connection))
        #expect(try actions.admit(ids, on: connection) == ["bo", "AL", uuid.uppercased()])
        #expect(try CustomerTable.load([uuid], on: connection)[uuid]?.appUserIDs.count == 2)
        #expect(try scene.api.database.count("SELECT count(*) FROM entitled.customer") == 4)
        #expect(try actions.admit(ids, on: connection) == [])
    }

    @Test func `apps may give a customer a hundred ids, and no more`() throws {
        let scene = try IdentityFixture()
        let uuid = "abcdefab-cdef-4abc-8def-abcdefabcdef"
        _ = scene.subscriber(uuid)
        let connection = try scene.api.database.connect()
        func count() throws -> Int { try CustomerTable.load([uuid], on: connection)[uuid]?.appUserIDs.count ?? 0 }
        func alias(_ number: Int, key: String = KeyedAPI.publicKey) -> HTTPCall {
            let id = "$RCAnonymousID:\(String(repeating: "0", count: 28))\(1000 + number)"
            return scene.post("/v1/subscribers/\(uuid)/alias", ["new_app_user_id": .string(id)], key: key)
        }
        #expect((1...99).allSatisfy { alias($0).status == 200 })
        #expect(alias(100).status == 400)
        #expect(alias(100).json["code"] == .int(7255))
        // What it has already is no further one.
        #expect(alias(99).status == 200)
        #expect(scene.subscriber(uuid.uppercased())["original_app_user_id"] == .string(uuid.uppercased()))
        #expect(try count() == 100)
        #expect(alias(100, key: KeyedAPI.secretKey).status == 200)
        #expect(try count() == 101)
    }

    // MARK: - Restoring

    @Test func `the key of an app learns nothing of another app's purchases`() throws {
        let scene = try IdentityFixture()
        var life = SubscriberLife(seed: 4)
        _ = life.start(at: SystemClock().now() - 1_000)
        let token = try scene.token(life)
        let connection = try scene.api.database.connect()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        for app in [nil, "demo"] {
            #expect(try scene.restoring.isAllowed(token, of: app, to: "bob", actions, on: connection))
        }
        let refusal = #expect(throws: APIError.self) {
            try scene.restoring.isAllowed(token, of: "other", to: "bob", actions, on: connection)
        }
        #expect(refusal?.status == 403)
    }

    @Test func `whether a purchase may be restored is told before, and nothing changes`() throws {
        let scene = try IdentityFixture(
            RestoreSettings(general: .transfer, apps: ["demo": .init(behavior: .keep, sandboxBehavior: nil)]))
        var life = SubscriberLife(seed: 3)
        _ = life.start(at: SystemClock().now() - 1_000)
        let token = try scene.token(life)
        func isAllowed(_ id: String) -> JSON? {
            scene.post("/v1/subscribers/\(id)/restore/eligibility", ["fetch_token": .string(token)])
                .json["is_purchase_allowed_by_restore_behavior"]
        }
        // Nobody has it.
        #expect(isAllowed("thief") == .bool(true))
        for id in ["bob", "bob-2"] { _ = scene.subscriber(id) }
        try scene.own(life, by: "bob")
        #expect(isAllowed("bob") == .bool(true))
        #expect(isAllowed("thief") == .bool(false))
        // The owner's own setting comes before that of the app; the restorer's counts for nothing.
        func set(_ value: JSON, of id: String) -> HTTPCall {
            scene.post(
                "/v1/subscribers/\(id)/restore_behavior", ["restore_behavior": value], key: KeyedAPI.secretKey)
        }
        _ = scene.subscriber("thief")
        #expect(set(.string("transfer"), of: "thief").status == 200)
        #expect(isAllowed("thief") == .bool(false))
        #expect(set(.string("transfer"), of: "bob").status == 200)
        #expect(isAllowed("thief") == .bool(true))
        #expect(set(.null, of: "bob").status == 200)
        #expect(isAllowed("thief") == .bool(false))
        #expect(set(.string("mine"), of: "bob").json["code"] == .int(7226))
        #expect(scene.post("/v1/subscribers/bob/restore_behavior", key: KeyedAPI.secretKey).status == 400)
        #expect(set(.string("error"), of: "nobody").status == 404)
        #expect(
            try scene.api.database.texts("SELECT DISTINCT owner FROM entitled.purchase") == ["bob"])
        let told = try scene.api.database.texts("SELECT app_user_id || ' ' || detail FROM entitled.action ORDER BY seq")
        #expect(
            told == [
                #"thief {"restore_behavior":"transfer"}"#, #"bob {"restore_behavior":"transfer"}"#,
                #"bob {"restore_behavior":null}"#,
            ])
    }

    @Test func `what Apple did not sign for this app is judged by nobody`() throws {
        let scene = try IdentityFixture()
        func code(_ token: String) -> Int64? {
            let answer = scene.post("/v1/subscribers/al/restore/eligibility", ["fetch_token": .string(token)])
            return answer.status == 400 ? answer.json["code"]?.intValue : nil
        }
        var life = SubscriberLife(seed: 4)
        _ = life.start(at: SystemClock().now() - 1_000)
        let genuine = try scene.token(life)
        #expect(code("MIIB…receipt") == 7662)
        #expect(code("jws-token") == 7662)
        #expect(code("a.b.c") == 7103)
        #expect(code(String(genuine.dropLast(8)) + "AAAAAAAA") == 7103)
        let other = SubscriberLife(app: StoreApp(bundleID: "com.example.another"), seed: 5)
        var stranger = other
        _ = stranger.start(at: SystemClock().now() - 1_000)
        #expect(code(try scene.token(stranger)) == 7103)
        #expect(code(genuine) == nil)
    }
}
