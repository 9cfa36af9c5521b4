import Base
import HTTP
import Testing

@testable import AppStoreAPI

struct RetryAfterTests {
    private static let now: Int64 = 1_795_000_000_000

    @Test(arguments: [
        // Apple's own: a time in milliseconds.
        ("1795000004000", 4000), ("1795000000000", 0), ("1794999999000", 0),
        // A time in seconds, seconds, and a date.
        ("1795000004", 4000), ("7", 7000), ("0", 0), ("Wed, 18 Nov 2026 11:06:45 GMT", 5000),
        // Nothing is closed for more than an hour.
        ("1795099999000", 3_600_000), ("999999999", 3_600_000), ("9999999999999999", 3_600_000),
    ])
    func `the header is read in every form`(text: String, wait: Int64) {
        #expect(RetryAfter.wait(text, now: RetryAfterTests.now) == wait)
    }

    @Test(arguments: ["soon", "-5", "1.5", "99999999999999999999", "Wed, 32 Nov 2026 10:26:45 GMT", "1e9"])
    func `what is no time counts as none`(text: String) {
        #expect(RetryAfter.wait(text, now: RetryAfterTests.now) == nil)
    }
}

struct RetryPolicyTests {
    private let policy = ServerAPIRetryPolicy(base: .milliseconds(100), longest: .seconds(1), attempts: 4)

    @Test(arguments: [
        (ServerAPIRetryPolicy.Result.final, 1, ServerAPICall.Repetition.always, nil as Duration?),
        (.failed, 1, .always, .milliseconds(100)), (.failed, 3, .always, .milliseconds(400)),
        (.failed, 4, .always, nil), (.failed, 1, .ifUnsent, nil), (.unknown, 1, .ifUnsent, nil),
        (.unknown, 2, .always, .milliseconds(200)), (.unsent, 2, .ifUnsent, .milliseconds(200)),
        (.turnedAway(after: nil), 1, .ifUnsent, .milliseconds(100)),
        (.turnedAway(after: .seconds(4)), 1, .ifUnsent, .milliseconds(4020)),
    ])
    func `what is sent again, and when`(
        result: ServerAPIRetryPolicy.Result, number: Int, repetition: ServerAPICall.Repetition, wait: Duration?
    ) {
        #expect(policy.wait(after: result, attempt: number, repetition, jitter: 1) == wait)
    }

    @Test func `jitter makes it sooner, never before the time that was told`() {
        #expect(policy.wait(after: .failed, attempt: 1, .always, jitter: 0) == .milliseconds(50))
        #expect(policy.wait(after: .turnedAway(after: .seconds(4)), attempt: 1, .always, jitter: 0) == .seconds(4))
    }

    @Test func `the waits do not grow without end`() {
        let patient = ServerAPIRetryPolicy(base: .milliseconds(100), longest: .seconds(1), attempts: 1000)
        #expect(patient.wait(after: .failed, attempt: 900, .always, jitter: 1) == .seconds(1))
    }
}

struct ServerAPIErrorTests {
    /// "Errors to retry" of the documentation, the rate, and "try again".
    @Test func `exactly the documented codes may be tried again`() {
        let retryable = Set(ServerAPIErrorCode.allCases.filter(\.isRetryable).map(\.rawValue))
        #expect(retryable == [4_040_002, 4_040_004, 4_040_006, 4_290_000, 5_000_000, 5_000_001])
    }

    @Test func `a code is its status and more, and says something of its own`() {
        #expect(ServerAPIErrorCode.allCases.count == 87)
        for code in ServerAPIErrorCode.allCases {
            #expect([400, 403, 404, 409, 429, 500].contains(code.rawValue / 10000))
        }
        #expect(Set(ServerAPIErrorCode.allCases.map(\.meaning)).count == 87)
    }

    @Test func `a code that is not known is kept`() {
        let refusal = ServerAPIRejection(
            status: 400, body: Array(#"{"errorCode":4000999,"errorMessage":"New.","more":[1]}"#.utf8))
        #expect(refusal.rawCode == 4_000_999 && refusal.code == nil && !refusal.isRetryable)
        #expect("\(ServerAPIError.refused(refusal))" == "Apple says: New. (4000999)")
    }

    @Test(arguments: ["", "<html>", "[]", "{}", #"{"errorCode":"x","errorMessage":7}"#])
    func `an answer without a code counts as its status does`(body: String) {
        let refusal = ServerAPIRejection(status: 502, body: Array(body.utf8))
        #expect(refusal.code == nil && refusal.isRetryable && "\(refusal)" == "HTTP status 502")
        #expect(!ServerAPIRejection(status: 404, body: Array(body.utf8)).isRetryable)
    }

    @Test func `a 401 is explained by the clock, if that is wrong, else by what can be`() {
        func text(_ skew: Int64?, _ environment: String = "Production") -> String {
            "\(Unauthorized(environment: environment == "Production" ? .production : .sandbox, bundleID: "com.example.app", keyIDs: ["ONE", "TWO"], skew: skew))"
        }
        #expect(text(-400).contains("400 s behind Apple's") && text(61).contains("61 s ahead of"))
        #expect(!text(60).contains("clock") && !text(nil).contains("clock"))
        for part in ["ONE and TWO", "issuer_id", "com.example.app", "revoked", "never released"] {
            #expect(text(0).contains(part), "\(part)")
        }
        #expect(!text(0, "Sandbox").contains("never released"))
    }
}
