import Base
import Database
import HTTP

/// What follows from an attempt: pure, so that the whole schedule can be tested without waiting for it.
package struct DeliveryRetryPolicy: Sendable {
    /// Waits after the end of each attempt, in milliseconds; one more attempt than there are waits.
    package let schedule: [Int64]

    /// What a consumer may ask for at most.
    private static let longestRetryAfter: Int64 = 86_400_000
    /// How long a fault of our own waits: a second after the first one, twice as long after each that follows, at most
    /// so long. It costs no attempt.
    private static let longestFaultWait: Int64 = 60_000

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
        /// Why the endpoint is to get nothing more.
        package var disables: EndpointDisabling?
        /// The endpoint asked for nothing for so many milliseconds (429).
        package var pauses: Int64?
        /// Nothing was sent, because of a fault on our side: no attempt to write down.
        package var isOurFault = false
    }

    /// - Parameters:
    ///   - round: which attempt of the present round this was, from 1.
    ///   - faults: how many times in a row something of our own was at fault before this.
    ///   - mayDisable: whether this endpoint can be disabled by what it answers; else such an answer is a failure.
    ///   - now: milliseconds since 1970, for a `Retry-After` that is a date.
    ///   - jitter: from 0 to 1; adds at most 2 % to a wait.
    package func decide(
        _ outcome: TransferOutcome, round: Int, faults: Int = 0, mayDisable: Bool = true, now: Int64, jitter: Double
    ) -> Decision {
        switch outcome {
        case .response(let response) where (200..<300).contains(response.status):
            return Decision(state: .delivered, counts: true, outcome: "delivered")
        case .response(let response) where response.status == 410 && mayDisable:
            return disabled(.gone)
        case .response(let response):
            return refused(response, round, mayDisable, now, jitter)
        case .failure(let failure):
            switch failure.kind {
            case .interrupted:
                return Decision(state: .pending, counts: false, outcome: "interrupted")
            case .infrastructure:
                let wait = min(DeliveryRetryPolicy.longestFaultWait, 1000 << Int64(min(max(0, faults), 6)))
                return Decision(
                    state: .pending, counts: false, wait: wait, outcome: "infrastructure",
                    reason: failure.message, isOurFault: true)
            default:
                return failed("\(failure.kind)", failure.message, round, nil, jitter)
            }
        }
    }

    /// What a consumer can ask for in the header `webhook-delivery` of an answer that is no success.
    private enum Wish: Sendable {
        case abort, disable

        init?(_ header: String?) {
            switch header?.trimmingSpaces.lowercased() {
            case "abort", "abort-message": self = .abort
            case "disable": self = .disable
            default: return nil
            }
        }
    }

    private func refused(
        _ response: OutgoingResponse, _ round: Int, _ mayDisable: Bool, _ now: Int64, _ jitter: Double
    ) -> Decision {
        let outcome = "status_\(response.status)"
        let asked = [429, 503].contains(response.status) ? retryAfter(response.retryAfter, now: now) : nil
        // No time at all is no pause: it would only write the endpoint's row, at the consumer's pace.
        let pauses = response.status == 429 && asked ?? 0 > 0 ? asked : nil
        switch Wish(response.delivery) {
        case .disable where mayDisable:
            return disabled(.asked)
        case .abort:
            return Decision(
                state: .dead, counts: true, outcome: outcome,
                reason: "the consumer asked to give it up: status \(response.status)", pauses: pauses)
        default:
            var decision = failed(outcome, "status \(response.status)", round, asked, jitter)
            decision.pauses = pauses
            return decision
        }
    }

    private func disabled(_ cause: EndpointDisabling) -> Decision {
        Decision(state: .held, counts: true, outcome: cause.rawValue, reason: cause.text, disables: cause)
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
            return Int64(min(max(seconds, 0) * 1000, Double(DeliveryRetryPolicy.longestRetryAfter)))
        }
        guard let date = HTTPDate.parse(value, now: now) else { return nil }
        let (wait, overflows) = date.subtractingReportingOverflow(now)
        return overflows ? 0 : min(max(0, wait), DeliveryRetryPolicy.longestRetryAfter)
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        var rest = self[...]
        while let last = rest.last, last == " " || last == "\t" { rest.removeLast() }
        return String(rest.drop { $0 == " " || $0 == "\t" })
    }
}
