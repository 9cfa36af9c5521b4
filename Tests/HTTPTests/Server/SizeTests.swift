import HTTP
import Testing

@Suite struct SizeTests {
    private static let limit = 65536

    private func server() throws -> TestServer {
        try TestServer { $0.maxBodyBytes = SizeTests.limit }
    }

    private func post(_ fields: String) -> String { "POST /in HTTP/1.1\r\nHost: a\r\n\(fields)\r\n" }

    @Test func `a body larger than the limit is refused before it comes, and the connection closed`() throws {
        let server = try server()
        let client = server.client()
        client.send(post("Content-Length: \(SizeTests.limit + 1)\r\n"))
        let (text, end) = client.receiveAll()
        #expect(Answer.statuses(in: text) == [413])
        #expect(text.contains(#""code":"body_too_large""#))
        #expect(end == .closed)
    }

    @Test func `a refused body is not invited by an interim answer`() throws {
        let server = try server()
        let client = server.client()
        client.send(post("Expect: 100-continue\r\nContent-Length: \(SizeTests.limit + 1)\r\n"))
        #expect(Answer.statuses(in: client.receiveAll().text) == [413])
    }

    @Test func `a body that is waited for is invited`() throws {
        let server = try server()
        let client = server.client()
        client.send(post("Expect: 100-continue\r\nContent-Length: 2\r\n"))
        #expect(client.answer()?.status == 100)
        client.send("{}")
        #expect(client.answer()?.status == 200)
    }

    @Test func `a client that sends all of a refused body is listened to, and reads the refusal`() throws {
        let server = try server()
        for _ in 0..<20 {
            let client = server.client()
            client.send(post("Content-Length: 4000000\r\n"))
            let isTaken = client.send([UInt8](repeating: 0x61, count: 4_000_000))
            #expect(isTaken)
            #expect(client.answer()?.status == 413)
        }
    }

    @Test func `chunks beyond the limit are refused, and the connection closed`() throws {
        let server = try server()
        let client = server.client()
        let chunk = "1000\r\n" + String(repeating: "x", count: 0x1000) + "\r\n"
        client.send(post("Transfer-Encoding: chunked\r\n") + String(repeating: chunk, count: 17))
        let (text, end) = client.receiveAll()
        #expect(Answer.statuses(in: text) == [413])
        #expect(end == .closed)
    }

    @Test(arguments: [0, 1, 15000, 19000, 33000, limit])
    func `a body within the limit arrives as it was sent`(_ count: Int) throws {
        let server = try server()
        let client = server.client()
        let body = String((0..<count).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
        for _ in 0..<3 {
            client.send(post("Content-Length: \(count)\r\n") + body)
            let answer = try #require(client.answer())
            #expect(answer.status == 200)
            #expect(answer.body == body)
        }
    }

    @Test func `chunks up to the limit arrive as one body`() throws {
        let server = try server()
        let client = server.client()
        let chunk = "1000\r\n" + String(repeating: "x", count: 0x1000) + "\r\n"
        client.send(post("Transfer-Encoding: chunked\r\n") + String(repeating: chunk, count: 16) + "0\r\n\r\n")
        #expect(client.answer()?.body.utf8.count == SizeTests.limit)
    }

    @Test(arguments: ["POST", "PUT", "PATCH"])
    func `a request that must have a body must say how long it is`(_ method: String) throws {
        let server = try server()
        let client = server.client()
        client.send("\(method) /in HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.status == 411)
    }

    @Test func `where a length need not be named, no length is no body, and the connection goes on`() throws {
        let server = try TestServer { $0.needsLength = false }
        let client = server.client()
        for _ in 1...2 {
            client.send("POST /in HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = client.answer()
            #expect(answer?.status == 200)
            #expect(answer?.body == "")
        }
    }

    @Test func `too large a head is refused`() throws {
        let server = try server()
        for fields in [
            "X: \(String(repeating: "x", count: 200_000))\r\n", String(repeating: "X: y\r\n", count: 20_000),
        ] {
            let client = server.client()
            client.send(post(fields))
            #expect(client.answer()?.status == 431)
        }
    }

    @Test func `bodies of many senders together are bounded, and memory is given back`() throws {
        let server = try TestServer {
            $0.maxBodyBytes = SizeTests.limit
            $0.bodyMemory = SizeTests.limit
            $0.threads = 1
        }
        func begin() -> RawClient {
            let client = server.client()
            client.send(post("Content-Length: 60000\r\n") + String(repeating: "x", count: 40000))
            return client
        }
        let first = begin()
        // One thread serves all: when this is answered, what came before it has been read.
        let other = server.client()
        other.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(other.answer()?.status == 200)
        let refused = begin().receiveAll()
        #expect(Answer.statuses(in: refused.text) == [503])
        #expect(refused.text.lowercased().contains("retry-after"))
        first.send(String(repeating: "x", count: 20000))
        #expect(first.answer()?.status == 200)
        let later = begin()
        later.send(String(repeating: "x", count: 20000))
        #expect(later.answer()?.status == 200)
    }
}
