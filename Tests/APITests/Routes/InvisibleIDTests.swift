import API
import Base
import HTTP
import Postgres
import TestSupport
import Testing

/// Ids with characters that are not seen: no new customer has one, and a customer who has one already keeps it.
struct InvisibleIDTests {
    private static let ids = ["a%E2%80%8B", "%E2%80%AEa", "%EF%BF%BF", "a%C2%A0b"]

    @Test(arguments: ids)
    func `asking for one makes nobody`(id: String) throws {
        let scene = try IdentityFixture()
        for key in [KeyedAPI.publicKey, KeyedAPI.secretKey] {
            let answer = scene.api.call("GET", "/v1/subscribers/\(id)", key: key)
            #expect(answer.status == 400)
            #expect(answer.json["code"] == .int(7256))
            #expect(answer.json["message"]?.stringValue?.contains("U+") == true)
        }
        let name = try #require(PercentEncoding.decode(id[...]))
        _ = scene.api.call("GET", "/v1/subscribers/ada")
        for answer in [
            scene.post("/v1/subscribers/identify", ["app_user_id": .string("ada"), "new_app_user_id": .string(name)]),
            scene.post("/v1/subscribers/identify", ["app_user_id": .string(name), "new_app_user_id": .string("ada")]),
            scene.post("/v1/subscribers/ada/alias", ["new_app_user_id": .string(name)], key: KeyedAPI.secretKey),
            scene.post("/v1/subscribers/\(id)/attributes", ["attributes": .object([])]),
        ] {
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.json["code"] == .int(7256))
        }
        #expect(try scene.api.database.texts("SELECT id FROM entitled.app_user_id") == ["ada"])
    }

    @Test(arguments: ids)
    func `one that is there is read, used and deleted`(id: String) throws {
        let scene = try IdentityFixture()
        let name = try #require(PercentEncoding.decode(id[...]))
        for table in ["customer (original_app_user_id", "app_user_id (id, original_app_user_id"] {
            let values = table.hasPrefix("app") ? "$1, $1" : "$1"
            try scene.api.database.execute(
                "INSERT INTO entitled.\(table), first_seen_ms) VALUES (\(values), 5)", [.text(name)])
        }
        #expect(scene.api.call("GET", "/v1/subscribers/\(id)").status == 200)
        let attributes: JSON = .object(["plan": .object(["value": .string("gold"), "updated_at_ms": .int(1)])])
        #expect(scene.post("/v1/subscribers/\(id)/attributes", ["attributes": attributes]).status == 200)
        let join = scene.post(
            "/v1/subscribers/identify", ["app_user_id": .string(name), "new_app_user_id": .string("ada")])
        #expect(join.status == 201, "\(join.text)")
        #expect(scene.api.call("DELETE", "/v1/subscribers/\(id)", key: KeyedAPI.secretKey).status == 200)
        #expect(scene.api.call("GET", "/v1/subscribers/\(id)").status == 400)
    }

    @Test func `one that is refused fails nobody who asks at the same time`() throws {
        let scene = try IdentityFixture()
        let threads = (0..<24).map { number in
            let (id, wanted) = number % 3 == 0 ? ("a%E2%80%8B", 400) : ("customer-\(number)", 201)
            return TestThread { scene.api.call("GET", "/v1/subscribers/\(id)").status == wanted }
        }
        #expect(try threads.allSatisfy { try $0.value() })
    }
}
