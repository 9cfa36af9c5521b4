import Daemon
import HTTP
import Testing

@Suite struct DeadlineTests {
    struct Drip: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let opening: String
        let drop: String
    }

    static let drips = [
        Drip(testDescription: "nothing at all", opening: "", drop: ""),
        Drip(testDescription: "empty lines", opening: "", drop: "\r\n"),
        Drip(testDescription: "a request line", opening: "POST /", drop: "a"),
        Drip(testDescription: "a header", opening: "POST / HTTP/1.1\r\nX: ", drop: "a"),
        Drip(
            testDescription: "a body", opening: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n", drop: "a"),
        Drip(
            testDescription: "chunks", opening: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            drop: "1\r\na\r\n"),
        Drip(
            testDescription: "trailers",
            opening: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", drop: "a"),
    ]

    @Test(arguments: drips)
    func `who drips is cut at the deadline`(_ drip: Drip) throws {
        let server = try TestServer {
            $0.headerTimeout = .milliseconds(400)
            $0.bodyTimeout = .milliseconds(400)
        }
        let client = server.client(patience: .milliseconds(30))
        let started = ContinuousClock.now
        client.send(drip.opening)
        var isCut = false
        while !isCut, ContinuousClock.now - started < .seconds(8) {
            if let part = client.receive(), part.isEmpty {
                isCut = true
            } else if !drip.drop.isEmpty {
                client.send(drip.drop)
            }
        }
        #expect(isCut)
        #expect(ContinuousClock.now - started >= .milliseconds(350))
    }

    @Test func `a connection between two requests is closed when it idles too long`() throws {
        let server = try TestServer {
            $0.idleTimeout = .milliseconds(300)
        }
        let client = server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
        #expect(client.receive() == [])
        let isCounted = Monitor(0).poll(for: .seconds(8)) {
            server.metrics.exposition().contains("entitled_http_timeouts_total{role=\"test\"} 1\n")
        }
        #expect(isCounted)
    }

    @Test func `a handler may take longer than any deadline`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler) {
            $0.headerTimeout = .milliseconds(100)
            $0.bodyTimeout = .milliseconds(100)
            $0.idleTimeout = .milliseconds(100)
        }
        let client = server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let responders = try #require(waiting.take(1))
        // A connection opened now is cut at its deadline, which is later than the first one's would have been.
        #expect(server.client().receive() == [])
        responders.first?.respond(HTTPResponse(status: 201))
        #expect(client.answer()?.status == 201)
    }

    @Test func `who does not read an answer is cut`() throws {
        let big = HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 32 << 20))
        let server = try TestServer(TestHandler(handling: { _, responder in responder.respond(big) })) {
            $0.bodyTimeout = .milliseconds(300)
        }
        let client = server.client()
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let isCounted = Monitor(0).poll(for: .seconds(8)) {
            server.metrics.exposition().contains("entitled_http_timeouts_total{role=\"test\"} 1\n")
        }
        #expect(isCounted)
    }

    @Test func `connections beyond the cap are closed at once, and taken again when there is room`() throws {
        let server = try TestServer {
            $0.maxConnections = 3
            $0.undisturbed = .seconds(60)
        }
        var held = (0..<3).map { _ in server.client() }
        for client in held {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.answer()?.status == 200)
        }
        #expect(server.client().receive() == [])
        held.removeLast()
        let isTaken = Monitor(0).poll(for: .seconds(8)) {
            let client = server.client()
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            return client.answer()?.status == 200
        }
        #expect(isTaken)
    }

    @Test func `nine hundred idle connections do not slow others`() throws {
        let server = try TestServer()
        let idle = (0..<900).map { _ in server.client() }
        let started = ContinuousClock.now
        for _ in 0..<20 {
            let client = server.client()
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.answer()?.status == 200)
        }
        #expect(ContinuousClock.now - started < .seconds(10))
        #expect(idle.count == 900)
    }
}

extension Monitor {
    /// Whether the condition became true; asks every few milliseconds, for what tells nobody that it changes.
    func poll(for time: Duration, _ condition: () -> Bool) -> Bool {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            if condition() { return true }
            _ = wait(timeout: .milliseconds(5)) { _ in nil as Bool? }
        }
        return condition()
    }
}
