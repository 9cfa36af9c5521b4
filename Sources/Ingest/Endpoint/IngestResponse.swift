import Base
import HTTP

/// What the store's endpoint answers.
enum IngestResponse {
    static let accepted = HTTPResponse.json(200, .object(["status": .string("accepted")]))
    static let duplicate = HTTPResponse.json(200, .object(["status": .string("duplicate")]))

    /// Apple sends again after 5xx, five times in production; `Retry-After` is for other callers.
    static func unavailable(_ why: String) -> HTTPResponse {
        var response = HTTPResponse.error(503, code: "unavailable", message: "\(why): please send it again")
        response.headers.append(("Retry-After", "60"))
        return response
    }
}
