/// How an endpoint is doing, from what all workers saw of it. Instants are milliseconds by the database's clock.
package struct EndpointHealth: Sendable, Equatable {
    /// Failures without a success after them.
    package struct Streak: Sendable, Equatable {
        package var since: Int64
        package var failures: Int64

        package init(since: Int64, failures: Int64) {
            self.since = since
            self.failures = failures
        }
    }

    package struct Failure: Sendable, Equatable {
        package var at: Int64
        /// Its class, as attempts have it: `timeout`, `status_500`, …
        package var outcome: String

        package init(at: Int64, outcome: String) {
            self.at = at
            self.outcome = outcome
        }
    }

    /// A streak that ended.
    package struct Recovery: Sendable, Equatable {
        package var since: Int64
        package var at: Int64

        package init(since: Int64, at: Int64) {
            self.since = since
            self.at = at
        }
    }

    package var endpoint: String
    package var streak: Streak?
    package var lastSuccess: Int64?
    package var lastFailure: Failure?
    /// How many warnings of this streak were told.
    package var warned = 0
    /// The end of a streak of failures that operators were warned of, until its notice is sent.
    package var recovery: Recovery?

    package init(endpoint: String) {
        self.endpoint = endpoint
    }

    /// What one worker saw since it last wrote.
    package struct Observation: Sendable, Equatable {
        package var endpoint: String
        package var lastSuccess: Int64?
        package var lastFailure: Failure?
        /// The failures after the last success, if there are any.
        package var streak: Streak?
        /// Deliveries that were given up, and the newest of them.
        package var dead: Int64 = 0
        package var deadNewest: [String] = []

        package init(endpoint: String) {
            self.endpoint = endpoint
        }

        package static let deadKept = 10

        package mutating func succeeded(at instant: Int64) {
            lastSuccess = max(lastSuccess ?? instant, instant)
            streak = nil
        }

        package mutating func failed(_ outcome: String, at instant: Int64) {
            lastFailure = Failure(at: instant, outcome: outcome)
            streak = Streak(since: min(streak?.since ?? instant, instant), failures: (streak?.failures ?? 0) + 1)
        }

        package mutating func gaveUp(_ delivery: String) {
            dead += 1
            deadNewest = Array((deadNewest + [delivery]).suffix(Observation.deadKept))
        }
    }

    /// Takes in what a worker saw, which may come later than what others saw after it: a streak ends only by a success
    /// that is not before its last failure, and begins at the first failure after the last success that is known.
    package mutating func merge(_ seen: Observation) {
        if let success = seen.lastSuccess {
            if let old = streak {
                if success >= lastFailure?.at ?? .min {
                    recovery = warned > 0 ? Recovery(since: old.since, at: success) : recovery
                    (streak, warned) = (nil, 0)
                } else {
                    streak?.since = max(old.since, success)
                }
            }
            lastSuccess = max(lastSuccess ?? success, success)
        }
        if let failure = seen.lastFailure, failure.at >= lastFailure?.at ?? .min {
            lastFailure = failure
        }
        guard let new = seen.streak, let last = seen.lastFailure?.at, last >= lastSuccess ?? .min else { return }
        let since = max(min(streak?.since ?? new.since, new.since), lastSuccess ?? .min)
        streak = Streak(since: since, failures: (streak?.failures ?? 0) + new.failures)
    }
}
