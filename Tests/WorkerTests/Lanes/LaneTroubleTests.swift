import Database
import Postgres
import Testing

@testable import Worker

@Suite struct LaneTroubleTests {
    private let now = ContinuousClock.now
    private var later: ContinuousClock.Instant { now + .seconds(60) }

    private func take(_ trouble: inout LaneTrouble, at now: ContinuousClock.Instant) throws -> LaneTrouble.Group {
        let group = trouble.take(at: now)
        return try #require(group)
    }

    private static func lanes(_ numbers: some Sequence<Int>) -> Set<Lane> {
        Set(numbers.map { Lane(number: Int16($0)) })
    }

    @Test func `one lane of many is found in nine steps, and the others are free as soon as they were applied`() throws
    {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes(0..<256), last: [:], .work, at: now)
        let bad = Lane(number: 77)
        var steps = 0
        while trouble.lanes != [bad], steps < 100 {
            let group = try take(&trouble, at: now)
            steps += 1
            if group.lanes.contains(bad) {
                #expect(trouble.failed(group, .work, count: 20, first: 1, at: now) == .again)
            } else {
                trouble.succeeded(group, isDone: false, at: now)
            }
        }
        #expect(steps <= 18)
    }

    @Test func `halves take what failed, and nothing that came since`() throws {
        var trouble = LaneTrouble()
        let lanes = LaneTroubleTests.lanes(0..<5).sorted()
        trouble.begin(Set(lanes), last: [lanes[0]: 7, lanes[1]: 3, lanes[2]: 9, lanes[3]: 9], .work, at: now)
        let (left, right) = (try take(&trouble, at: now), try take(&trouble, at: now))
        #expect(left.lanes == [lanes[0], lanes[1]] && right.lanes == [lanes[2], lanes[3], lanes[4]])
        #expect(left.takes(7, of: lanes[0]) && !left.takes(8, of: lanes[0]) && !left.takes(4, of: lanes[1]))
        #expect(!right.takes(1, of: lanes[4]))
        #expect(trouble.failed(left, .work, count: 10, first: 1, at: now) == .again)
        let alone = try take(&trouble, at: now)
        #expect(alone.lanes == [lanes[0]] && alone.takes(8, of: lanes[0]))
    }

    @Test func `a lane that fails takes fewer notifications until one stands alone, then more again`() throws {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([5]), last: [:], .work, at: now)
        var limits: [Int] = []
        for count in [16, 8, 4, 2] {
            let group = try take(&trouble, at: now)
            limits.append(group.limit)
            #expect(trouble.failed(group, .work, count: min(count, group.limit), first: 9, at: now) == .again)
        }
        #expect(limits == limits.sorted(by: >) && limits.last ?? 99 <= 2)
        let alone = try take(&trouble, at: now)
        #expect(alone.limit == 1)
        #expect(trouble.failed(alone, .work, count: 1, first: 9, at: now) == .hold)
        var group = try take(&trouble, at: now)
        for limit in [2, 4, 8, 16] {
            trouble.succeeded(group, isDone: false, at: now)
            group = try take(&trouble, at: now)
            #expect(group.limit == limit)
        }
        trouble.succeeded(group, isDone: false, at: now)
        #expect(trouble.lanes.isEmpty)
    }

    @Test func `what may pass is tried again as it is once, and is made smaller after`() throws {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([1, 2]), last: [:], .passing, at: now)
        #expect(trouble.take(at: now) == nil)
        let group = try take(&trouble, at: later)
        #expect(group.lanes.count == 2)
        #expect(trouble.failed(group, .passing, count: 2, first: 1, at: later) == .again)
        #expect(trouble.take(at: later + .seconds(60))?.lanes.count == 1)
    }

    @Test(arguments: [PostgresFault.passing, .setup])
    func `the database's own trouble holds nothing, however often it comes`(fault: PostgresFault) throws {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([1]), last: [:], fault, at: now)
        var at = now
        for _ in 0..<20 {
            at += .seconds(60)
            let group = try take(&trouble, at: at)
            trouble.applied(1)
            #expect(trouble.failed(group, fault, count: 1, first: 1, at: at) == .again)
        }
    }

    @Test func `what is too slow alone is held only if others are not`() throws {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([1]), last: [:], .passing, at: now)
        var at = now
        func fail(_ first: Int64) throws -> LaneTrouble.Verdict {
            at += .seconds(60)
            let group = try take(&trouble, at: at)
            return trouble.failed(group, .passing, count: 1, first: first, isTimeout: true, at: at)
        }
        // Everything is slow: nothing is held.
        for number in [1, 2, 1, 2, 1] as [Int64] { #expect(try fail(number) == .passOver) }
        trouble.applied(0)
        #expect(try fail(1) == .passOver)
        trouble.applied(1)
        #expect(try fail(1) == .hold)
        #expect(try fail(3) == .passOver)
    }

    @Test func `what another server applied says nothing about what is too slow here`() throws {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([1]), last: [:], .passing, at: now)
        var at = now
        func fail() throws -> LaneTrouble.Verdict {
            at += .seconds(60)
            let group = try take(&trouble, at: at)
            return trouble.failed(group, .passing, count: 1, first: 1, isTimeout: true, at: at)
        }
        for _ in 0..<4 { _ = try fail() }
        trouble.applied(5) { $0.number >= 128 }
        #expect(try fail() == .passOver)
        trouble.applied(5) { $0.number < 128 }
        #expect(try fail() == .hold)
    }

    @Test func `a group that rests is not taken, and those behind it are`() throws {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([1]), last: [:], .work, at: now)
        trouble.begin(LaneTroubleTests.lanes([2]), last: [:], .work, at: now)
        let at = now + .seconds(60)
        let taken = trouble.take(at: at) { $0.lanes == LaneTroubleTests.lanes([1]).sorted() }
        #expect(taken?.lanes == LaneTroubleTests.lanes([2]).sorted())
        #expect(trouble.take(at: at)?.lanes == LaneTroubleTests.lanes([1]).sorted())
    }

    @Test func `lanes that are lost are forgotten`() {
        var trouble = LaneTrouble()
        trouble.begin(LaneTroubleTests.lanes([1, 2]), last: [:], .work, at: now)
        trouble.forget(LaneTroubleTests.lanes([1]))
        #expect(trouble.lanes == LaneTroubleTests.lanes([2]))
    }
}
