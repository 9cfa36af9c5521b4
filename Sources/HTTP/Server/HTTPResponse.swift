import Base

/// An answer. `Content-Length`, `Date` and, where the connection must end, `Connection: close` are added on sending.
package struct HTTPResponse: Sendable {
    package typealias Headers = [(name: String, value: String)]

    package var status: Int
    package var headers: Headers
    package var body: [UInt8]

    package init(status: Int, headers: Headers = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package static func json(_ status: Int, _ value: JSON, headers: Headers = []) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: [("Content-Type", "application/json")] + headers, body: value.bytes)
    }

    /// UTF-8 text; `type` is the whole content type.
    package static func text(
        _ status: Int, _ text: String, type: String = "text/plain; charset=utf-8", headers: Headers = []
    ) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", type)] + headers, body: Array(text.utf8))
    }

    /// `{"error":{"code":…,"message":…}}`.
    package static func error(
        _ status: Int, code: String, message: String, headers: Headers = []
    ) -> HTTPResponse {
        json(
            status, .object(["error": .object(["code": .string(code), "message": .string(message)])]),
            headers: headers)
    }

    /// 503 with `Retry-After`, in seconds.
    package static func unavailable(_ message: String, retryAfter: Int = 5) -> HTTPResponse {
        error(503, code: "unavailable", message: message, headers: [("Retry-After", String(retryAfter))])
    }

    /// No answer: the connection is reset, as when a server dies. For simulators of unreliable servers.
    package static let reset = HTTPResponse(status: 0)

    var isReset: Bool { status == 0 }

    /// The whole message for HTTP/1.1, after which the connection is closed.
    var closingMessage: [UInt8] {
        var text = "HTTP/1.1 \(status) \(HTTPResponse.reason(status))\r\nConnection: close\r\n"
        for (name, value) in headers {
            text += "\(name): \(value)\r\n"
        }
        text += "Content-Length: \(body.count)\r\n\r\n"
        return Array(text.utf8) + body
    }

    private static func reason(_ status: Int) -> String {
        status == 413 ? "Content Too Large" : "Error"
    }
}
