import Database
import Testing
import Worker

@Suite struct HealthSamplesTests {
    private let start = ContinuousClock.now

    /// Notes and writes for a while, in steps of 100 ms; how often was written.
    private func writes(
        _ seconds: Int, _ tally: inout HealthSamples, from begin: ContinuousClock.Instant,
        sight: (Int) -> HealthSamples.Sight?
    ) -> Int {
        var writes = 0
        for step in 0..<(seconds * 10) {
            let now = begin + .milliseconds(step * 100)
            if let sight = sight(step) { tally.note("a", sight, at: Int64(step)) }
            let due = tally.due(now: now)
            guard !due.isEmpty else { continue }
            writes += 1
            tally.written(due, now: now)
        }
        return writes
    }

    @Test func `a healthy endpoint is written once a minute, a failing one every two seconds`() {
        var tally = HealthSamples()
        #expect(writes(600, &tally, from: start) { _ in .arrived } == 10)
        #expect(writes(60, &tally, from: start + .seconds(600)) { _ in .failed("timeout") } == 30)
        #expect(writes(60, &tally, from: start + .seconds(660)) { _ in nil } <= 1)
    }

    @Test func `the first failure and the first success after one are due at once`() throws {
        var tally = HealthSamples()
        tally.note("a", .arrived, at: 1)
        tally.written(tally.due(now: start), now: start)
        tally.note("a", .arrived, at: 2)
        #expect(tally.due(now: start).isEmpty)
        tally.note("a", .failed("status_500"), at: 3)
        let failed = try #require(tally.due(now: start).first)
        #expect(failed.lastSuccess == 2 && failed.streak == EndpointHealth.Streak(since: 3, failures: 1))
        tally.written([failed], now: start)
        tally.note("a", .failed("status_500"), at: 4)
        #expect(tally.due(now: start).isEmpty)
        tally.note("a", .arrived, at: 5)
        let healed = try #require(tally.due(now: start).first)
        #expect(healed.lastSuccess == 5 && healed.streak == nil && healed.lastFailure?.at == 4)
    }

    @Test func `a success is news where others saw failures`() {
        var tally = HealthSamples()
        tally.note("a", .arrived, at: 1)
        tally.written(tally.due(now: start), now: start)
        tally.learn(failing: ["a"])
        #expect(tally.due(now: start).isEmpty)
        tally.note("a", .arrived, at: 2)
        #expect(tally.due(now: start).count == 1)
    }

    @Test func `deliveries that are given up are counted, and the newest kept`() throws {
        var tally = HealthSamples()
        for number in 0..<25 { tally.note("a", .failed("timeout"), dead: "dlv_\(number)", at: Int64(number)) }
        let seen = try #require(tally.due(now: start).first)
        #expect(seen.dead == 25 && seen.deadNewest == (15..<25).map { "dlv_\($0)" })
    }

    @Test func `at the end everything is due, but nothing of endpoints that are gone`() {
        var tally = HealthSamples()
        for id in ["a", "b"] {
            tally.note(id, .arrived, at: 1)
            tally.written(tally.due(now: start), now: start)
            tally.note(id, .arrived, at: 2)
        }
        tally.keep(["b"])
        #expect(tally.due(now: start).isEmpty)
        #expect(tally.due(now: start, all: true).map(\.endpoint) == ["b"])
    }
}
