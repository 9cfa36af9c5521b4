import API
import Base
import Database
import HTTP
import Postgres
import TestSupport
import Testing

/// Keys of the database: made, used, revoked while the listener runs, and while the database is away.
struct KeyTests {
    private static let path = "/v1/product_entitlement_mapping"

    @Test func `a key that was just made works at once`() throws {
        let api = try KeyedAPI()
        for _ in 0..<3 {
            let key = try api.makeKey(.public).key
            #expect(api.call("GET", KeyTests.path, key: key).status == 200)
        }
    }

    @Test func `a revoked key ends within five seconds`() throws {
        let api = try KeyedAPI()
        let (id, key) = try api.makeKey(.secret)
        #expect(api.call("GET", KeyTests.path, key: key).status == 200)
        try api.revoke(id)
        try eventually(timeout: .seconds(5), "the key is refused") {
            api.call("GET", KeyTests.path, key: key).status == 401
        }
        // And stays so, although it is looked for again.
        #expect(api.call("GET", KeyTests.path, key: key).json["code"] == .int(7225))
    }

    @Test func `the kind, the scope and the app of a key of the database count`() throws {
        let api = try KeyedAPI()
        let reading = try api.makeKey(.secret, scope: "read").key
        let refused = api.call("POST", "/v1/subscribers/a/offerings/sale/override", key: reading)
        #expect(refused.status == 403)
        #expect(refused.json["message"] == .string("This API key may only read."))
        #expect(api.call("GET", KeyTests.path, key: reading).status == 200)
        let apps = try api.makeKey(.public, app: "demo").key
        #expect(api.call("POST", "/v1/subscribers/a/offerings/sale/override", key: apps).status == 403)
        let body: JSON = .object([
            "app_user_id": .string("a"),
            "generate_offers": .array([.object(["offer_id": .string("o"), "product_id": .string("p")])]),
        ])
        let foreign = api.call(
            "POST", "/v1/offers", body, key: apps, headers: ["X-Client-Bundle-ID": "com.example.other"])
        #expect(foreign.status == 403)
        #expect(foreign.json["code"] == .int(7225))
    }

    @Test func `a key is taken with Bearer and without`() throws {
        let api = try KeyedAPI()
        for value in [KeyedAPI.publicKey, "Bearer \(KeyedAPI.publicKey)", "bearer \(KeyedAPI.publicKey)"] {
            #expect(api.call("GET", KeyTests.path, key: nil, headers: ["Authorization": value]).status == 200)
        }
        for value in ["Basic \(KeyedAPI.publicKey)", "Bearer", "", "Bearer \(KeyedAPI.publicKey) x"] {
            #expect(
                api.call("GET", KeyTests.path, key: nil, headers: ["Authorization": value]).status == 401, "\(value)")
        }
    }

    @Test func `a backend may say for which platform it asks, an app with a secret key is refused`() throws {
        let api = try KeyedAPI()
        func status(_ headers: [String: String]) -> Int {
            api.call("GET", KeyTests.path, key: KeyedAPI.secretKey, headers: headers).status
        }
        #expect(status(["X-Platform": "ios"]) == 200)
        #expect(status(["X-Platform": "ios", "X-Version": "5.0.0"]) == 200)
        #expect(status(["X-Client-Bundle-ID": "com.example.app"]) == 403)
        #expect(status(["X-Version": "5.0.0", "X-Platform-Version": "17.0"]) == 403)
    }

    @Test func `it is noted to the minute when a key was used, and not again in that minute`() throws {
        let clock = ManualClock(1_790_000_015_000)
        let api = try KeyedAPI(clock: clock)
        let (id, key) = try api.makeKey(.public)
        let read = "SELECT coalesce(last_used_ms, 0) FROM entitled.api_key WHERE id = $1"
        #expect(api.call("GET", KeyTests.path, key: key).status == 200)
        try eventually("the use is noted") { try api.database.count(read, [.text(id)]) == 1_789_999_980_000 }
        try api.database.execute("UPDATE entitled.api_key SET last_used_ms = 7")
        #expect(api.call("GET", KeyTests.path, key: key).status == 200)
        // Another new key makes the refresher look, and write what there is to write.
        #expect(api.call("GET", KeyTests.path, key: try api.makeKey(.public).key).status == 200)
        #expect(try api.database.count(read, [.text(id)]) == 7)
        clock.advance(by: .seconds(60))
        #expect(api.call("GET", KeyTests.path, key: key).status == 200)
        try eventually("the next minute is noted") { try api.database.count(read, [.text(id)]) == 1_790_000_040_000 }
    }

    @Test func `without the database known keys go on, and of others nobody says that they are wrong`() throws {
        let cluster = try TestCluster()
        let api = try KeyedAPI(cluster: cluster)
        let known = try api.makeKey(.public).key
        #expect(api.call("GET", KeyTests.path, key: known).status == 200)
        let late = try api.makeKey(.public).key
        try cluster.stop()
        // Reads nothing, but needs a connection: what counts is that the key is not what is refused.
        for key in [known, KeyedAPI.publicKey] { #expect(api.call("GET", KeyTests.path, key: key).status == 503) }
        let away = api.call("GET", KeyTests.path, key: late)
        #expect(away.status == 503)
        #expect(away.text.contains("API key cannot be checked"))
        #expect(!api.call("GET", KeyTests.path, key: known).text.contains("API key cannot be checked"))
        #expect(api.call("GET", KeyTests.path, key: nil).status == 401)
        try cluster.start()
        try eventually("the database is back") { api.call("GET", KeyTests.path, key: late).status == 200 }
        #expect(api.call("GET", KeyTests.path, key: "appl_of_nobody").status == 401)
    }

    @Test func `many with unknown keys at once are each answered, and a good key beside them works`() throws {
        let api = try KeyedAPI()
        let port = api.port
        let threads = (0..<16).map { number in
            TestThread {
                for round in 0..<3 {
                    let answer = HTTPCall.send(
                        "GET", KeyTests.path, headers: ["Authorization": "appl_tried_out_\(number)_\(round)"], to: port)
                    guard answer.status == 401 else { throw TestFailure("status \(answer.status)") }
                }
            }
        }
        let key = try api.makeKey(.public).key
        #expect(api.call("GET", KeyTests.path, key: key).status == 200)
        for thread in threads { try thread.value() }
    }
}
