import AppStoreAPI
import Base
import Daemon
import Synchronization

/// How fast one app's accounts are asked about in one environment: half of Apple's limit, whatever is due. The rest
/// is left to requests that wait, and to imports (`RateShare`).
///
/// Most accounts take one request for each of two groups of endpoints, which have limits of their own; a longer history
/// takes a turn for each further page.
final class LookPace: Sendable {
    /// Accounts in a second.
    let rate: Double
    private let interval: Duration
    /// When the next turn is.
    private let next = Mutex(ContinuousClock.now)

    /// After a pause, turns of so long a time come at once: Apple counts by the hour.
    private static let burst = Duration.seconds(1)

    init(_ environment: StoreEnvironment) {
        rate = EndpointGroup.subscriptionStatuses.rate(in: environment, .accounts)
        interval = .seconds(1) / rate
    }

    /// The next turn, which may have come.
    func reserve(at now: ContinuousClock.Instant = .now) -> ContinuousClock.Instant {
        next.withLock { next in
            let turn = max(next, now - LookPace.burst)
            next = turn + interval
            return turn
        }
    }

    /// Waits for a turn, or until it is cancelled.
    func wait(_ cancellation: Cancellation) {
        let turn = reserve()
        guard turn > .now else { return }
        let alarm = Monitor(false)
        let watch = cancellation.onCancel { alarm.change { $0 = true } }
        defer { cancellation.forget(watch) }
        _ = alarm.wait(timeout: turn - .now) { $0 || cancellation.isCancelled ? true : nil }
    }
}
