import Daemon
import HTTP
import TestSupport
import Testing

/// A server that gets another handler and other limits while it serves.
@Suite struct ReplacingTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    private func handler(_ text: String, refuses: Bool = false) -> TestHandler {
        TestHandler(
            refusing: { _ in refuses ? .error(403, code: "refused", message: text) : nil },
            handling: { _, responder in responder.respond(.text(200, text, type: "text/plain")) })
    }

    private func settings(_ server: TestServer, _ change: (inout HTTPServerConfiguration) -> Void = { _ in })
        -> HTTPServerConfiguration
    {
        var settings = HTTPServerConfiguration(role: "test", listen: "127.0.0.1:0")
        change(&settings)
        return settings
    }

    @Test func `an open connection is served by the new handler`() throws {
        let server = try TestServer(handler("old"))
        let client = server.client()
        client.send(get)
        #expect(client.answer()?.body == "old")
        server.server.serve(settings(server), with: handler("new"))
        client.send(get)
        #expect(client.answer()?.body == "new")
    }

    @Test func `what the former handler has is answered by it, and what it admitted is asked of the new one`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler)
        let (inside, sending) = (server.client(), server.client())
        inside.send(get)
        let responders = try #require(waiting.take(1))
        sending.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        try eventually("both are there") {
            server.metrics.exposition().contains("entitled_http_requests_total{role=\"test\"} 2\n")
        }
        server.server.serve(settings(server), with: handler("it is closed", refuses: true))
        sending.send("defghi")
        #expect(sending.answer()?.status == 403)
        responders.first?.respond(HTTPResponse(status: 201))
        #expect(inside.answer()?.status == 201)
    }

    @Test func `nothing is replaced before the former handler has returned`() throws {
        let gate = Gate()
        let server = try TestServer(
            TestHandler(handling: { _, responder in
                gate.pass()
                responder.respond(HTTPResponse(status: 200))
            }))
        let client = server.client()
        client.send(get)
        try eventually("the handler is at work") { gate.isHolding }
        let (replaced, other) = (server.server, handler("new"))
        let new = settings(server)
        let replacing = ServiceThread("replacing") { replaced.serve(new, with: other) }
        #expect(!replacing.join(timeout: .milliseconds(200)))
        gate.open()
        #expect(replacing.join(timeout: .seconds(5)))
        #expect(client.answer()?.status == 200)
    }

    @Test func `limits of the new configuration hold for the next request`() throws {
        let server = try TestServer()
        let client = server.client()
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabcdefghi")
        #expect(client.answer()?.status == 200)
        server.server.serve(settings(server) { $0.maxBodyBytes = 8 }, with: TestHandler())
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabcdefghi")
        #expect(client.answer()?.status == 413)
    }
}
