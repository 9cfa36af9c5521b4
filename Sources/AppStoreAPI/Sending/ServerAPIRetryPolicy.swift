import HTTP

/// Whether and when a request is sent again. Pure.
package struct ServerAPIRetryPolicy: Sendable {
    /// The first wait; each further one is twice as long.
    package var base: Duration
    package var longest: Duration
    /// Attempts in all, those that Apple turned away for their number included.
    package var attempts: Int

    package init(base: Duration = .milliseconds(500), longest: Duration = .seconds(20), attempts: Int = 8) {
        self.base = base
        self.longest = longest
        self.attempts = attempts
    }

    /// What came of one attempt.
    enum Result: Sendable, Equatable {
        /// Too many requests: not done. How long to wait, where the answer says.
        case turnedAway(after: Duration?)
        /// An answer that promises more for later.
        case failed
        /// No answer, and nothing was sent.
        case unsent
        /// No answer, and it is unknown whether it was done.
        case unknown
        /// It will be the same next time.
        case final
    }

    /// The wait before attempt `number` + 1; nil: give up. `jitter` is from 0 to 1.
    func wait(
        after result: Result, attempt number: Int, _ repetition: ServerAPICall.Repetition, jitter: Double
    ) -> Duration? {
        guard number < attempts else { return nil }
        let backoff = min(base * Double(1 << min(number - 1, 20)), longest)
        switch result {
        case .turnedAway(let after?): return after + backoff * 0.2 * jitter
        case .turnedAway(nil), .unsent: return backoff * (0.5 + 0.5 * jitter)
        case .failed, .unknown: return repetition == .always ? backoff * (0.5 + 0.5 * jitter) : nil
        case .final: return nil
        }
    }

    /// A request without an answer.
    static func result(of kind: TransferFailure.Kind) -> Result {
        switch kind {
        case .dnsNotFound, .dnsTemporary, .connect, .tls, .infrastructure: .unsent
        case .timeout, .closed, .notHTTP, .other: .unknown
        case .refusedAddress, .invalidURL, .invalidRequest, .tooLarge, .interrupted: .final
        }
    }
}
