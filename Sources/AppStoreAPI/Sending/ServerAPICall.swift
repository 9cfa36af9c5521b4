import Base
import HTTP

/// One request of Apple's Server API, before it is authorized.
struct ServerAPICall: Sendable {
    /// Whether a request may be sent again when it is unknown whether it was done.
    enum Repetition: Sendable {
        /// Doing it twice is doing it once.
        case always
        /// Only if it surely never arrived.
        case ifUnsent
    }

    let group: EndpointGroup
    var method = "GET"
    /// Encoded, without the query.
    let path: String
    var query: [(name: String, value: String)] = []
    var body: JSON?
    var repetition = Repetition.always
    /// Bytes of the answer.
    var answerLimit = 256 << 10

    /// Twenty signed transactions are about 400 KB.
    static let pageLimit = 8 << 20

    init(_ group: EndpointGroup, _ parts: [String]) throws(ServerAPIError) {
        self.group = group
        for part in parts where part.isEmpty || part.utf8.count > 256 || part == "." || part == ".." {
            throw .invalid("'\(part.prefix(40))' cannot be an id")
        }
        path = "/inApps/" + parts.map(PercentEncoding.encode).joined(separator: "/")
    }

    /// What is sent to a server.
    func request(_ base: String, token: String, timeout: Duration) -> OutgoingRequest {
        var headers = [("authorization", "Bearer \(token)"), ("accept", "application/json")]
        if body != nil { headers.append(("content-type", "application/json")) }
        return OutgoingRequest(
            url: url(base), method: method, headers: headers, body: body?.bytes ?? [], timeout: timeout,
            needsNewConnection: repetition == .ifUnsent, responseLimit: answerLimit)
    }

    private func url(_ base: String) -> String {
        guard !query.isEmpty else { return base + path }
        let fields = query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        return base + path + "?" + fields.joined(separator: "&")
    }
}
