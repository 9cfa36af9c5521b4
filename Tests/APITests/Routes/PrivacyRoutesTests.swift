import API
import Base
import Database
import TestSupport
import Testing

@Suite struct PrivacyRoutesTests {
    private static let path = "/v1/subscribers/user-42/export"

    @Test func `an export is for secret keys alone`() throws {
        let api = try KeyedAPI()
        #expect(api.call("GET", Self.path, key: nil).status == 401)
        #expect(api.call("GET", Self.path, key: "sk_another_key_that_nobody_has").status == 401)
        #expect(api.call("GET", Self.path).status == 403)
        #expect(api.call("GET", Self.path, key: KeyedAPI.secretKey).status == 404)
    }

    @Test func `an export names the customer, and whoever asks for a stranger makes nobody`() throws {
        let api = try KeyedAPI()
        try CustomerTable.make(["user-42"], now: 1, on: try api.database.connect(role: "entitled_worker"))
        let call = api.call("GET", Self.path, key: KeyedAPI.secretKey)
        #expect(call.status == 200)
        #expect(call.json["customer"]?["original_app_user_id"] == .string("user-42"))
        #expect(call.json["version"] == .int(1) && call.json["purchases"] == .array([]))
        _ = api.call("GET", "/v1/subscribers/stranger/export", key: KeyedAPI.secretKey)
        #expect(try api.database.count("SELECT count(*) FROM entitled.customer") == 1)
    }

    @Test func `an export is of the id as it is, or of a UUID in any case`() throws {
        let api = try KeyedAPI()
        let uuid = "dddddddd-1111-4111-8111-00000000beef"
        try CustomerTable.make(["Kim", uuid], now: 1, on: try api.database.connect(role: "entitled_worker"))
        func status(_ id: String) -> Int {
            api.call("GET", "/v1/subscribers/\(id)/export", key: KeyedAPI.secretKey).status
        }
        #expect(status("Kim") == 200)
        #expect(status("kim") == 404)
        #expect(status(uuid.uppercased()) == 200)
    }

    @Test func `more than an answer holds names the command`() throws {
        let api = try EngineFixture(PrivacyRoutes(limit: 10, clock: SystemClock()).routes)
        try CustomerTable.make(["user-42"], now: 1, on: try api.database.connect(role: "entitled_worker"))
        let call = api.call("GET", Self.path, key: KeyedAPI.secretKey)
        #expect(call.status == 413)
        #expect(call.json["message"]?.stringValue?.contains("customers export") == true)
    }
}
