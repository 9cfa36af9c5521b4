import Daemon
import HTTP
import Testing

@Suite struct DrainTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Drains on another thread.
    private func drain(_ server: TestServer, within time: Duration) -> ServiceThread {
        let drained = server.server
        return ServiceThread("drain") { drained.drain(until: .now + time) }
    }

    @Test func `what is in flight is answered, and its connection closed`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler)
        let client = server.client()
        client.send(get)
        let responders = try #require(waiting.take(1))
        let draining = drain(server, within: .seconds(10))
        #expect(!draining.join(timeout: .milliseconds(300)))
        responders.first?.respond(HTTPResponse(status: 200))
        let (text, end) = client.receiveAll()
        #expect(Answer.statuses(in: text) == [200])
        #expect(text.lowercased().contains("connection: close"))
        #expect(end == .closed)
        #expect(draining.join(timeout: .seconds(5)))
    }

    @Test func `idle connections are closed, and new ones refused`() throws {
        let server = try TestServer()
        let client = server.client()
        client.send(get)
        #expect(client.answer()?.status == 200)
        let draining = drain(server, within: .seconds(10))
        #expect(client.receive() == [])
        #expect(draining.join(timeout: .seconds(5)))
        let late = RawClient(port: server.port)
        #expect(!late.send(get) || late.answer() == nil)
        #expect(server.server.boundPort == nil)
    }

    @Test func `a new request on an open connection is handled while draining, and the connection closed`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler) { $0.drainGrace = .seconds(5) }
        let client = server.client()
        client.send(get)
        try #require(waiting.take(1)).first?.respond(HTTPResponse(status: 200))
        #expect(client.answer()?.status == 200)
        let draining = drain(server, within: .seconds(10))
        let isClosed = Monitor(0).poll(for: .seconds(5)) { server.client(patience: .milliseconds(50)).receive() == [] }
        #expect(isClosed)
        client.send(get)
        try #require(waiting.take(1)).first?.respond(HTTPResponse(status: 200))
        let (text, end) = client.receiveAll()
        #expect(Answer.statuses(in: text) == [200])
        #expect(text.lowercased().contains("connection: close"))
        #expect(end == .closed)
        #expect(draining.join(timeout: .seconds(4)))
    }

    @Test func `an announced end closes each connection with its answer, and takes new ones`() throws {
        let server = try TestServer()
        let open = server.client()
        open.send(get)
        #expect(open.answer()?.status == 200)
        server.server.announceEnd()
        for client in [open, server.client()] {
            client.send(get)
            let (text, end) = client.receiveAll()
            #expect(Answer.statuses(in: text) == [200])
            #expect(text.lowercased().contains("connection: close"))
            #expect(end == .closed)
        }
    }

    @Test func `what the handler still owes at the deadline is answered 503`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler)
        let clients = (0..<100).map { _ in server.client() }
        clients.forEach { $0.send(get) }
        let responders = try #require(waiting.take(100))
        let started = ContinuousClock.now
        #expect(drain(server, within: .seconds(1)).join(timeout: .seconds(8)))
        #expect(ContinuousClock.now - started < .seconds(4))
        #expect(clients.allSatisfy { $0.answer()?.status == 503 })
        responders.forEach { $0.respond(HTTPResponse(status: 200)) }
    }

    @Test func `a drain without time ends at once, with bodies half sent`() throws {
        let server = try TestServer()
        let clients = (0..<20).map { _ in server.client() }
        clients.forEach { $0.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc") }
        server.server.drain(until: .now)
        #expect(clients.allSatisfy { $0.receiveAll().end == .closed })
    }
}
