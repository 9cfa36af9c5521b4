import API
import Base
import Database
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Granting and taking back by REST, as the role that the api has.
struct GrantRouteTests {
    private static let catalogue = EntitlementCatalogue(["pro": ["monthly"], "basic": []])
    private static let path = "/v1/subscribers/bob/entitlements/pro"
    private static let day: Int64 = 86_400_000

    private func running() throws -> KeyedAPI {
        try KeyedAPI { $0.catalogue = Self.catalogue }
    }

    private func grant(_ api: KeyedAPI, _ body: JSON, path: String = path) -> HTTPCall {
        api.call("POST", path + "/promotional", body, key: KeyedAPI.secretKey)
    }

    @Test func `a grant is answered 201 with the customer who has it, and taken back 200`() throws {
        let api = try running()
        let before = SystemClock().now()
        let given = grant(api, .object(["duration": .string("monthly")]))
        #expect(given.status == 201)
        let subscription = try #require(given.json["subscriber"]?["subscriptions"]?["rc_promo_pro_monthly"])
        #expect(subscription["store"] == .string("promotional"))
        #expect(subscription["period_type"] == .string("normal"))
        let entitlement = try #require(given.json["subscriber"]?["entitlements"]?["pro"])
        let end = try #require(entitlement["expires_date"]?.stringValue.flatMap(Timestamp.parse))
        #expect(end > before + 27 * Self.day && end < before + 32 * Self.day)
        #expect(grant(api, .object(["duration": .string("monthly")])).json["subscriber"] != nil)
        #expect(try api.database.count("SELECT count(*) FROM entitled.event") == 1)

        let taken = api.call("POST", Self.path + "/revoke_promotionals", key: KeyedAPI.secretKey)
        #expect(taken.status == 200)
        let over = try #require(
            taken.json["subscriber"]?["entitlements"]?["pro"]?["expires_date"]?.stringValue.flatMap(Timestamp.parse))
        #expect(over <= SystemClock().now())
        #expect(api.call("POST", Self.path + "/revoke_promotionals", key: KeyedAPI.secretKey).status == 200)
        #expect(try api.database.count("SELECT count(*) FROM entitled.event") == 3)
        #expect(
            try api.database.texts("SELECT kind || ' ' || actor FROM entitled.action ORDER BY seq")
                == ["grant api", "revoke api"])
    }

    @Test func `a grant for ever has no end`() throws {
        let given = grant(try running(), .object(["duration": .string("lifetime")]))
        #expect(given.json["subscriber"]?["entitlements"]?["pro"]?["expires_date"] == .null)
        #expect(given.json["subscriber"]?["subscriptions"]?["rc_promo_pro_lifetime"]?["expires_date"] == .null)
    }

    @Test func `the end can be named, or counted from another start`() throws {
        let api = try running()
        let now = SystemClock().now()
        func end(_ body: JSON) -> JSON? {
            grant(api, body).json["subscriber"]?["entitlements"]?["pro"]?["expires_date"]
        }
        #expect(end(.object(["end_time_ms": .int(now + Self.day)])) == .date(now + Self.day))
        let start = now - 5 * Self.day
        #expect(
            end(.object(["start_time_ms": .int(start), "duration": .string("weekly")])) == .date(start + 7 * Self.day))
        // As RevenueCat's own example has it: the end counts.
        let both = JSON.object([
            "start_time_ms": .int(now), "end_time_ms": .int(now + 9 * Self.day), "duration": .string("daily"),
        ])
        #expect(end(both) == .date(now + 9 * Self.day))
    }

    @Test(arguments: [
        "{}", "[]", "", "{\"duration\":\"fortnight\"}", "{\"duration\":7}", "{\"end_time_ms\":\"soon\"}",
        "{\"end_time_ms\":1}", "{\"duration\":\"daily\",\"start_time_ms\":1}", "{\"end_time_ms\":9223372036854775807}",
        "{\"duration\":\"yearly\",\"start_time_ms\":9223372036854775807}", "{\"duration\":null,\"end_time_ms\":null}",
    ])
    func `what cannot be granted is 400 and says why`(body: String) throws {
        let api = try running()
        let answer = HTTPCall.send(
            "POST", Self.path + "/promotional", headers: ["Authorization": "Bearer \(KeyedAPI.secretKey)"],
            body: Array(body.utf8), to: api.port)
        #expect(answer.status == 400)
        #expect(answer.json["code"] == .int(7226))
        // As any other answer: a sentence.
        let message = try #require(answer.json["message"]?.stringValue)
        #expect(message.first?.isUppercase == true || message.hasPrefix("duration") || message.hasPrefix("end_time_ms"))
        #expect(message.hasSuffix("."))
        #expect(try api.database.count("SELECT count(*) FROM entitled.customer") == 0)
    }

    @Test func `a duration that nobody knows is answered with those that there are`() throws {
        let message = grant(try running(), .object(["duration": .string("fortnight")])).json["message"]?.stringValue
        for duration in GrantDuration.allCases { #expect(message?.contains(duration.rawValue) == true) }
    }

    @Test func `an entitlement, or a customer, that nobody knows is 404`() throws {
        let api = try running()
        let other = "/v1/subscribers/bob/entitlements/gold"
        let answer = grant(api, .object(["duration": .string("daily")]), path: other)
        #expect(answer.status == 404)
        #expect(answer.json["code"] == .int(7259))
        #expect(answer.json["message"]?.stringValue?.contains("basic, pro") == true)
        let revoke = { (path: String) in api.call("POST", path + "/revoke_promotionals", key: KeyedAPI.secretKey) }
        #expect(revoke(Self.path).status == 404)
        #expect(try api.database.count("SELECT count(*) FROM entitled.customer") == 0)
        #expect(grant(api, .object(["duration": .string("daily")])).status == 201)
        #expect(revoke(other).status == 404)
        let bad = grant(api, .object(["duration": .string("daily")]), path: "/v1/subscribers/null/entitlements/pro")
        #expect(bad.status == 400)
        #expect(bad.json["code"] == .int(7256))
    }

    @Test(arguments: ["/promotional", "/revoke_promotionals"])
    func `apps may neither grant nor take back`(end: String) throws {
        let api = try running()
        let body = JSON.object(["duration": .string("daily")])
        #expect(api.call("POST", Self.path + end, body, key: nil).status == 401)
        #expect(api.call("POST", Self.path + end, body, key: "sk_another").status == 401)
        #expect(api.call("POST", Self.path + end, body).status == 403)
        let inApp = api.call(
            "POST", Self.path + end, body, key: KeyedAPI.secretKey, headers: ["X-Client-Bundle-ID": "com.example"])
        #expect(inApp.status == 403)
        #expect(inApp.json["code"] == .int(7243))
        #expect(try api.database.count("SELECT count(*) FROM entitled.action") == 0)
    }

    @Test(arguments: [
        "subscriptions/monthly/revoke", "subscriptions/monthly/defer", "subscriptions/1/cancel",
        "transactions/1/refund",
    ])
    func `what is of other stores says so`(path: String) throws {
        let answer = try running().call("POST", "/v1/subscribers/bob/\(path)", key: KeyedAPI.secretKey)
        #expect(answer.status == 404)
        #expect(answer.json["message"]?.stringValue?.contains("Google Play") == true)
    }
}
