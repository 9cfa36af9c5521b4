import Base
import Daemon
import HTTP

/// A consumer of webhooks that keeps what it gets and answers as a test says.
package final class Consumer: Sendable {
    /// One request.
    package struct Request: Sendable {
        package let path: String
        package let headers: [String: String]
        package let body: [UInt8]

        package var id: String { headers["webhook-id"] ?? "" }
        package var attempt: String { headers["entitled-attempt"] ?? "" }
        package var event: JSON? { (try? JSON(parsing: body))?["event"] }
        package var type: String { event?["type"]?.stringValue ?? "" }
    }

    /// What is done with a request.
    package enum Answer: Sendable {
        case status(Int, headers: [String: String] = [:])
        /// Not answered until `release`.
        case hold
    }

    private struct State {
        var begun = 0
        var requests: [Request] = []
        var held: [HTTPResponder] = []
    }

    private let state: Monitor<State>
    private let server: HTTPServer
    private let port: UInt16

    /// - Parameter answering: gets the request and how many came before it.
    package init(_ answering: @escaping @Sendable (Request, Int) -> Answer = { _, _ in .status(200) }) throws {
        let state = Monitor(State())
        self.state = state
        server = HTTPServer(
            HTTPServerConfiguration(role: "consumer", listen: "127.0.0.1:0", threads: 1),
            handler: Handler { request, responder in
                let received = Request(
                    path: request.head.path,
                    headers: Dictionary(request.head.headers.map { ($0.name, $0.value) }) { first, _ in first },
                    body: request.body)
                let before = state.change { state in
                    defer { state.begun += 1 }
                    return state.begun
                }
                let answer = answering(received, before)
                // What counts as received can be released.
                state.change { state in
                    state.requests.append(received)
                    if case .hold = answer { state.held.append(responder) }
                }
                if case .status(let status, let headers) = answer {
                    responder.respond(
                        HTTPResponse(status: status, headers: headers.map { (name: $0.key, value: $0.value) }))
                }
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

    package func stop() {
        release(503)
        server.drain(until: .now + .milliseconds(300))
    }

    package func url(_ path: String = "/hooks") -> String { "http://127.0.0.1:\(port)\(path)" }

    package var requests: [Request] { state.read { $0.requests } }

    /// Answers what was held.
    package func release(_ status: Int, headers: [String: String] = [:]) {
        let held = state.change { state in
            defer { state.held = [] }
            return state.held
        }
        for responder in held {
            responder.respond(
                HTTPResponse(status: status, headers: headers.map { (name: $0.key, value: $0.value) }))
        }
    }

    /// The requests, once there are so many.
    package func wait(_ count: Int, timeout: Duration = .seconds(20)) throws -> [Request] {
        let requests = state.wait(timeout: timeout) { $0.requests.count >= count ? $0.requests : nil }
        guard let requests else {
            throw TestFailure("the consumer got \(self.requests.count) requests within \(timeout), not \(count)")
        }
        return requests
    }
}
