import Base
import Daemon
import Testing

@Suite struct LoopTests {
    /// Whether this many steps were made, within a time in which no long rest ends.
    private func reaches(_ count: Int, _ steps: Monitor<Int>) -> Bool {
        steps.wait(timeout: .seconds(20)) { $0 >= count ? true : nil } ?? false
    }

    @Test func `a step that wants to go on runs again at once, until the loop drains`() {
        let (loop, steps, after) = (Loop("test"), Monitor(0), Monitor(false))
        loop.start { loop in
            loop.run {
                steps.change { $0 += 1 }
                return .again
            }
            after.change { $0 = true }
        }
        #expect(reaches(100, steps))
        #expect(loop.drain(until: .now + .seconds(20)))
        #expect(after.read { $0 })
    }

    @Test func `a drain ends the longest rest, the first one too`() {
        for first in [Duration.zero, .seconds(3600)] {
            let (loop, steps) = (Loop("test"), Monitor(0))
            loop.start { loop in
                loop.run(firstAfter: first) {
                    steps.change { $0 += 1 }
                    return .after(.seconds(3600))
                }
            }
            if first == .zero { #expect(reaches(1, steps)) }
            #expect(loop.drain(until: .now + .seconds(20)))
            #expect(steps.read { $0 } == (first == .zero ? 1 : 0))
        }
    }

    @Test func `a wake ends a rest, and one that comes during a step is not lost`() {
        let (loop, steps, gate) = (Loop("test"), Monitor(0), Monitor(false))
        loop.start { loop in
            loop.run {
                steps.change { $0 += 1 }
                if steps.read({ $0 }) == 2 { _ = gate.wait(timeout: .seconds(20)) { $0 ? true : nil } }
                return .whenWoken
            }
        }
        #expect(reaches(1, steps))
        loop.wake()
        #expect(reaches(2, steps))
        loop.wake()
        gate.change { $0 = true }
        #expect(reaches(3, steps))
        #expect(loop.drain(until: .now + .seconds(20)))
    }

    @Test func `a wake waits for the shortest rest`() {
        let (loop, times) = (Loop("test"), Monitor<[ContinuousClock.Instant]>([]))
        let least = Duration.milliseconds(50)
        loop.start { loop in
            loop.run {
                times.change { $0.append(.now) }
                loop.wake()
                return .after(.seconds(3600), atLeast: least)
            }
        }
        let first = times.wait(timeout: .seconds(20)) { $0.count >= 3 ? Array($0.prefix(3)) : nil } ?? []
        #expect(first.count == 3)
        #expect(zip(first, first.dropFirst()).allSatisfy { $1 - $0 >= least })
        #expect(loop.drain(until: .now + .seconds(20)))
    }

    @Test func `a loop that was never started has ended, and one that hangs is waited for no longer than asked`() {
        #expect(Loop("test").drain(until: .now + .seconds(20)))
        let (loop, gate) = (Loop("test"), Monitor(false))
        loop.start { _ in _ = gate.wait(timeout: .seconds(20)) { $0 ? true : nil } }
        #expect(!loop.drain(until: .now + .milliseconds(10)))
        gate.change { $0 = true }
        #expect(loop.join(until: .now + .seconds(20)))
    }
}
