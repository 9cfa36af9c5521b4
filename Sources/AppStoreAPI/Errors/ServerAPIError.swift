import AppStore
import Base

/// Why a call of Apple's Server API has no result. The description is one line that a person can act on.
package enum ServerAPIError: Error, Sendable, Equatable {
    /// An answer with an error code.
    case refused(ServerAPIRejection)
    /// 401.
    case unauthorized(Unauthorized)
    /// No answer, in words.
    case unreachable(String)
    /// Signed data in the answer that is not genuine, or is another app's. `place`: which, as `signedTransactions[3]`.
    case untrusted(place: String, VerificationFailure)
    /// Not what the documentation says: no JSON, a member missing, pages without end.
    case malformed(String)
    /// The answer has more than so many bytes.
    case tooLarge(Int)
    /// It was never sent: an id that cannot be one, an environment that the app does not have, a key that cannot sign.
    case invalid(String)
    /// The call's deadline passed, or would have passed; what it waited for.
    case outOfTime(String)
    /// Apple's rate limit lets no request go before the call's deadline. `until`: when it lets one go, in ms since 1970; nil: too
    /// many others wait.
    case limited(until: Int64?)
    /// The caller gave up.
    case cancelled

    /// Whether the same call may succeed a little later without an operator's help.
    package var isRetryable: Bool {
        switch self {
        case .refused(let refusal): refusal.isRetryable
        case .unreachable, .outOfTime, .limited, .cancelled: true
        case .unauthorized, .untrusted, .malformed, .tooLarge, .invalid: false
        }
    }

    /// The code of a refusal; nil for every other failure.
    package var code: ServerAPIErrorCode? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }
}

extension ServerAPIError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let refusal): "Apple says: \(refusal)"
        case .unauthorized(let unauthorized): "\(unauthorized)"
        case .unreachable(let reason): "Apple's Server API cannot be reached: \(reason)"
        case .untrusted(let place, let failure):
            "Apple's answer failed verification: \(place): \(failure.reason.rawValue): \(failure.detail)"
        case .malformed(let what): "Apple's answer is malformed: \(what)"
        case .tooLarge(let limit): "Apple's answer has more than \(limit) bytes"
        case .invalid(let reason): reason
        case .outOfTime(let reason): "timed out: \(reason)"
        case .limited(let until?):
            "Apple's rate limit leaves no room before the deadline; the next request goes at \(Timestamp.text(until))"
        case .limited: "too many requests wait for Apple's rate limit"
        case .cancelled: "cancelled"
        }
    }
}
