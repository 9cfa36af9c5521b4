import Base
import Synchronization

/// Logs a failure that may come many times a second: at once when its text was not logged in the last half minute, else
/// twice a minute with the number of those in between.
package final class RepeatedFailure: Sendable {
    /// When a text was logged, and how often it came since.
    private struct Logged {
        var at: ContinuousClock.Instant
        var count = 0
    }

    private static let interval = Duration.seconds(30)
    /// Texts that are told apart. An outage alternates between a few: refused, timed out, away.
    private static let limit = 16
    private let state = Mutex<[String: Logged]>([:])

    package init() {}

    /// - Parameter count: how many pieces of work failed with it.
    package func warning(_ event: StaticString, _ error: any Error, count: Int, _ logger: Logger) {
        let text = "\(error)"
        let now = ContinuousClock.now
        let failed: Int? = state.withLock { state in
            let before = state[text]
            if let before, now - before.at <= RepeatedFailure.interval {
                state[text]?.count += count
                return nil
            }
            if before == nil, state.count >= RepeatedFailure.limit {
                state = state.filter { now - $0.value.at <= RepeatedFailure.interval }
                if state.count >= RepeatedFailure.limit, let oldest = state.min(by: { $0.value.at < $1.value.at }) {
                    state[oldest.key] = nil
                }
            }
            state[text] = Logged(at: now)
            return (before?.count ?? 0) + count
        }
        guard let failed else { return }
        logger.warning(event, ["count": .int(Int64(failed)), "error": .string(text)])
    }
}
