import Base
import Database
import Testing
import Worker

@Suite struct HealthPolicyTests {
    private static let hour: Int64 = 3_600_000
    private static let since: Int64 = 1_795_000_000_000
    private let policy = HealthPolicy(disableAfter: .seconds(120 * 3600))

    struct Case: Sendable {
        /// Hours since the streak began.
        let hours: Double
        let failures: Int64
        let warned: Int
        let warnings: Int
        let disables: Bool
        /// Hours between its last failure and now.
        var quiet = 0.0
    }

    private static let cases = [
        Case(hours: 0, failures: 1, warned: 0, warnings: 0, disables: false),
        Case(hours: 23.99, failures: 500, warned: 0, warnings: 0, disables: false),
        Case(hours: 24, failures: 500, warned: 0, warnings: 1, disables: false),
        Case(hours: 24, failures: 2, warned: 0, warnings: 1, disables: false),
        Case(hours: 71.99, failures: 500, warned: 1, warnings: 1, disables: false),
        Case(hours: 72, failures: 500, warned: 1, warnings: 2, disables: false),
        Case(hours: 119.99, failures: 500, warned: 2, warnings: 2, disables: false),
        Case(hours: 119, failures: 500, warned: 2, warnings: 2, disables: false),
        Case(hours: 120, failures: 500, warned: 2, warnings: 2, disables: true),
        Case(hours: 120, failures: 10, warned: 2, warnings: 2, disables: true),
        Case(hours: 120, failures: 9, warned: 2, warnings: 2, disables: false),
        Case(hours: 5000, failures: 9, warned: 2, warnings: 2, disables: false),
        // Nobody was warned yet.
        Case(hours: 130, failures: 500, warned: 0, warnings: 2, disables: false),
        Case(hours: 130, failures: 500, warned: 1, warnings: 2, disables: false),
        // It was not tried at the end of the time.
        Case(hours: 130, failures: 500, warned: 2, warnings: 2, disables: false, quiet: 10.01),
        Case(hours: 130, failures: 500, warned: 2, warnings: 2, disables: true, quiet: 9.99),
        // A clock that went back.
        Case(hours: -50, failures: 500, warned: 2, warnings: 0, disables: false),
    ]

    @Test(arguments: cases)
    func `five days and ten attempts without a success disable, after warnings at one and three days`(item: Case) {
        let now = HealthPolicyTests.since + Int64(item.hours * Double(HealthPolicyTests.hour))
        let judgement = policy.judge(health(item, now: now), now: now)
        #expect(judgement == HealthPolicy.Judgement(warnings: item.warnings, disables: item.disables))
    }

    private func health(_ item: Case, now: Int64) -> EndpointHealth {
        var health = EndpointHealth(endpoint: "a")
        health.streak = EndpointHealth.Streak(since: HealthPolicyTests.since, failures: item.failures)
        health.lastFailure = EndpointHealth.Failure(
            at: now - Int64(item.quiet * Double(HealthPolicyTests.hour)), outcome: "timeout")
        health.warned = item.warned
        return health
    }

    @Test func `who answers is never judged`() {
        var health = EndpointHealth(endpoint: "a")
        health.lastSuccess = 1
        #expect(policy.judge(health, now: .max) == HealthPolicy.Judgement())
        #expect(policy.forecast(health.streak) == nil)
    }

    @Test(arguments: [Duration.zero, nil])
    func `without a limit people are warned and nothing is disabled`(limit: Duration?) {
        let never = HealthPolicy(disableAfter: limit)
        let item = Case(hours: 10_000, failures: 100_000, warned: 2, warnings: 2, disables: false)
        let now = HealthPolicyTests.since + 10_000 * HealthPolicyTests.hour
        #expect(never.judge(health(item, now: now), now: now) == HealthPolicy.Judgement(warnings: 2, disables: false))
        #expect(never.forecast(health(item, now: now).streak) == nil)
    }

    @Test func `instants that cannot be trap nothing`() {
        for (since, now) in [(Int64.min, Int64.max), (.max, .min), (.max, .max), (.min, .min), (0, .max)] {
            var health = EndpointHealth(endpoint: "a")
            health.streak = EndpointHealth.Streak(since: since, failures: .max)
            health.lastFailure = EndpointHealth.Failure(at: since, outcome: "x")
            health.warned = 2
            _ = policy.judge(health, now: now)
            _ = policy.forecast(health.streak)
        }
    }

