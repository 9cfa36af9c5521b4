import Base
import Daemon
import HTTP
import Synchronization

/// A handler made of closures: by default every request is answered 200 with its body.
struct TestHandler: HTTPHandler {
    var refusing: @Sendable (HTTPRequestHead) -> HTTPResponse? = { _ in nil }
    var handling: @Sendable (HTTPRequest, HTTPResponder) -> Void = { request, responder in
        responder.respond(HTTPResponse(status: 200, body: request.body))
    }

    func refuse(_ head: HTTPRequestHead) -> HTTPResponse? { refusing(head) }
    func handle(_ request: HTTPRequest, _ responder: HTTPResponder) { handling(request, responder) }
}

/// A server on a free port, drained when it goes.
final class TestServer {
    let server: HTTPServer
    let port: UInt16
    let log: Log
    let metrics = Metrics()

    final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: [UInt8]) { lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
        var text: String { lines.withLock { $0.joined() } }
    }

    init(_ handler: TestHandler = TestHandler(), _ adjust: (inout HTTPServerConfiguration) -> Void = { _ in }) throws {
        var configuration = HTTPServerConfiguration(role: "test", listen: "127.0.0.1:0")
        adjust(&configuration)
        let log = Log()
        self.log = log
        server = HTTPServer(
            configuration, handler: handler, logger: Logger(minimum: .notice) { log.add($0) }, metrics: metrics)
        try server.start()
        port = server.boundPort ?? 0
    }

    deinit {
        server.drain(until: .now + .milliseconds(300))
    }

    func client(patience: Duration = .seconds(5), from host: UInt8? = nil) -> RawClient {
        RawClient(port: port, patience: patience, from: host)
    }
}

/// Responders that wait for a test to answer them.
final class Waiting: Sendable {
    private let responders = Monitor<[HTTPResponder]>([])

    var handler: TestHandler {
        TestHandler(handling: { _, responder in self.responders.change { $0.append(responder) } })
    }

    /// Takes the responders once there are this many.
    func take(_ count: Int, within time: Duration = .seconds(10)) -> [HTTPResponder]? {
        responders.wait(timeout: time) { waiting in
            guard waiting.count >= count else { return nil }
            defer { waiting = [] }
            return waiting
        }
    }
}
