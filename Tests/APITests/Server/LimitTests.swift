import API
import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// What callers are told beyond a limit, and who is not.
struct LimitTests {
    private static func limits(_ change: (inout LimitSettings) -> Void) -> LimitSettings {
        var limits = LimitSettings()
        change(&limits)
        return limits
    }

    private static func from(_ address: String) -> [String: String] { ["X-Forwarded-For": address] }

    @Test func `an address that asks too much is answered 429, others and backends go on`() throws {
        let api = try KeyedAPI { $0.limits.address = RequestLimit(points: 20, period: .seconds(3600)) }
        #expect(api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.7")).status == 201)
        // The first cost eleven.
        for _ in 0..<9 {
            #expect(api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.7")).status == 200)
        }
        let refused = api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.7"))
        #expect(refused.status == 429)
        #expect(refused.json["code"] == .int(7638) && refused.json["message"]?.stringValue != nil)
        let wait = try #require(refused.header("retry-after").flatMap { Int($0) })
        #expect((1...180).contains(wait))
        #expect(api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.8")).status == 200)
        for _ in 0..<50 {
            let backend = api.call(
                "GET", "/v1/subscribers/somebody", key: KeyedAPI.secretKey, headers: Self.from("203.0.113.7"))
            #expect(backend.status == 200)
        }
        #expect(
            api.metrics.exposition().contains(
                #"entitled_api_limited_total{limit="address",route="/v1/subscribers/{app_user_id}"} 1"#))
        try api.log.wait(for: "203.0.113.7")
    }

    @Test func `one app user id is limited from wherever it is asked for, and no other`() throws {
        let api = try KeyedAPI { $0.limits.appUserID = RequestLimit(points: 5, period: .seconds(3600)) }
        let statuses = (0..<7).map {
            api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.\($0)")).status
        }
        #expect(statuses == [201, 200, 200, 200, 200, 429, 429])
        #expect(api.call("GET", "/v1/subscribers/another", headers: Self.from("203.0.113.1")).status == 201)
    }

    @Test func `a public key has a ceiling, and a secret one none`() throws {
        let api = try KeyedAPI { $0.limits.publicKey = RequestLimit(points: 15, period: .seconds(3600)) }
        let statuses = (0..<7).map {
            api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.\($0)")).status
        }
        #expect(statuses == [201, 200, 200, 200, 200, 429, 429])
        #expect(api.call("GET", "/v1/subscribers/somebody", key: KeyedAPI.secretKey).status == 200)
    }

    @Test func `writing costs five times as much, and a large body more`() throws {
        let routes = [
            APIRoute("POST", "/v1/write", .anyKey) { _ in .response(.document(200, .object([]))) },
            APIRoute("GET", "/v1/read", .anyKey) { _ in .response(.document(200, .object([]))) },
        ]
        func api() throws -> EngineFixture {
            try EngineFixture(
                routes, limits: Self.limits { $0.address = RequestLimit(points: 10, period: .seconds(3600)) })
        }
        let body: JSON = .object(["text": .string("short")])
        let first = try api()
        let source = Self.from("203.0.113.7")
        let writes = (0..<3).map { _ in first.call("POST", "/v1/write", body, headers: source).status }
        #expect(writes == [200, 200, 429])
        let second = try api()
        let reads = (0..<11).map { _ in second.call("GET", "/v1/read", headers: source).status }
        #expect(reads == Array(repeating: 200, count: 10) + [429])
        let third = try api()
        let large: JSON = .object(["text": .string(String(repeating: "a", count: 5 * 16_384))])
        let largeWrites = (0..<2).map { _ in third.call("POST", "/v1/write", large, headers: source).status }
        #expect(largeWrites == [200, 429])
    }

    /// So that an installation whose proxy tells no addresses does not become one client.
    @Test func `who has no address of their own has no limit by it, and the operator is told once`() throws {
        let api = try KeyedAPI { settings in
            settings.limits.address = RequestLimit(points: 1, period: .seconds(3600))
            settings.limits.appUserID = RequestLimit(points: 5, period: .seconds(3600))
        }
        let host = ["Host": "api.example.com"]
        let told = #""message":"client addresses not determined""#
        #expect(api.call("GET", "/v1/health", key: nil, headers: host).status == 200)
        #expect(api.call("GET", "/v1/subscribers/somebody", key: KeyedAPI.secretKey, headers: host).status == 201)
        #expect(!api.log.text.contains(told))
        for number in 0..<10 {
            #expect(api.call("GET", "/v1/subscribers/user-\(number)", headers: host).status == 201)
            let inside = api.call(
                "GET", "/v1/subscribers/user-\(number)", headers: host.merging(Self.from("10.0.0.\(number)")) { $1 })
            #expect(inside.status == 200)
        }
        #expect(api.log.text.split(separator: "\n").count { $0.contains(told) } == 1)
        // All other limits hold.
        let statuses = (0..<5).map { _ in api.call("GET", "/v1/subscribers/user-0", headers: host).status }
        #expect(statuses == [200, 200, 200, 429, 429])
    }

    /// Who knows the number of an Apple account can name it; but only what Apple signed counts for it.
    @Test func `a post that names an Apple account counts for it once it is verified`() throws {
        let routes = ["/v1/receipts", "/v1/subscribers/identify"].map { path in
            APIRoute("POST", path, .anyKey) { call in
                if try call.json()["genuine"] == .bool(true) { call.request.countForAccount() }
                return .response(.document(200, .object([])))
            }
        }
        let api = try EngineFixture(
            routes, limits: Self.limits { $0.appleAccount = RequestLimit(points: 10, period: .seconds(3600)) })
        func jws(_ account: String) -> JSON {
            .string("e30.\(Base64.encodeURL(JSON.object(["appTransactionId": .string(account)]).bytes)).e30")
        }
        func post(
            _ account: String, isGenuine: Bool, to path: String = "/v1/receipts", key: String = KeyedAPI.publicKey
        ) -> Int {
            api.call(
                "POST", path, .object(["fetch_token": jws(account), "genuine": .bool(isGenuine)]), key: key,
                headers: Self.from("203.0.113.7")
            ).status
        }
        for _ in 0..<9 {
            #expect(post("7000", isGenuine: false) == 200)
            #expect(post("7000", isGenuine: false, key: KeyedAPI.secretKey) == 200)
            // It verifies nothing of the kind.
            #expect(post("7000", isGenuine: true, to: "/v1/subscribers/identify") == 200)
        }
        #expect((0..<3).map { _ in post("7000", isGenuine: true) } == [200, 200, 503])
        #expect(post("7001", isGenuine: true) == 200)
        // An app transaction beside a receipt is not verified, and names nobody.
        let beside = JSON.object(["fetch_token": .string("MIIB"), "app_transaction": jws("7000")])
        #expect(api.call("POST", "/v1/receipts", beside, headers: Self.from("203.0.113.7")).status == 200)
    }

    /// Every limit that is refused writes to the log, but one offender once in half a minute, and never a flood of
    /// lines.
    @Test func `offenders are logged once, and many of them in some lines`() throws {
        let api = try KeyedAPI { $0.limits.address = RequestLimit(points: 1, period: .seconds(3600)) }
        for _ in 0..<3 {
            for number in 0..<60 {
                _ = api.call("GET", "/v1/health", key: nil, headers: Self.from("203.0.113.\(number)"))
            }
        }
        let lines = api.log.text.split(separator: "\n").filter { $0.contains("requests limited") }
        #expect(lines.count == 20)
        #expect(Set(lines.compactMap { try? JSON(parsing: Array($0.utf8))["offender"]?.stringValue }).count == 20)
    }

    @Test func `unknown keys use up what their address has`() throws {
        let api = try KeyedAPI { $0.limits.address = RequestLimit(points: 10, period: .seconds(3600)) }
        let statuses = (0..<4).map { number in
            api.call(
                "GET", "/v1/subscribers/somebody", key: "appl_unknown_\(number)", headers: Self.from("203.0.113.7")
            )
            .status
        }
        #expect(statuses == [401, 401, 429, 429])
        #expect(api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.8")).status == 201)
    }

    @Test func `off is no limit`() throws {
        let api = try KeyedAPI { settings in
            settings.limits.address = .off
            settings.limits.appUserID = .off
            settings.limits.publicKey = .off
        }
        for _ in 0..<1300 { #expect(api.call("GET", "/v1/health").status == 200) }
    }
}