    @Test func `the forecast is the end of the time`() {
        let streak = EndpointHealth.Streak(since: HealthPolicyTests.since, failures: 1)
        #expect(policy.forecast(streak) == HealthPolicyTests.since + 120 * HealthPolicyTests.hour)
    }
}

@Suite struct EndpointNoticeTests {
    private let policy = HealthPolicy(disableAfter: .seconds(100))
    private let now: Int64 = 1_795_000_000_000

    private func concern() -> NoticeCandidate {
        NoticeCandidate(health: EndpointHealth(endpoint: "we_1"), url: "https://example.com/secret-path?key=1")
    }

    @Test func `each warning is told once, with the forecast and without what a URL may hide`() throws {
        var concern = concern()
        concern.health.streak = EndpointHealth.Streak(since: now - 20_000, failures: 12)
        concern.health.lastFailure = EndpointHealth.Failure(at: now - 5, outcome: "timeout")
        let first = EndpointNotice.all(of: concern, policy: policy, now: now)
        #expect(first.map(\.mark) == [.warned(1, since: now - 20_000)])
        let data = try #require(first.first?.event.data)
        #expect(data["endpoint_id"]?.stringValue == "we_1" && data["failures"]?.intValue == 12)
        #expect(data["endpoint_origin"]?.stringValue == "https://example.com:443")
        #expect(!data.text.contains("secret-path"))
        #expect(data["disables_at"]?.stringValue == Timestamp.precise(now + 80_000))
        #expect(data["last_failure"]?.stringValue == "timeout")
        concern.health.warned = 1
        #expect(EndpointNotice.all(of: concern, policy: policy, now: now).isEmpty)
        #expect(
            EndpointNotice.all(of: concern, policy: policy, now: now + 40_000).map(\.mark)
                == [.warned(2, since: now - 20_000)])
        concern.health.warned = 0
        let both = EndpointNotice.all(of: concern, policy: policy, now: now + 40_000)
        #expect(both.map(\.mark) == [.warned(1, since: now - 20_000), .warned(2, since: now - 20_000)])
        #expect(both[0].event.id == first[0].event.id && both[0].event.id != both[1].event.id)
        concern.disabledReason = "by an operator"
        #expect(EndpointNotice.all(of: concern, policy: policy, now: now + 40_000).isEmpty)
    }

    @Test func `that it is disabled and that it works again is told once`() throws {
        var concern = concern()
        concern.health.recovery = EndpointHealth.Recovery(since: now - 50, at: now - 10)
        concern.disabledReason = EndpointDisabling.gone.text
        (concern.disabling, concern.disabledAt) = (.gone, now - 3)
        let told = EndpointNotice.all(of: concern, policy: policy, now: now)
        #expect(told.map(\.event.kind) == [.recovered, .disabled])
        #expect(told.map(\.mark) == [.recovered(at: now - 10), .disabled(at: now - 3)])
        #expect(told.last?.event.data["code"]?.stringValue == "gone")
        concern.isDisablingTold = true
        concern.health.recovery = nil
        #expect(EndpointNotice.all(of: concern, policy: policy, now: now).isEmpty)
    }

    @Test func `deliveries that are given up are told once an hour, with their number`() throws {
        var concern = concern()
        (concern.dead, concern.deadNewest) = (700, ["dlv_1", "dlv_2"])
        let told = try #require(EndpointNotice.all(of: concern, policy: policy, now: now).first)
        #expect(told.event.kind == .dead && told.mark == .dead(700, at: now))
        #expect(told.event.data["count"]?.intValue == 700)
        concern.deadTold = now
        #expect(EndpointNotice.all(of: concern, policy: policy, now: now + 3_599_999).isEmpty)
        #expect(EndpointNotice.all(of: concern, policy: policy, now: now + 3_600_000).count == 1)
        // A clock that went back does not keep it quiet.
        #expect(EndpointNotice.all(of: concern, policy: policy, now: now - 1).count == 1)
    }
}
