import Base
import HTTP

/// What the outcome of one request means for its call. Pure.
struct AnswerReading {
    /// Nil: done.
    let error: ServerAPIError?
    let result: ServerAPIRetryPolicy.Result
    let body: [UInt8]
    /// Whether the token was taken.
    let isAuthorized: Bool

    /// - Parameter now: our clock, which counts where Apple does not tell its own.
    init(_ outcome: TransferOutcome, _ call: ServerAPICall, now: Int64) {
        switch outcome {
        case .failure(let failure):
            self.init(
                error: .unreachable("\(failure.message) (\(failure.kind.rawValue))"),
                result: ServerAPIRetryPolicy.result(of: failure.kind), isAuthorized: false)
        case .response(let response) where response.truncated:
            self.init(error: .tooLarge(call.answerLimit), result: .final, isAuthorized: true)
        case .response(let response) where (200..<300).contains(response.status):
            self.init(body: response.body)
        case .response(let response):
            let refusal = ServerAPIRejection(status: response.status, body: response.body)
            self.init(
                error: .refused(refusal), result: AnswerReading.result(refusal, response, now),
                isAuthorized: response.status < 500 && response.status != 401)
        }
    }

    private init(
        error: ServerAPIError? = nil, result: ServerAPIRetryPolicy.Result = .final, body: [UInt8] = [],
        isAuthorized: Bool = true
    ) {
        self.error = error
        self.result = result
        self.body = body
        self.isAuthorized = isAuthorized
    }

    private static func result(
        _ refusal: ServerAPIRejection, _ response: OutgoingResponse, _ now: Int64
    ) -> ServerAPIRetryPolicy.Result {
        if response.status == 429 {
            // The time is of Apple's clock; so is the one it is compared with.
            let theirs = response.date.flatMap { HTTPDate.parse($0, now: now) } ?? now
            let clock = abs(theirs - now) < 2000 ? now : theirs
            let wait = response.retryAfter.flatMap { RetryAfter.wait($0, now: clock) }
            return .turnedAway(after: wait.map { .milliseconds($0) })
        }
        guard refusal.isRetryable else { return .final }
        // A refusal with a code says that nothing was done; a failed server may have done it.
        return response.status >= 500 ? .failed : .turnedAway(after: nil)
    }
}
