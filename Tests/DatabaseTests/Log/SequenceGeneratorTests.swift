import Base
import Daemon
import Database
import TestSupport
import Testing

@Suite struct SequenceGeneratorTests {
    private let start: Int64 = 1_790_000_000_000

    @Test func `numbers only grow while the clock stands still or goes backwards`() {
        let clock = ManualClock(start)
        let generator = SequenceGenerator(clock: clock, node: 3)
        var last: Int64 = -1
        for turn in 0..<5000 {
            if turn % 700 == 0 { clock.advance(by: .seconds(-3600)) }
            if turn % 900 == 0 { clock.advance(by: .seconds(10)) }
            let next = generator.next()
            #expect(next > last)
            last = next
        }
    }

    @Test func `a later moment gives a greater number in any process`() {
        let clock = ManualClock(start)
        let (high, low) = (SequenceGenerator(clock: clock, node: .max), SequenceGenerator(clock: clock, node: 0))
        let before = high.next()
        clock.advance(by: .milliseconds(1))
        #expect(low.next() > before)
    }

    @Test func `two nodes never make the same number`() {
        let clock = ManualClock(start)
        let generators = [SequenceGenerator(clock: clock, node: 1), SequenceGenerator(clock: clock, node: 2)]
        let numbers = generators.flatMap { generator in (0..<1000).map { _ in generator.next() } }
        #expect(Set(numbers).count == 2000)
    }

    @Test func `threads that share a generator get different numbers`() throws {
        let generator = SequenceGenerator(clock: SystemClock(), node: 9)
        let threads = (0..<4).map { _ in TestThread { (0..<2000).map { _ in generator.next() } } }
        let numbers = try threads.flatMap { try $0.value() }
        #expect(Set(numbers).count == 8000)
    }

    @Test func `a clock before 2024 gives positive numbers`() {
        let generator = SequenceGenerator(clock: ManualClock(0), node: 5)
        #expect(generator.next() > 0)
    }

    @Test func `a number tells when it was made`() {
        let clock = ManualClock(start)
        let generator = SequenceGenerator(clock: clock, node: .max)
        for _ in 0..<20 {
            #expect((0..<10).allSatisfy { _ in SequenceGenerator.instant(of: generator.next()) == clock.now() })
            clock.advance(by: .milliseconds(86_399_999))
        }
    }
}
