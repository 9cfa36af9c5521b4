import Base
import Daemon
import Synchronization
import Testing

@testable import HTTP

struct ResolverStateTests {
    private typealias State = ResolverState
    private let start = ContinuousClock.now
    private let found = Resolution.addresses([.v4(0x0808_0808)])

    @Test func `a good answer is remembered for a minute`() {
        var state = State(State.Limits())
        #expect(ask(&state, "a", at: 0) == nil)
        #expect(state.next() == "a")
        #expect(finish(&state, "a", found, at: 1).count == 1)
        #expect(ask(&state, "a", at: 60) == found)
        #expect(ask(&state, "a", at: 61.5) == nil)
    }

    @Test(arguments: [Resolution.notFound, .temporarily])
    func `a bad answer is remembered for ten seconds`(resolution: Resolution) {
        var state = State(State.Limits())
        _ = ask(&state, "a", at: 0)
        _ = state.next()
        _ = finish(&state, "a", resolution, at: 1)
        #expect(ask(&state, "a", at: 10.5) == resolution)
        #expect(ask(&state, "a", at: 11.5) == nil)
    }

    @Test func `our own trouble is not remembered`() {
        var state = State(State.Limits())
        _ = ask(&state, "a", at: 0)
        _ = state.next()
        _ = finish(&state, "a", .infrastructure("none"), at: 1)
        #expect(ask(&state, "a", at: 1.1) == nil)
    }

    @Test func `one lookup serves everybody`() {
        var state = State(State.Limits())
        for _ in 0..<5 {
            #expect(ask(&state, "a", at: 0) == nil)
        }
        #expect(state.next() == "a")
        #expect(state.next() == nil)
        #expect(ask(&state, "a", at: 0.5) == nil)
        #expect(state.next() == nil)
        #expect(finish(&state, "a", found, at: 1).count == 6)
    }

    @Test func `patience ends while a lookup goes on`() {
        var state = State(State.Limits())
        _ = ask(&state, "a", at: 0)
        _ = ask(&state, "a", at: 0, patience: .milliseconds(500))
        _ = state.next()
        #expect(state.nextDeadline == start + .milliseconds(500))
        #expect(state.expire(now: start + .milliseconds(400)).isEmpty)
        #expect(state.expire(now: start + .milliseconds(500)).map(\.1) == [.temporarily])
        #expect(state.nextDeadline == start + .seconds(3))
        #expect(state.expire(now: start + .seconds(3)).count == 1)
        #expect(finish(&state, "a", found, at: 9).isEmpty)
        #expect(ask(&state, "a", at: 10) == found)
    }

    @Test func `a name for which nobody waits any more is not looked up`() {
        var state = State(State.Limits())
        _ = ask(&state, "a", at: 0)
        _ = state.expire(now: start + .seconds(3))
        #expect(state.next() == nil)
    }

    @Test func `an old answer serves while the name's servers fail`() {
        var state = State(State.Limits())
        _ = ask(&state, "a", at: 0)
        _ = state.next()
        _ = finish(&state, "a", found, at: 0)
        #expect(ask(&state, "a", at: 100) == nil)
        _ = state.next()
        #expect(state.expire(now: start + .seconds(103)).map(\.1) == [found])
        #expect(state.finish("a", .temporarily, took: .seconds(5), now: start + .seconds(105)).1 == found)
        #expect(ask(&state, "a", at: 106) == found)
        #expect(ask(&state, "a", at: 120) == nil)
        _ = state.next()
        #expect(state.finish("a", .notFound, took: .zero, now: start + .seconds(121)).1 == .notFound)
        #expect(ask(&state, "a", at: 122) == .notFound)
    }

    @Test func `an old answer does not serve for ever`() {
        var state = State(State.Limits())
        _ = ask(&state, "a", at: 0)
        _ = state.next()
        _ = finish(&state, "a", found, at: 0)
        _ = ask(&state, "a", at: 661)
        _ = state.next()
        #expect(state.finish("a", .temporarily, took: .zero, now: start + .seconds(661)).1 == .temporarily)
    }

