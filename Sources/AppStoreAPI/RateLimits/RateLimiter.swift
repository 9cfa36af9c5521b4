import Base
import Daemon

/// Keeps the requests of one app below Apple's rates, in each environment and group of endpoints by itself
/// (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
///
/// Apple counts by the hour, so that a burst is harmless; processes do not know of each other, which a 429 makes up for.
final class RateLimiter: Sendable {
    private struct Key: Hashable {
        let environment: StoreEnvironment
        let group: EndpointGroup
    }

    private let lines = Monitor<[Key: RateLimitQueue]>([:])
    private let started = ContinuousClock.now
    private let share: RateShare

    init(_ share: RateShare = .usual) {
        self.share = share
    }

    private var now: Int64 { (ContinuousClock.now - started).milliseconds }

    /// Waits for its turn.
    func wait(
        _ group: EndpointGroup, _ environment: StoreEnvironment, _ options: CallOptions
    ) throws(ServerAPIError) {
        let key = Key(environment: environment, group: group)
        let ticket = lines.change { $0[key, default: line(key)].join(options.priority) }
        defer { lines.change { $0[key, default: line(key)].leave(ticket) } }
        let deadline = now + (options.deadline - ContinuousClock.now).milliseconds
        let watch = options.cancellation.onCancel { [lines] in lines.change { _ in } }
        defer { options.cancellation.forget(watch) }
        while true {
            let answer = lines.change { $0[key, default: line(key)].ask(ticket, at: now) }
            if options.cancellation.isCancelled { throw .cancelled }
            switch answer {
            case .go: return
            case .wait(let time):
                // Not worth waiting for what comes too late.
                guard time < deadline else { throw .outOfTime("Apple's rate limit leaves no room before the deadline") }
                pause(until: time) { _ in options.cancellation.isCancelled }
            case .queue:
                guard now < deadline else { throw .outOfTime("too many requests wait for Apple's rate limit") }
                pause(until: deadline) { options.cancellation.isCancelled || $0[key]?.isFirst(ticket) == true }
            }
        }
    }

    /// Until that time, or until something happened.
    private func pause(until: Int64, unless happened: ([Key: RateLimitQueue]) -> Bool) {
        _ = lines.wait(timeout: .milliseconds(max(0, until - now))) { happened($0) ? true : nil }
    }

    /// Sends nothing of this group before `wait` is over.
    func close(_ group: EndpointGroup, _ environment: StoreEnvironment, for wait: Duration) {
        let key = Key(environment: environment, group: group)
        lines.change { $0[key, default: line(key)].close(until: now + wait.milliseconds, now: now) }
    }

    private func line(_ key: Key) -> RateLimitQueue {
        RateLimitQueue(RateLimiter.bucket(key.group, key.environment, share, now: now))
    }

    static func bucket(
        _ group: EndpointGroup, _ environment: StoreEnvironment, _ share: RateShare, now: Int64
    ) -> TokenBucket {
        let rate = group.rate(in: environment, share)
        return TokenBucket(rate: rate, burst: max(10, rate), now: now)
    }
}
