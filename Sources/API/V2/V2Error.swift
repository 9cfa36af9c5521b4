import Base
import HTTP

/// Errors as RevenueCat's REST v2 says them: `{"object": "error", "type", "message", "retryable", …}` (its OpenAPI
/// document, `Error`).
enum V2Error {
    /// Whether a request is one of REST v2.
    static func isOf(_ head: HTTPRequestHead) -> Bool {
        head.target == "/v2" || head.target.hasPrefix("/v2/")
    }

    static func document(_ error: APIError) -> JSON {
        let isRetryable = error.status >= 500 || error.status == 429
        return .object([
            "backoff_ms": isRetryable ? error.retryAfter.map { .int(Int64($0) * 1000) } : nil,
            "message": .string(error.message), "object": .string("error"),
            "param": error.parameter.map { .string($0) }, "retryable": .bool(isRetryable),
            "type": .string(type(of: error)),
        ])
    }

    /// What REST v1 says of a text that can name no customer.
    private static let ids: Set = [7220, 7256]

    private static func type(of error: APIError) -> String {
        switch error.status {
        case 400: error.parameter != nil || ids.contains(error.code) ? "parameter_error" : "invalid_request"
        case 401: "authentication_error"
        case 403: "authorization_error"
        case 404: "resource_missing"
        case 409: "resource_already_exists"
        case 429: "rate_limit_error"
        case 500...: "server_error"
        default: "invalid_request"
        }
    }
}
