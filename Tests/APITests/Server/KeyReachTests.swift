import API
import Base
import Crypto
import Database
import HTTP
import Postgres
import TestSupport
import Testing

/// How far a key reaches: what one that may only read leaves alone, what a key of an app sees, and what an unknown one costs.
struct KeyReachTests {
    private func ids(_ api: KeyedAPI) throws -> [String] {
        try api.database.texts("SELECT id FROM entitled.app_user_id ORDER BY 1")
    }

    // MARK: - Scope

    @Test func `a key that may only read is answered of a stranger, and makes none`() throws {
        let api = try KeyedAPI(clock: ManualClock(4_000_000_000_000))
        let reading = try api.makeKey(.secret, scope: "read").key
        let path = "/v1/subscribers/stranger"
        let answer = api.call("GET", path, key: reading, headers: ["X-Platform": "ios"])
        #expect(answer.status == 200)
        let subscriber = try #require(answer.json["subscriber"])
        #expect(subscriber["original_app_user_id"] == .string("stranger"))
        #expect(subscriber["entitlements"] == .object([]) && subscriber["subscriptions"] == .object([]))
        #expect(try ids(api).isEmpty)
        #expect(try api.database.count("SELECT count(*) FROM entitled.customer") == 0)
        // Whoever may write makes the customer, and both answers have the same members.
        let made = api.call("GET", path, key: KeyedAPI.secretKey)
        #expect(made.status == 201)
        #expect(made.json["subscriber"]?.members?.map(\.name) == subscriber.members?.map(\.name))
        #expect(api.call("GET", path, key: reading).json["subscriber"] == made.json["subscriber"])
    }

    @Test func `a key that may only read finds a UUID in any case, and leaves no spelling of it behind`() throws {
        let api = try KeyedAPI(clock: ManualClock(4_000_000_000_000))
        let reading = try api.makeKey(.secret, scope: "read").key
        let id = "0a53b8ec-f4de-4bd2-a3a1-b7c1c9f3ad52"
        #expect(api.call("GET", "/v1/subscribers/\(id)").status == 201)
        let before = try ids(api)
        let answer = api.call("GET", "/v1/subscribers/\(id.uppercased())", key: reading)
        #expect(answer.status == 200)
        #expect(answer.json["subscriber"]?["original_app_user_id"] == .string(id))
        #expect(try ids(api) == before)
    }

    // MARK: - Apps

    @Test func `customers are of all apps of an installation, and so are their attributes`() throws {
        let api = try KeyedAPI()
        let (demo, other) = (try api.makeKey(.public, app: "demo").key, try api.makeKey(.public, app: "other").key)
        #expect(api.call("GET", "/v1/subscribers/alice", key: demo).status == 201)
        #expect(api.call("GET", "/v1/subscribers/alice", key: other).status == 200)
        let attributes: JSON = .object([
            "attributes": .object(["plan": .object(["value": .string("gold"), "updated_at_ms": .int(1)])])
        ])
        #expect(api.call("POST", "/v1/subscribers/alice/attributes", attributes, key: other).status == 200)
        // No public key shows them, whichever app it is of.
        for key in [demo, other] {
            let subscriber = api.call("GET", "/v1/subscribers/alice", key: key).json["subscriber"]
            #expect(subscriber != nil && subscriber?["subscriber_attributes"] == nil)
        }
        let whole = api.call("GET", "/v1/subscribers/alice", key: KeyedAPI.secretKey).json["subscriber"]
        #expect(whole?["subscriber_attributes"]?["plan"]?["value"] == .string("gold"))
    }

    // MARK: - Unknown keys

    @Test func `a key that was unknown works soon after it is made`() throws {
        let api = try KeyedAPI()
        let path = "/v1/product_entitlement_mapping"
        let key = "appl_made_later"
        for _ in 0..<3 { #expect(api.call("GET", path, key: key).status == 401) }
        try api.database.execute(
            """
            INSERT INTO entitled.api_key (id, kind, scope, hint, hash, created_ms) VALUES ('k', 'public', 'write', 'a', $1, 1)
            """, [.bytea(Digest.sha256(Array(key.utf8)))])
        try eventually(timeout: .seconds(5), "the key works") { api.call("GET", path, key: key).status == 200 }
    }

    @Test func `what is remembered of unknown keys is bounded`() {
        func digest(_ number: Int) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }
        var keys = UnknownKeys()
        let count = UnknownKeys.limit * 5
        for number in 0..<count { keys.insert(digest(number)) }
        #expect(((count - UnknownKeys.limit)..<count).allSatisfy { keys.contains(digest($0)) })
        #expect((0..<count).count { keys.contains(digest($0)) } <= 2 * UnknownKeys.limit)
    }
}
