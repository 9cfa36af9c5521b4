import Base
import Daemon
import HTTP
import Synchronization
import Testing

@Suite struct AnsweringTests {
    private let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `an answer may come later, from another thread`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler)
        let client = server.client()
        for status in 201...220 {
            client.send(get)
            let responders = try #require(waiting.take(1))
            ServiceThread("late") { responders.forEach { $0.respond(HTTPResponse(status: status)) } }.join()
            #expect(client.answer()?.status == status)
        }
    }

    @Test func `a second answer is ignored`() throws {
        let server = try TestServer(
            TestHandler(handling: { _, responder in
                responder.respond(HTTPResponse(status: 201))
                responder.respond(HTTPResponse(status: 202))
            }))
        let client = server.client()
        client.send(get + get)
        #expect(Answer.statuses(in: (client.answer()?.head ?? "").uppercased()) == [201])
        client.send(get)
        #expect(client.answer()?.status == 201)
    }

    @Test func `a reset ends the connection without a byte, and the server goes on`() throws {
        let server = try TestServer(
            TestHandler(handling: { request, responder in
                responder.respond(request.head.path == "/reset" ? .reset : HTTPResponse(status: 200))
            }))
        let client = server.client()
        client.send(get)
        #expect(client.answer()?.status == 200)
        client.send("GET /reset HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer() == nil)
        let another = server.client()
        another.send(get)
        #expect(another.answer()?.status == 200)
    }

    @Test func `a request that nobody answers is answered 503`() throws {
        let server = try TestServer(TestHandler(handling: { _, _ in }))
        let client = server.client()
        client.send(get)
        let answer = try #require(client.answer())
        #expect(answer.status == 503)
        #expect(answer.head.contains("retry-after: "))
    }

    @Test func `a request whose answer is late is answered 503, and the late answer reaches no other request`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler) { $0.answerTimeout = .milliseconds(300) }
        let client = server.client()
        let began = ContinuousClock.now
        client.send(get)
        #expect(client.answer()?.status == 503)
        #expect((.milliseconds(300)..<(.seconds(3))).contains(ContinuousClock.now - began))
        let late = try #require(waiting.take(1))
        client.send(get)
        let next = try #require(waiting.take(1))
        late.forEach { $0.respond(HTTPResponse(status: 201)) }
        next.forEach { $0.respond(HTTPResponse(status: 202)) }
        #expect(client.answer()?.status == 202)
        #expect(server.metrics.exposition().contains(#"entitled_http_unanswered_total{role="test"} 1"#))
    }

    @Test func `an answer that comes after the connection ended is ignored`() throws {
        let waiting = Waiting()
        let late: [HTTPResponder]
        do {
            let server = try TestServer(waiting.handler)
            server.client().send(get)
            late = try #require(waiting.take(1))
        }
        late.forEach { $0.respond(HTTPResponse(status: 200)) }
    }

    @Test func `hundreds of aborts with answers pending are survived`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler)
        let clients = (0..<300).map { _ in server.client() }
        clients.forEach { $0.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}") }
        let responders = try #require(waiting.take(300))
        // Half of them are gone when they are answered, the others go while they are.
        for (number, client) in clients.enumerated() where number % 2 == 0 { client.reset() }
        let answering = ServiceThread("answering") { responders.forEach { $0.respond(HTTPResponse(status: 200)) } }
        for (number, client) in clients.enumerated() where number % 2 == 1 { client.reset() }
        answering.join()
        // And these go in the middle of their bodies.
        for number in 0..<100 {
            let client = server.client()
            client.send(
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n" + String(repeating: "a", count: number))
            client.reset()
        }
        let client = server.client()
        client.send(get)
        let last = try #require(waiting.take(1))
        last.first?.respond(HTTPResponse(status: 204))
        #expect(client.answer()?.status == 204)
    }

    @Test func `any number of requests ready at once is answered`() throws {
        let waiting = Waiting()
        let server = try TestServer(waiting.handler)
        for count in [127, 128, 129, 256, 384] {
            let clients = (0..<count).map { _ in server.client() }
            clients.forEach { $0.send(get) }
            let responders = try #require(waiting.take(count))
            responders.forEach { $0.respond(HTTPResponse(status: 200)) }
            #expect(clients.allSatisfy { $0.answer()?.status == 200 })
        }
    }

    @Test func `requests sent in one go are answered in their order`() throws {
        let server = try TestServer()
        let client = server.client()
        let bodies = (0..<200).map { "body-\($0);" }
        client.send(
            bodies.map { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)" }.joined())
        var text = ""
        while !text.contains("body-199;"), let part = client.receive(), !part.isEmpty {
            text += String(decoding: part, as: UTF8.self)
        }
        #expect(text.matches(of: #/body-\d+;/#).map { String($0.0) } == bodies)
    }

    @Test func `a refusal without a body keeps the connection, one before a body closes it`() throws {
        let server = try TestServer(TestHandler(refusing: { _ in HTTPResponse(status: 404) }))
        let client = server.client()
        for _ in 0..<3 {
            client.send(get)
            #expect(client.answer()?.status == 404)
        }
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(get.utf8.count)\r\n\r\n\(get)")
        let (text, end) = client.receiveAll()
        #expect(Answer.statuses(in: text) == [404])
        #expect(end == .closed)
    }

    private final class Seen: Sendable {
        let request = Mutex<HTTPRequest?>(nil)
    }

    @Test func `a handler sees the request as it came`() throws {
        let box = Seen()
        let server = try TestServer(
            TestHandler(handling: { request, responder in
                box.request.withLock { $0 = request }
                responder.respond(HTTPResponse(status: 200))
            }))
        let client = server.client()
        client.send("PUT /a%20b?c=%2f&d HTTP/1.1\r\nHost: a:80\r\nX-One: 1 \r\nx-one:2\r\nContent-Length: 3\r\n\r\nabc")
        #expect(client.answer()?.status == 200)
        let request = try #require(box.request.withLock { $0 })
        #expect(request.head.method == "PUT")
        #expect(request.head.target == "/a%20b?c=%2f&d")
        #expect(request.head.path == "/a%20b")
        #expect(request.head.query == "c=%2f&d")
        #expect(request.head.header("X-ONE") == "1")
        #expect(request.head.header("X-Two") == nil)
        #expect(
            request.head.headers.map { "\($0.name)=\($0.value)" } == [
                "host=a:80", "x-one=1", "x-one=2", "content-length=3",
            ])
        #expect(request.body == Array("abc".utf8))
        #expect(request.remoteAddress == "127.0.0.1")
    }
}
