import Base
import Daemon
import Testing

@testable import AppStoreAPI

/// The line with real threads in it.
struct RateLimiterTests {
    private func wait(
        _ pacer: RateLimiter, _ options: CallOptions, done: @escaping @Sendable (ServerAPIError?) -> Void
    ) -> ServiceThread {
        ServiceThread("paced") {
            do throws(ServerAPIError) {
                try pacer.wait(.testNotification, .production, options)
                done(nil)
            } catch {
                done(error)
            }
        }
    }

    @Test func `who waits for the rate is cancelled at once, and holds up nobody`() throws {
        let pacer = RateLimiter()
        pacer.close(.testNotification, .production, for: .seconds(60))
        let results = Monitor<[ServerAPIError?]>([])
        let cancellation = Cancellation()
        let threads = (0..<3).map { _ in
            wait(pacer, CallOptions(within: .seconds(300), cancellation: cancellation)) { error in
                results.change { $0.append(error) }
            }
        }
        cancellation.cancel()
        for thread in threads { #expect(thread.join(timeout: .seconds(10))) }
        #expect(results.read { $0 } == [.cancelled, .cancelled, .cancelled])
        // Other groups and the other environment were never closed.
        try pacer.wait(.orderLookup, .production, CallOptions(within: .seconds(5)))
        try pacer.wait(.testNotification, .sandbox, CallOptions(within: .seconds(5)))
    }

    @Test func `a person's call overtakes sweeps that wait`() throws {
        let pacer = RateLimiter()
        pacer.close(.testNotification, .production, for: .milliseconds(2500))
        let order = Monitor<[CallOptions.Priority]>([])
        func start(_ priority: CallOptions.Priority) -> ServiceThread {
            wait(pacer, CallOptions(priority: priority, within: .seconds(60))) { _ in
                order.change { $0.append(priority) }
            }
        }
        let sweeps = [start(.background), start(.background)]
        let person = start(.interactive)
        for thread in sweeps + [person] { #expect(thread.join(timeout: .seconds(30))) }
        #expect(order.read { $0 } == [.interactive, .background, .background])
    }

    @Test func `what cannot go before its deadline does not wait for it`() throws {
        let pacer = RateLimiter()
        pacer.close(.testNotification, .production, for: .seconds(60))
        let began = ContinuousClock.now
        let error = try failure {
            try pacer.wait(.testNotification, .production, CallOptions(within: .seconds(30)))
        }
        guard case .limited(let until?) = error else {
            Issue.record("\(error)")
            return
        }
        #expect((50_000...60_000).contains(until - SystemClock().now()), "\(until)")
        #expect(ContinuousClock.now - began < .seconds(10))
    }

    @Test func `another share counts for groups that were used, and for those that were not`() throws {
        let limiter = RateLimiter(.imports(count: 1, accountsWait: false))
        let options = CallOptions(within: .seconds(5))
        try limiter.wait(.testNotification, .production, options)
        limiter.use(.imports(count: 100, accountsWait: true), in: .production)
        #expect(limiter.share(in: .production) == .imports(count: 100, accountsWait: true))
        #expect(limiter.share(in: .sandbox) == .imports(count: 1, accountsWait: false))
        for group in [EndpointGroup.testNotification, .orderLookup] {
            let error = try failure {
                for _ in 0..<12 { try limiter.wait(group, .production, options) }
            }
            guard case .limited(_?) = error else {
                Issue.record("\(group): \(error)")
                return
            }
        }
    }
}
