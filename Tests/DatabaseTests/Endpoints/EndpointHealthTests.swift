import Database
import Testing

/// What workers see is put together to one story, in whatever order it comes.
@Suite struct EndpointHealthTests {
    private typealias Observation = EndpointHealth.Observation

    private func seen(_ body: (inout Observation) -> Void) -> Observation {
        var observation = Observation(endpoint: "a")
        body(&observation)
        return observation
    }

    private func failures(_ instants: Int64...) -> Observation {
        seen { seen in for instant in instants { seen.failed("timeout", at: instant) } }
    }

    private func success(_ instant: Int64) -> Observation { seen { $0.succeeded(at: instant) } }

    @Test func `a streak begins with its first failure and ends with a success`() {
        var health = EndpointHealth(endpoint: "a")
        health.merge(failures(10, 20))
        health.merge(failures(30))
        #expect(health.streak == EndpointHealth.Streak(since: 10, failures: 3))
        #expect(health.lastFailure == EndpointHealth.Failure(at: 30, outcome: "timeout"))
        health.merge(success(40))
        #expect(health.streak == nil && health.lastSuccess == 40 && health.recovery == nil)
    }

    @Test func `a success that is told late ends no streak that went on after it, but the streak is younger then`() {
        var health = EndpointHealth(endpoint: "a")
        health.merge(failures(10, 50))
        health.merge(success(30))
        #expect(health.streak == EndpointHealth.Streak(since: 30, failures: 2) && health.lastSuccess == 30)
        health.merge(success(50))
        #expect(health.streak == nil)
    }

    @Test func `failures that are told late begin no streak before a success`() {
        var health = EndpointHealth(endpoint: "a")
        health.merge(success(100))
        health.merge(failures(50, 60))
        #expect(health.streak == nil && health.lastFailure?.at == 60)
        health.merge(failures(90, 120))
        #expect(health.streak == EndpointHealth.Streak(since: 100, failures: 2))
    }

    @Test func `a batch that ends with a failure begins a streak, one that ends with a success none`() {
        var health = EndpointHealth(endpoint: "a")
        health.merge(
            seen {
                $0.failed("timeout", at: 5); $0.succeeded(at: 5)
            })
        #expect(health.streak == nil && health.lastSuccess == 5 && health.lastFailure?.at == 5)
        health.merge(
            seen {
                $0.succeeded(at: 9); $0.failed("connect", at: 9)
            })
        #expect(health.streak == EndpointHealth.Streak(since: 9, failures: 1))
    }

    @Test func `the end of a streak is kept for telling only if somebody was warned of it`() {
        var health = EndpointHealth(endpoint: "a")
        health.merge(failures(10))
        health.warned = 1
        health.merge(success(20))
        #expect(health.recovery == EndpointHealth.Recovery(since: 10, at: 20) && health.warned == 0)
        health.merge(failures(30))
        health.merge(success(40))
        #expect(health.recovery == EndpointHealth.Recovery(since: 10, at: 20))
    }

    /// A history of successes and failures, cut into batches of several workers that write in any order.
    @Test(arguments: 0..<300)
    func `whatever the order in which workers write, success and failure end right`(seed: Int) {
        var instants = (1...40).map { (at: Int64($0) * 10, isSuccess: Bool.random()) }
        if seed % 3 == 0 { instants = instants.map { ($0.at, $0.isSuccess && $0.at < 200) } }
        let batches = (0..<4).flatMap { worker in
            let own = instants.enumerated().filter { $0.offset % 4 == worker }.map(\.element)
            return [own.prefix(3), own.dropFirst(3).prefix(4), own.dropFirst(7)].map { part in
                seen { seen in
                    for item in part {
                        if item.isSuccess { seen.succeeded(at: item.at) } else { seen.failed("x", at: item.at) }
                    }
                }
            }
        }
        var health = EndpointHealth(endpoint: "a")
        for batch in batches.shuffled() { health.merge(batch) }
        let lastSuccess = instants.last { $0.isSuccess }?.at
        let lastFailure = instants.last { !$0.isSuccess }?.at
        #expect(health.lastSuccess == lastSuccess && health.lastFailure?.at == lastFailure)
        if let lastFailure, lastFailure > lastSuccess ?? 0 {
            let first = instants.first { !$0.isSuccess && $0.at > lastSuccess ?? 0 }?.at ?? 0
            // Never older than it is, so that nobody is disabled early.
            #expect(health.streak.map { $0.since >= lastSuccess ?? 0 && $0.since <= first } == true)
        } else {
            #expect(health.streak == nil)
        }
    }
}