    @Test func `slow names get at most half of the threads`() {
        var limits = State.Limits()
        limits.threads = 4
        var state = State(limits)
        let slow = ["s1", "s2", "s3", "s4"]
        for name in slow {
            _ = ask(&state, name, at: 0)
            _ = state.next()
            _ = state.finish(name, .temporarily, took: .seconds(10), now: start + .seconds(10))
        }
        for name in slow + ["fast"] {
            #expect(ask(&state, name, at: 30) == nil)
        }
        #expect([state.next(), state.next(), state.next(), state.next()] == ["s1", "s2", "fast", nil])
        _ = state.finish("s1", found, took: .zero, now: start + .seconds(31))
        #expect(state.next() == "s3")
    }

    @Test func `the queue is bounded`() {
        var limits = State.Limits()
        limits.queue = 2
        var state = State(limits)
        _ = ask(&state, "a", at: 0)
        _ = ask(&state, "b", at: 0)
        #expect(ask(&state, "c", at: 0) == .infrastructure("too many names wait for the resolver"))
    }

    @Test func `the memory is bounded`() {
        var limits = State.Limits()
        limits.cache = 10
        var state = State(limits)
        for number in 0..<100 {
            _ = ask(&state, "\(number)", at: 0)
            _ = state.next()
            _ = finish(&state, "\(number)", found, at: 0)
        }
        let remembered = (0..<100).filter { ask(&state, "\($0)", at: 1) != nil }
        #expect((1...10).contains(remembered.count))
    }

    private func ask(
        _ state: inout State, _ name: String, at seconds: Double, patience: Duration? = nil
    ) -> Resolution? {
        state.ask(name, now: start + .seconds(seconds), patience: patience) { _ in }
    }

    private func finish(
        _ state: inout State, _ name: String, _ resolution: Resolution, at seconds: Double
    ) -> [State.Waiter] {
        state.finish(name, resolution, took: .milliseconds(1), now: start + .seconds(seconds)).0
    }
}

struct ResolverTests {
    @Test func `names come from the system, addresses from themselves`() {
        let resolver = Resolver(metrics: Metrics())
        resolver.start()
        defer { resolver.stop() }
        #expect(resolver.resolveAndWait("192.0.2.7") == .addresses([.v4(0xc000_0207)]))
        guard case .addresses(let addresses) = resolver.resolveAndWait("localhost") else {
            Issue.record("localhost has no address")
            return
        }
        #expect(addresses.contains(.v4(0x7f00_0001)) || addresses.contains(.v6(high: 0, low: 1)))
    }

    @Test func `names that hang do not hold up another for longer than the budget`() throws {
        let gate = Monitor(false)
        var limits = ResolverState.Limits()
        limits.threads = 2
        limits.budget = .milliseconds(100)
        let resolver = Resolver(limits: limits, metrics: Metrics()) { name in
            if name.hasPrefix("hang") { _ = gate.wait(timeout: .seconds(20)) { $0 ? true : nil } }
            return .addresses([.v4(1)])
        }
        resolver.start()
        defer {
            gate.change { $0 = true }
            resolver.stop()
        }
        #expect(resolver.resolveAndWait("hang-1") == .temporarily)
        #expect(resolver.resolveAndWait("good") == .addresses([.v4(1)]))
        #expect(resolver.resolveAndWait("good") == .addresses([.v4(1)]))
    }

    @Test func `stopping answers who waits`() {
        let gate = Monitor(false)
        let resolver = Resolver(metrics: Metrics()) { _ in
            _ = gate.wait(timeout: .seconds(20)) { $0 ? true : nil }
            return .notFound
        }
        resolver.start()
        let answer = Monitor<Resolution?>(nil)
        #expect(resolver.resolve("name") { resolution in answer.change { $0 = resolution } } == nil)
        resolver.stop()
        #expect(answer.wait(timeout: .seconds(10)) { $0 } == .infrastructure("stopped"))
        gate.change { $0 = true }
    }
}
