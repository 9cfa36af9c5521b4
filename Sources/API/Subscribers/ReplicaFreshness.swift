import Base
import Database
import Subscriptions
import Synchronization

/// The recent writes about customers through this process, which a role that replaces another has to know, too.
package final class RecentWrites: Sendable {
    private struct State {
        /// By app user id, in its canonical spelling: a request may name a UUID in another case.
        var written: [String: ContinuousClock.Instant] = [:]
        /// Of all customers, where there were too many to remember each.
        var allWritten: ContinuousClock.Instant?
        /// The longest time for which a role needs them.
        var kept = Duration.zero
    }

    /// Customers whose writes are remembered.
    private static let most = 50_000

    private let state = Mutex(State())

    package init() {}

    fileprivate func keep(_ lag: Duration) {
        state.withLock { $0.kept = max($0.kept, lag) }
    }

    /// Something was committed about these customers before this moment.
    package func add(_ ids: some Collection<String>, at moment: ContinuousClock.Instant) {
        state.withLock { state in
            guard state.written.count + ids.count <= RecentWrites.most else {
                state.allWritten = moment
                return
            }
            for id in ids { state.written[AppUserID.canonical(id)] = moment }
        }
    }

    fileprivate func forget(at now: ContinuousClock.Instant) {
        state.withLock { state in
            let oldest = now - state.kept
            // What is longer ago is within the bound.
            state.written = state.written.filter { $0.value >= oldest }
            if state.allWritten.map({ $0 < oldest }) ?? false { state.allWritten = nil }
        }
    }

    fileprivate func last(about id: String) -> ContinuousClock.Instant? {
        let id = AppUserID.canonical(id)
        return state.withLock { state in
            guard let all = state.allWritten else { return state.written[id] }
            return state.written[id].map { max($0, all) } ?? all
        }
    }
}

/// What a standby must have replayed for an answer to be new enough: all that the primary had committed `lag` ago, and
/// all that was written through this process about the customer. Judged by the primary's positions, never by a server's
/// clock.
package final class ReplicaFreshness: Sendable {
    private struct Sample {
        /// Before the primary was asked: what was committed until then is within its position.
        let began: ContinuousClock.Instant
        let state: PrimaryState
    }

    private let lag: Duration
    private let writes: RecentWrites
    /// The oldest first.
    private let samples = Mutex<[Sample]>([])

    package init(lag: Duration, writes: RecentWrites = RecentWrites()) {
        self.lag = lag
        self.writes = writes
        writes.keep(lag)
    }

    /// Between two looks at the primary: an answer may be as old as `lag` and this.
    package var interval: Duration { lag / 5 }

    /// - Parameter began: when the primary was asked.
    package func add(_ primary: PrimaryState, askedAt began: ContinuousClock.Instant) {
        let oldest = began - lag
        samples.withLock { samples in
            samples.append(Sample(began: began, state: primary))
            samples.removeAll { $0.began < oldest }
        }
        writes.forget(at: began)
    }

    /// Something was committed about these customers before this moment.
    package func wrote(_ ids: some Collection<String>, at moment: ContinuousClock.Instant) {
        writes.add(ids, at: moment)
    }

    /// The state of the primary that a standby must have for this customer; nil: none can be fresh enough.
    package func required(for id: String, at now: ContinuousClock.Instant) -> PrimaryState? {
        let bound = now - lag
        let since = writes.last(about: id).map { max($0, bound) } ?? bound
        return samples.withLock { samples in samples.first { $0.began >= since }?.state }
    }
}
