import Base
import HTTPClient
import Records

/// What follows from an attempt: pure, so that the whole schedule can be tested without waiting for it.
package struct RetryPolicy: Sendable {
    /// Waits after the end of each attempt, in milliseconds; one more attempt than there are waits.
    package let schedule: [Int64]

    /// What a consumer may ask for at most.
    private static let longestRetryAfter: Int64 = 86_400_000
    /// How long a fault of our own waits; it costs no attempt.
    private static let infrastructureWait: Int64 = 60_000

    package init(schedule: [Duration]) {
        self.schedule = schedule.map(\.milliseconds)
    }

    /// That of an endpoint which has its own.
    package init(of schedule: RetrySchedule) {
        self.schedule = schedule.waits
    }

    package struct Decision: Sendable, Equatable {
        package var state: DeliveryState
        /// Whether the attempt counts.
        package var counts: Bool
        /// Milliseconds until the next attempt, for pending ones.
        package var wait: Int64 = 0
        package var outcome: String
        package var reason: String?
        /// The endpoint asked for no more, ever (410).
        package var disables = false
        /// The endpoint asked for nothing for so many milliseconds (429).
        package var pauses: Int64?
        /// Nothing was sent, because of a fault on our side: no attempt to write down.
        package var isOurFault = false
    }

    /// - Parameters:
    ///   - round: which attempt of the present round this was, from 1.
    ///   - now: milliseconds since 1970, for a `Retry-After` that is a date.
    ///   - jitter: from 0 to 1; adds at most 2 % to a wait.
    package func decide(_ outcome: TransferOutcome, round: Int, now: Int64, jitter: Double) -> Decision {
        switch outcome {
        case .response(let response) where (200..<300).contains(response.status):
            return Decision(state: .delivered, counts: true, outcome: "delivered")
        case .response(let response) where response.status == 410:
            return Decision(
                state: .held, counts: true, outcome: "gone", reason: "the consumer answered 410", disables: true)
        case .response(let response):
            let asked = [429, 503].contains(response.status) ? retryAfter(response.retryAfter, now: now) : nil
            var decision = failed("status_\(response.status)", "status \(response.status)", round, asked, jitter)
            decision.pauses = response.status == 429 ? asked : nil
            return decision
        case .failure(let failure):
            switch failure.kind {
            case .interrupted:
                return Decision(state: .pending, counts: false, outcome: "interrupted")
            case .infrastructure:
                return Decision(
                    state: .pending, counts: false, wait: RetryPolicy.infrastructureWait, outcome: "infrastructure",
                    reason: failure.message, isOurFault: true)
            default:
                return failed("\(failure.kind)", failure.message, round, nil, jitter)
            }
        }
    }

    private func failed(
        _ outcome: String, _ reason: String, _ round: Int, _ asked: Int64?, _ jitter: Double
    ) -> Decision {
        guard round >= 1, round <= schedule.count else {
            return Decision(state: .dead, counts: true, outcome: outcome, reason: "given up: \(reason)")
        }
        let wait = schedule[round - 1]
        let extra = Int64(Double(wait) * 0.02 * min(max(jitter, 0), 1))
        return Decision(
            state: .pending, counts: true, wait: max(wait + extra, asked ?? 0), outcome: outcome, reason: reason)
    }

    /// Milliseconds from a `Retry-After` of seconds or a date (RFC 9110 §10.2.3), at most a day.
    package func retryAfter(_ value: String?, now: Int64) -> Int64? {
        guard let value else { return nil }
        if let seconds = Double(value), seconds.isFinite {
            return Int64(min(max(seconds, 0) * 1000, Double(RetryPolicy.longestRetryAfter)))
        }
        guard let date = HTTPDate.parse(value) else { return nil }
        return min(max(0, date - now), RetryPolicy.longestRetryAfter)
    }
}
