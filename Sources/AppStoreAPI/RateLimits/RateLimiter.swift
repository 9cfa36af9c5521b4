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

    private struct State {
        let usual: RateShare
        var shares: [StoreEnvironment: RateShare] = [:]
        var lines: [Key: RateLimitQueue] = [:]

        func share(in environment: StoreEnvironment) -> RateShare { shares[environment] ?? usual }

        subscript(_ key: Key, now: Int64) -> RateLimitQueue {
            get {
                let share = share(in: key.environment)
                return lines[key] ?? RateLimitQueue(RateLimiter.bucket(key.group, key.environment, share, now: now))
            }
            set { lines[key] = newValue }
        }
    }

    private let state: Monitor<State>
    private let started = ContinuousClock.now

    init(_ share: RateShare = .process) {
        state = Monitor(State(usual: share))
    }

    private var now: Int64 { (ContinuousClock.now - started).milliseconds }

    /// Waits for its turn.
    func wait(
        _ group: EndpointGroup, _ environment: StoreEnvironment, _ options: CallOptions
    ) throws(ServerAPIError) {
        let key = Key(environment: environment, group: group)
        let ticket = state.change { $0[key, now].join(options.priority) }
        defer { state.change { $0[key, now].leave(ticket) } }
        let deadline = now + (options.deadline - ContinuousClock.now).milliseconds
        let watch = options.cancellation.onCancel { [state] in state.change { _ in } }
        defer { options.cancellation.forget(watch) }
        while true {
            let answer = state.change { $0[key, now].ask(ticket, at: now) }
            if options.cancellation.isCancelled { throw .cancelled }
            switch answer {
            case .go: return
            case .wait(let time):
                // Not worth waiting for what comes too late.
                guard time < deadline else { throw .limited(until: SystemClock().now() + time - now) }
                pause(until: time) { _ in options.cancellation.isCancelled }
            case .queue:
                guard now < deadline else { throw .limited(until: nil) }
                pause(until: deadline) { options.cancellation.isCancelled || $0.lines[key]?.isFirst(ticket) == true }
            }
        }
    }

    /// Until that time, or until something happened.
    private func pause(until: Int64, unless happened: (State) -> Bool) {
        _ = state.wait(timeout: .milliseconds(max(0, until - now))) { happened($0) ? true : nil }
    }

    /// Sends nothing of this group before `wait` is over.
    func close(_ group: EndpointGroup, _ environment: StoreEnvironment, for wait: Duration) {
        let key = Key(environment: environment, group: group)
        state.change { $0[key, now].close(until: now + wait.milliseconds, now: now) }
    }

    func share(in environment: StoreEnvironment) -> RateShare { state.read { $0.share(in: environment) } }

    /// From now on another share of what Apple allows in an environment.
    func use(_ share: RateShare, in environment: StoreEnvironment) {
        state.change { state in
            guard share != state.share(in: environment) else { return }
            state.shares[environment] = share
            for key in state.lines.keys where key.environment == environment {
                let rate = key.group.rate(in: key.environment, share)
                state.lines[key]?.change(rate: rate, burst: RateLimiter.burst(rate), now: now)
            }
        }
    }

    private static func burst(_ rate: Double) -> Double { max(10, rate) }

    static func bucket(
        _ group: EndpointGroup, _ environment: StoreEnvironment, _ share: RateShare, now: Int64
    ) -> TokenBucket {
        let rate = group.rate(in: environment, share)
        return TokenBucket(rate: rate, burst: burst(rate), now: now)
    }
}
