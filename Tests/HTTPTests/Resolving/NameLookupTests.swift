import Base
import Daemon
import Synchronization
import TestSupport
import Testing

@testable import HTTP

/// Whose fault it is when a name is not resolved, and which names are completed by whom.
@Suite struct NameLookupTests {
    @Test(arguments: [true, false])
    func `a name is to blame only while the name servers answer`(isAlive: Bool) {
        let resolver = Resolver(metrics: Metrics(), probe: NameServerProbe { isAlive }) { name in
            name == "absent" ? .notFound : .temporarily
        }
        resolver.start()
        defer { resolver.stop() }
        let expected: Resolution = isAlive ? .temporarily : .infrastructure("no name server answers")
        #expect(resolver.resolveAndWait("failing") == expected)
        // An answer is an answer.
        #expect(resolver.resolveAndWait("absent") == .notFound)
    }

    @Test(arguments: [true, false])
    func `a name that hangs is to blame only while the name servers answer`(isAlive: Bool) {
        let gate = Gate()
        var limits = ResolverState.Limits()
        limits.budget = .milliseconds(100)
        let resolver = Resolver(limits: limits, metrics: Metrics(), probe: NameServerProbe { isAlive }) { _ in
            gate.pass()
            return .notFound
        }
        resolver.start()
        defer {
            gate.open()
            resolver.stop()
        }
        let expected: Resolution = isAlive ? .temporarily : .infrastructure("no name server answers")
        #expect(resolver.resolveAndWait("hanging") == expected)
    }

    @Test func `the name servers are not asked for every name`() {
        let asked = Atomic<Int>(0)
        let probe = NameServerProbe {
            asked.add(1, ordering: .relaxed)
            return false
        }
        for _ in 0..<100 { #expect(!probe.isAlive()) }
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    @Test func `names that had an answer are looked up before new ones`() {
        var state = ResolverState(ResolverState.Limits())
        let start = ContinuousClock.now
        _ = state.ask("known", now: start, patience: nil) { _ in }
        _ = state.next()
        _ = state.finish("known", .addresses([.v4(1)]), took: .zero, now: start)
        let later = start + .seconds(90)
        for number in 0..<100 { _ = state.ask("new-\(number)", now: later, patience: nil) { _ in } }
        _ = state.ask("known", now: later, patience: nil) { _ in }
        #expect(state.next() == "known")
        #expect(state.next() == "new-0")
    }

    @Test func `a name for which no thread was free says nothing of itself`() {
        var state = ResolverState(ResolverState.Limits())
        let start = ContinuousClock.now
        for name in ["asked", "waiting"] { _ = state.ask(name, now: start, patience: nil) { _ in } }
        #expect(state.next() == "asked")
        let answers = state.expire(now: start + .seconds(3)).map(\.1)
        #expect(answers.count == 2 && answers.contains(.temporarily))
        #expect(answers.contains(.infrastructure("too many names wait for the resolver")))
    }

    @Test func `the hosts file is read as it is written`() throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/hosts"
            let text =
                "127.0.0.1 localhost\n#10.0.0.9 consumer.example\n10.0.0.1\tother Consumer.Example # x\r\n"
                + "fd00::1 consumer.example\n10.0.0.300 consumer.example\n10.0.0.1 consumer.example\n"
            try TestCommand.run(["sh", "-c", "printf %s \"$1\" > \"$2\"", "sh", text, path])
            let file = HostsFile(path: path)
            #expect(
                file.addresses(of: "consumer.example") == [.v4(0x0a00_0001), .v6(high: 0xfd00_0000_0000_0000, low: 1)])
            #expect(file.addresses(of: "consumer").isEmpty && file.addresses(of: "").isEmpty)
            #expect(file.addresses(of: "localhost") == [.v4(0x7f00_0001)])
        }
        #expect(HostsFile(path: "/nonexistent").addresses(of: "localhost").isEmpty)
    }

    @Test(arguments: [SystemLookup.Search.never, .singleLabels, .always])
    func `the host's own name for itself is found however names are completed`(search: SystemLookup.Search) {
        guard case .addresses(let addresses) = SystemLookup(search: search).addresses(of: "localhost") else {
            Issue.record("localhost is not found")
            return
        }
        #expect(addresses.contains(.v4(0x7f00_0001)) || addresses.contains(.v6(high: 0, low: 1)))
    }
}
