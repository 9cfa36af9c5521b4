import Base
import HTTP

/// Why a call is not done, as RevenueCat's REST v1 says it, `{"code": …, "message": …}`, or its REST v2 (`V2Error`).
///
/// Apps finish a transaction on every answer that is no 5xx, so a 4xx is for what can never succeed.
package struct APIError: Error, Sendable, Equatable {
    package let status: Int
    /// One of RevenueCat's numbers.
    package let code: Int
    package let message: String
    /// Further members of the body.
    package let extra: [JSON.Member]
    /// After so many seconds the same call may succeed.
    package let retryAfter: Int?
    /// The methods that a path answers, of 405 (RFC 9110 §15.5.6).
    package let allowed: [String]
    /// The parameter or member that is wrong, which REST v2 names (`param`).
    package let parameter: String?

    package init(
        _ status: Int, code: Int, _ message: String, extra: [JSON.Member] = [], retryAfter: Int? = nil,
        allowed: [String] = [], parameter: String? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.extra = extra
        self.retryAfter = retryAfter
        self.allowed = allowed
        self.parameter = parameter
    }

    package static let internalError = 7110
    package static let notFoundCode = 7259
    package static let badRequestCode = 7226
    package static let invalidKeyCode = 7225

    /// The call itself is wrong: 400, code 7226.
    package static func badRequest(_ message: String, parameter: String? = nil) -> APIError {
        APIError(400, code: badRequestCode, message, parameter: parameter)
    }

    /// Nothing is known by this name: 404, code 7259.
    package static func notFound(_ message: String, parameter: String? = nil) -> APIError {
        APIError(404, code: notFoundCode, message, parameter: parameter)
    }

    /// It may succeed later: 503 with `Retry-After`, so that callers do not give up.
    package static func unavailable(_ message: String) -> APIError {
        APIError(503, code: internalError, message, retryAfter: 5)
    }

    /// The body; as a member of another answer where the rest of a call is done.
    package var document: JSON {
        .object(
            [
                JSON.Member(name: "code", value: .int(Int64(code))),
                JSON.Member(name: "message", value: .string(message)),
            ] + extra)
    }

    /// The answer to this request, in the form of the API that its path belongs to.
    package func response(to head: HTTPRequestHead) -> HTTPResponse {
        var headers: HTTPResponse.Headers = []
        if let retryAfter { headers.append(("Retry-After", String(retryAfter))) }
        if !allowed.isEmpty { headers.append(("Allow", allowed.joined(separator: ", "))) }
        return .document(status, V2Error.isOf(head) ? V2Error.document(self) : document, headers: headers)
    }
}

extension HTTPResponse {
    /// JSON as RevenueCat writes it: compact, members in the order of their names at every level, a line end.
    package static func document(_ status: Int, _ value: JSON, headers: Headers = []) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "application/json")] + headers,
            body: value.sortedByName.bytes + [0x0a])
    }
}
