import API
import Base
import HTTPServer
import Telemetry
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
        let api = try RunningAPI(limits: Self.limits { $0.address = RequestLimit(points: 20, period: .seconds(3600)) })
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
                "GET", "/v1/subscribers/somebody", key: RunningAPI.secretKey, headers: Self.from("203.0.113.7"))
            #expect(backend.status == 200)
        }
        #expect(
            api.metrics.exposition().contains(
                #"entitled_api_limited_total{limit="address",route="/v1/subscribers/{app_user_id}"} 1"#))
        try api.log.wait(for: "203.0.113.7")
    }

    @Test func `one app user id is limited from wherever it is asked for, and no other`() throws {
        let api = try RunningAPI(limits: Self.limits { $0.appUserID = RequestLimit(points: 5, period: .seconds(3600)) })
        let statuses = (0..<7).map {
            api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.\($0)")).status
        }
        #expect(statuses == [201, 200, 200, 200, 200, 429, 429])
        #expect(api.call("GET", "/v1/subscribers/another", headers: Self.from("203.0.113.1")).status == 201)
    }

    @Test func `a public key has a ceiling, and a secret one none`() throws {
        let api = try RunningAPI(
            limits: Self.limits { $0.publicKey = RequestLimit(points: 15, period: .seconds(3600)) })
        let statuses = (0..<7).map {
            api.call("GET", "/v1/subscribers/somebody", headers: Self.from("203.0.113.\($0)")).status
        }
        #expect(statuses == [201, 200, 200, 200, 200, 429, 429])
        #expect(api.call("GET", "/v1/subscribers/somebody", key: RunningAPI.secretKey).status == 200)
    }

    @Test func `writing costs five times as much, and a large body more`() throws {
        let routes = [
            APIRoute("POST", "/v1/write", .anyKey) { _ in .response(.document(200, .object([]))) },
            APIRoute("GET", "/v1/read", .anyKey) { _ in .response(.document(200, .object([]))) },
        ]
        func api() throws -> RunningAPI {
            try RunningAPI(
                more: routes, limits: Self.limits { $0.address = RequestLimit(points: 10, period: .seconds(3600)) })
        }
        let body: JSON = .object(["text": .string("short")])
        let first = try api()
        #expect((0..<3).map { _ in first.call("POST", "/v1/write", body).status } == [200, 200, 429])
        let second = try api()
        #expect((0..<11).map { _ in second.call("GET", "/v1/read").status } == Array(repeating: 200, count: 10) + [429])
        let third = try api()
        let large: JSON = .object(["text": .string(String(repeating: "a", count: 5 * 16_384))])
        #expect((0..<2).map { _ in third.call("POST", "/v1/write", large).status } == [200, 429])
    }

    /// Every limit that is refused writes to the log, but one offender once in half a minute, and never a flood of
    /// lines.
    @Test func `offenders are logged once, and many of them in some lines`() throws {
        let api = try RunningAPI(limits: Self.limits { $0.address = RequestLimit(points: 1, period: .seconds(3600)) })
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
        let api = try KeyedAPI(
            limits: Self.limits { $0.address = RequestLimit(points: 10, period: .seconds(3600)) })
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
        let api = try RunningAPI(
            limits: Self.limits { limits in
                limits.address = .off
                limits.appUserID = .off
                limits.publicKey = .off
            })
        for _ in 0..<1300 { #expect(api.call("GET", "/v1/health").status == 200) }
    }
}
