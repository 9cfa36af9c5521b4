import Base
import Testing
import Worker

@Suite struct SlowStartTests {
    private let start = ContinuousClock.now

    private func after(failures: Int) -> SlowStart {
        var slow = SlowStart()
        for _ in 0..<failures { slow.failed() }
        slow.succeeded(now: start)
        return slow
    }

    /// How many may be sent in each second, asked every few milliseconds.
    private func paces(_ slow: inout SlowStart, seconds: Int, workers: Int = 1, most: Int = 10_000) -> [Int] {
        (0..<seconds).map { second in
            var count = 0
            for tick in 0..<100 {
                let now = start + .seconds(second) + .milliseconds(tick * 10)
                while count < most, slow.take(now: now, workers: workers) { count += 1 }
            }
            return count
        }
    }

    @Test func `after an outage the pace is 1, 2, 4, 8 a second until it no longer matters`() {
        var slow = after(failures: 5)
        let paces = paces(&slow, seconds: 12)
        for (second, pace) in paces.prefix(10).enumerated() {
            let allowed = 1 << second
            #expect(pace >= allowed - 1 && pace <= allowed + allowed / 5 + 1, "second \(second): \(pace)")
        }
        #expect(paces[10] == 10_000 && !slow.isPacing)
    }

    @Test func `what is not used is not saved for later`() {
        var slow = after(failures: 9)
        let now = start + .milliseconds(4_500)
        var count = 0
        while slow.take(now: now, workers: 1) { count += 1 }
        // 16 a second, and a tenth of a second to catch up with.
        #expect((1...3).contains(count))
    }

    @Test func `workers share the pace`() {
        var slow = after(failures: 5)
        let paces = paces(&slow, seconds: 6, workers: 4)
        #expect(paces[0] == 1 && paces[1] <= 1 && paces[5] <= 11 && paces[5] >= 7)
    }

    @Test(arguments: [0, 1, 4])
    func `a few failures are no outage`(failures: Int) {
        var slow = after(failures: failures)
        #expect(!slow.isPacing && slow.failures == 0)
        let all = paces(&slow, seconds: 1)
        #expect(all == [10_000])
    }

    @Test func `a failure while it comes back begins the pace anew`() {
        var slow = after(failures: 5)
        let last = paces(&slow, seconds: 3).last ?? 0
        #expect((4...5).contains(last))
        slow.failed()
        #expect(!slow.isPacing && slow.failures >= 5)
        slow.succeeded(now: start + .seconds(3))
        let taken = [3000, 3900, 4000].map { slow.take(now: start + .milliseconds($0), workers: 1) }
        #expect(taken == [true, false, true])
    }

    @Test func `what others saw counts as an outage too`() {
        var slow = SlowStart()
        slow.learn(failures: 400)
        slow.learn(failures: 2)
        #expect(slow.failures == 400)
        slow.succeeded(now: start)
        slow.learn(failures: 400)
        #expect(slow.isPacing)
    }
}
