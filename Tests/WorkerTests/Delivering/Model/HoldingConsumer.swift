import Base
import Daemon
import HTTP
import TestSupport

/// Consumers of one sender: every request waits until the test says how it is answered.
final class HoldingConsumer: Sendable {
    struct Request: Sendable {
        let endpoint: String
        /// Upper-case UUID.
        let event: String
        let attempt: Int?
        let sequence: Int64?
        fileprivate let responder: HTTPResponder
    }

    private let held = Monitor<[Request]>([])
    private let server: HTTPServer
    private let port: UInt16

    init() throws {
        let held = held
        server = HTTPServer(
            HTTPServerConfiguration(role: "consumer", listen: "127.0.0.1:0", threads: 1),
            handler: Handler { request, responder in
                let headers = Dictionary(request.head.headers.map { ($0.name, $0.value) }) { first, _ in first }
                let received = Request(
                    endpoint: String(request.head.path.dropFirst()), event: headers["webhook-id"] ?? "",
                    attempt: headers["entitled-attempt"].flatMap { Int($0) },
                    sequence: headers["entitled-sequence"].flatMap { Int64($0) }, responder: responder)
                held.change { $0.append(received) }
            }, logger: .silent)
        try server.start()
        port = server.boundPort ?? 0
    }

    private struct Handler: HTTPHandler {
        let handling: @Sendable (HTTPRequest, HTTPResponder) -> Void

        init(_ handling: @escaping @Sendable (HTTPRequest, HTTPResponder) -> Void) {
            self.handling = handling
        }

        func handle(_ request: HTTPRequest, _ responder: HTTPResponder) { handling(request, responder) }
    }

    func url(of endpoint: String) -> String { "http://127.0.0.1:\(port)/\(endpoint)" }

    /// Everything that waits for an answer, once there is so much of it.
    func wait(_ count: Int) throws -> [Request] {
        guard let found = held.wait(timeout: .seconds(20), for: { $0.count >= count ? $0 : nil }) else {
            throw TestFailure("\(held.read { $0.count }) requests came, not \(count)")
        }
        return found
    }

    /// Answers the request in this place.
    func answer(_ place: Int, _ status: Int, retryAfter: Int? = nil) {
        let request = held.change { $0.remove(at: place) }
        let headers = retryAfter.map { [(name: "retry-after", value: String($0))] } ?? []
        request.responder.respond(HTTPResponse(status: status, headers: headers))
    }

    func stop() {
        for request in held.change({ all in
            defer { all = [] }; return all
        }) {
            request.responder.respond(HTTPResponse(status: 503))
        }
        server.drain(until: .now + .milliseconds(300))
    }
}
