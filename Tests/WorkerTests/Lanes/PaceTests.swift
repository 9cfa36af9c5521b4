import Testing

@testable import Worker

@Suite struct PaceTests {
    private let begin = ContinuousClock.now

    @Test func `it is due at once, or after its first rest, and again after its interval`() {
        var pace = Pace(every: .seconds(5), now: begin)
        #expect(pace.isDue(at: begin))
        pace.ran(since: begin, now: begin + .seconds(1))
        #expect(!pace.isDue(at: begin + .milliseconds(5999)))
        #expect(pace.isDue(at: begin + .seconds(6)))
        let late = Pace(every: .seconds(5), firstAfter: .seconds(60), now: begin)
        #expect(!late.isDue(at: begin + .seconds(59)))
        #expect(late.isDue(at: begin + .seconds(60)))
    }

    @Test func `what takes long rests so long that it keeps to its share of the time`() {
        var pace = Pace(every: .seconds(1), share: 1 / 20, now: begin)
        let end = begin + .seconds(2)
        pace.ran(since: begin, now: end)
        #expect(!pace.isDue(at: end + .milliseconds(39_900)))
        #expect(pace.isDue(at: end + .milliseconds(40_100)))
    }

    @Test func `where more waits only the share is kept, and a hurry is due at once`() {
        var pace = Pace(every: .seconds(1), share: 1 / 10, now: begin)
        let end = begin + .milliseconds(10)
        pace.ran(since: begin, hasMore: true, now: end)
        #expect(!pace.isDue(at: end + .milliseconds(99)))
        #expect(pace.isDue(at: end + .milliseconds(101)))
        pace.ran(since: begin, now: end)
        #expect(!pace.isDue(at: end + .milliseconds(900)))
        pace.hurry(at: end)
        #expect(pace.isDue(at: end))
    }
}
