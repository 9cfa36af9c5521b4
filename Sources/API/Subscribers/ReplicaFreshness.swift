import Base
import Database
import Synchronization

/// What a standby must have replayed for an answer to be new enough: all that the primary had committed `lag` ago, and
/// all that was written through this process about the customer. Judged by the primary's positions, never by a server's
/// clock.
package final class ReplicaFreshness: Sendable {
    private struct Sample {
        /// Before the primary was asked: what was committed until then is within its position.
        let began: ContinuousClock.Instant
        let state: PrimaryState
    }

    private struct State {
        /// The oldest first.
        var samples: [Sample] = []
        /// When something was written about a customer, by app user id.
        var written: [String: ContinuousClock.Instant] = [:]
        /// Of all customers, where there were too many to remember each.
        var allWritten: ContinuousClock.Instant?
    }

    /// Customers whose writes are remembered.
    private static let most = 50_000

    private let lag: Duration
    private let state = Mutex(State())

    package init(lag: Duration) {
        self.lag = lag
    }

    /// Between two looks at the primary: an answer may be as old as `lag` and this.
    package var interval: Duration { lag / 5 }

    /// - Parameter began: when the primary was asked.
    package func add(_ primary: PrimaryState, askedAt began: ContinuousClock.Instant) {
        let oldest = began - lag
        state.withLock { state in
            state.samples.append(Sample(began: began, state: primary))
            state.samples.removeAll { $0.began < oldest }
            // What is longer ago is within the bound.
            state.written = state.written.filter { $0.value >= oldest }
            if state.allWritten.map({ $0 < oldest }) ?? false { state.allWritten = nil }
        }
    }

    /// Something was committed about these customers before this moment.
    package func wrote(_ ids: some Collection<String>, at moment: ContinuousClock.Instant) {
        state.withLock { state in
            guard state.written.count + ids.count <= ReplicaFreshness.most else {
                state.allWritten = moment
                return
            }
            for id in ids { state.written[id] = moment }
        }
    }

    /// The state of the primary that a standby must have for this customer; nil: none can be fresh enough.
    package func required(for id: String, at now: ContinuousClock.Instant) -> PrimaryState? {
        state.withLock { state in
            var since = now - lag
            for written in [state.written[id], state.allWritten] { since = max(since, written ?? since) }
            return state.samples.first { $0.began >= since }?.state
        }
    }
}
