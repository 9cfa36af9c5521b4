import Base
import Database
import Testing

@testable import Duties

/// In which order, and how fast, accounts are asked about.
struct LookOrderTests {
    private func due(_ restore: Int, _ again: Int, _ first: Int) -> [AccountLookTable.Turn: [String]] {
        [
            .restore: (0..<restore).map { "r\($0)" }, .again: (0..<again).map { "a\($0)" },
            .first: (0..<first).map { "f\($0)" },
        ]
    }

    @Test func `restores have five turns of eight, those asked about in vain two, first posts one`() {
        let order = LookOrder.mixed(due(100, 100, 100), atMost: 80)
        #expect(order.count { $0.hasPrefix("r") } == 50)
        #expect(order.count { $0.hasPrefix("a") } == 20)
        #expect(order.count { $0.hasPrefix("f") } == 10)
        #expect(order.first == "r0")
        // Whatever is cut off at the end, each has its share.
        #expect(order.prefix(8).count { $0.hasPrefix("r") } == 5)
    }

    @Test func `turns that one kind does not need are the others'`() {
        #expect(LookOrder.mixed(due(0, 0, 9), atMost: 80) == (0..<9).map { "f\($0)" })
        let order = LookOrder.mixed(due(2, 60, 60), atMost: 62)
        #expect(order.count { $0.hasPrefix("r") } == 2)
        #expect(order.count { $0.hasPrefix("a") } == 40)
        #expect(order.count { $0.hasPrefix("f") } == 20)
    }

    @Test func `each kind stays in its order, and none is there twice`() {
        let order = LookOrder.mixed(due(7, 3, 5), atMost: 100)
        #expect(order.count == 15)
        for kind in ["r", "a", "f"] {
            let mine = order.filter { $0.hasPrefix(kind) }
            #expect(mine == mine.indices.map { "\(kind)\($0)" })
        }
    }

    @Test func `the pace is half of what Apple allows`() {
        #expect(LookPace(.production).rate == 25)
        #expect(abs(LookPace(.sandbox).rate - 2.5) < 0.001)
        let pace = LookPace(.production)
        let now = ContinuousClock.now + .seconds(10)
        let turns = (0..<250).map { _ in pace.reserve(at: now) - now }
        // After a pause, those of one second at once.
        #expect(turns.count { $0 <= .zero } == 26)
        #expect(turns.last.map { $0 > .seconds(8.9) && $0 < .seconds(9.1) } == true)
    }
}
