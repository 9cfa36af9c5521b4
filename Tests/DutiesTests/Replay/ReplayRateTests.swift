import Testing

@testable import Duties

@Suite struct ReplayRateTests {
    private let start = ContinuousClock.now

    @Test func `a consumer that takes all gets twice as many each time, up to a limit`() {
        var pace = ReplayRate()
        var rooms: [Int?] = []
        for _ in 0..<6 {
            rooms.append(pace.room(due: 0, at: start))
            pace.queued(1)
        }
        #expect(rooms == [64, 128, 256, 512, 512, 512])
    }

    @Test func `nothing that was put in line says nothing about the consumer`() {
        var pace = ReplayRate()
        #expect(pace.room(due: 0, at: start) == 64)
        pace.queued(0)
        #expect(pace.room(due: 0, at: start) == 64)
    }

    @Test func `one that has not taken half within a second gets half as many, but some`() {
        var pace = ReplayRate()
        for _ in 0..<4 {
            _ = pace.room(due: 0, at: start)
            pace.queued(1)
        }
        #expect(pace.room(due: 300, at: start) == nil)
        #expect(pace.room(due: 300, at: start + .milliseconds(999)) == nil)
        #expect(pace.limit == 512)
        for second in 1...6 { #expect(pace.room(due: 300, at: start + .seconds(second)) == nil) }
        #expect(pace.limit == 64)
        #expect(pace.room(due: 20, at: start + .seconds(9)) == 44)
    }
}
