import Daemon
import HTTP
import Synchronization
import Testing

/// A request that two parsers could read differently, and how it goes wrong.
struct Ambiguous: CustomTestStringConvertible, Sendable {
    let name: String
    let request: String

    init(_ name: String, _ request: String) {
        self.name = name
        self.request = request
    }

    var testDescription: String { name }

    static func post(
        _ fields: String, _ body: String = "{}", version: String = "HTTP/1.1", target: String = "/in",
        host: String = "Host: localhost\r\n"
    ) -> String {
        "POST \(target) \(version)\r\n\(host)\(fields)\r\n\(body)"
    }

    static let chunked = "Transfer-Encoding: chunked\r\n"
    static let two = "Content-Length: 2\r\n"

    static let lengths = [
        Ambiguous("two lengths that differ", post("Content-Length: 2\r\nContent-Length: 60\r\n")),
        Ambiguous("two lengths that agree", post("Content-Length: 2\r\nContent-Length: 2\r\n")),
        Ambiguous("two lengths in one line", post("Content-Length: 2, 2\r\n")),
        Ambiguous("length with a sign", post("Content-Length: +2\r\n")),
        Ambiguous("length in hexadecimal", post("Content-Length: 0x2\r\n")),
        Ambiguous("length below zero", post("Content-Length: -2\r\n")),
        Ambiguous("length of 2^64", post("Content-Length: 18446744073709551616\r\n")),
        Ambiguous("length of 2^63", post("Content-Length: 9223372036854775808\r\n")),
        Ambiguous("empty length", post("Content-Length: \r\n")),
        Ambiguous("length and chunks", post(chunked + "Content-Length: 5\r\n", "0\r\n\r\n")),
        Ambiguous("chunks and length", post("Content-Length: 5\r\n" + chunked, "0\r\n\r\n")),
    ]
    static let codings = [
        Ambiguous("unknown transfer coding", post("Transfer-Encoding: xchunked\r\n", "2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("two transfer codings", post("Transfer-Encoding: gzip, chunked\r\n", "2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("two transfer coding lines", post(chunked + chunked, "2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("identity", post("Transfer-Encoding: identity\r\n" + two)),
        Ambiguous("chunked with a space behind", post("Transfer-Encoding: chunked \r\n", "2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("chunked with a vertical tab", post("Transfer-Encoding: \u{b}chunked\r\n", "2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("chunks in HTTP/1.0", post(chunked, "2\r\n{}\r\n0\r\n\r\n", version: "HTTP/1.0")),
        Ambiguous("chunk size in hexadecimal notation", post(chunked, "0x2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("chunk size below zero", post(chunked, "-2\r\n{}\r\n0\r\n\r\n")),
        Ambiguous("chunk size of 2^64 - 1", post(chunked, "ffffffffffffffff\r\n{}")),
        Ambiguous("chunk without its end", post(chunked, "2\r\n{}XX0\r\n\r\n")),
    ]
    static let fields = [
        Ambiguous("space before the colon", post("Content-Length : 2\r\n")),
        Ambiguous("tab before the colon", post("Content-Length\t: 2\r\n")),
        Ambiguous("no host", post(two, host: "")),
        Ambiguous("two hosts", post("Host: other\r\n" + two)),
        Ambiguous("two hosts in one", post(two, host: "Host: localhost, other\r\n")),
        Ambiguous("NUL in a header", post("X: a\0b\r\n" + two)),
        Ambiguous("NUL at the end of a header", post("X: a\0\r\n" + two)),
        Ambiguous("NUL in the name of a header", post("X\0Y: a\r\n" + two)),
        Ambiguous("NUL instead of the empty line", post("X: a\r\n\0\r\n" + two)),
        Ambiguous("a line that begins with NUL", post("X: a\r\n\0Y: b\r\n" + two)),
        Ambiguous("control character in a header", post("X: a\u{1}b\r\n" + two)),
        Ambiguous("DEL in a header", post("X: a\u{7f}b\r\n" + two)),
        Ambiguous("bare CR in a header", post("X: a\rContent-Length: 9\r\n" + two)),
        Ambiguous("bare LF at the end of a header", post("X: a\n" + two)),
        Ambiguous("bare LF at the end of the head", "POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\n{}"),
        Ambiguous(
            "bare LF at the end of the request line", "POST /in HTTP/1.1\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
        Ambiguous("header without a name", post(": v\r\n" + two)),
        Ambiguous("header without a colon", post("X\r\n" + two)),
        Ambiguous("folded header", post("X: a\r\n b\r\n" + two)),
        Ambiguous("folded length", post("Content-Length:\r\n 2\r\n")),
        Ambiguous("folded last header", post(two + "X: a\r\n\tb\r\n")),
        Ambiguous("folded first header", "POST /in HTTP/1.1\r\n Host: a\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
        Ambiguous("name with a parenthesis", post("X(Y): a\r\n" + two)),
    ]
    static let requestLines = [
        Ambiguous("NUL in the target", post(two, target: "/in\0")),
        Ambiguous("NUL in the query", post(two, target: "/in?a=\0b")),
        Ambiguous("control character in the target", post(two, target: "/in\u{1}")),
        Ambiguous("tab in the target", post(two, target: "/in\tx")),
        Ambiguous("raw UTF-8 in the target", post(two, target: "/in/é")),
        Ambiguous("space in the target", post(two, target: "/in x")),
        Ambiguous("two spaces before the target", post(two, target: " /in")),
        Ambiguous("two spaces behind the target", post(two, target: "/in ")),
        Ambiguous("absolute target", post(two, target: "http://other/in")),
        Ambiguous("target without a slash", post(two, target: "in")),
        Ambiguous("fragment", post(two, target: "/in#x")),
        Ambiguous("HTTP/9.9", post(two, version: "HTTP/9.9")),
        Ambiguous("HTTP/1.2", post(two, version: "HTTP/1.2")),
        Ambiguous("HTTP/0.9", post(two, version: "HTTP/0.9")),
        Ambiguous("HTTP/1.10", post(two, version: "HTTP/1.10")),
        Ambiguous("http/1.1", post(two, version: "http/1.1")),
        Ambiguous("no version", "POST /in\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
        Ambiguous("space behind the version", post(two, version: "HTTP/1.1 ")),
        Ambiguous("method with a parenthesis", "PO(ST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
        Ambiguous("NUL in the method", "PO\0ST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"),
    ]
}

@Suite struct AmbiguityTests {
    /// Answered 299, which nothing else is.
    private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"

    private func server(_ handled: Handled) throws -> TestServer {
        try TestServer(
            TestHandler(handling: { request, responder in
                handled.paths.withLock { $0.append(request.head.path) }
                responder.respond(HTTPResponse(status: request.head.path == "/smuggled" ? 299 : 200))
            })
        ) {
            $0.headerTimeout = .milliseconds(500)
            $0.bodyTimeout = .milliseconds(500)
        }
    }

    private final class Handled: Sendable {
        let paths = Mutex<[String]>([])
    }

    @Test(arguments: Ambiguous.lengths + Ambiguous.codings + Ambiguous.fields + Ambiguous.requestLines)
    func `what two parsers could read differently is refused, and nothing behind it is a request`(
        _ ambiguous: Ambiguous
    ) throws {
        let handled = Handled()
        let server = try server(handled)
        let client = server.client()
        client.send(ambiguous.request + AmbiguityTests.smuggled)
        let (text, end) = client.receiveAll()
        let statuses = Answer.statuses(in: text)
        #expect(statuses.allSatisfy { $0 >= 400 && $0 < 600 }, "\(statuses)")
        #expect(Set(statuses).count <= 1)
        #expect(end == .closed)
        #expect(handled.paths.withLock { $0 } == [])
    }

    /// What must keep working: the guard must not refuse what is merely unusual.
    static let sound = [
        Ambiguous("plain", Ambiguous.post(Ambiguous.two)),
        Ambiguous("no space behind the colon", Ambiguous.post("Content-Length:2\r\n")),
        Ambiguous("spaces around a value", Ambiguous.post("X: \t a b \t\r\n" + Ambiguous.two)),
        Ambiguous("empty value", Ambiguous.post("X:\r\nY: \r\n" + Ambiguous.two)),
        Ambiguous("repeated header", Ambiguous.post("X: a\r\nX: b\r\n" + Ambiguous.two)),
        Ambiguous("cookies", Ambiguous.post("Cookie: a=b; c=\"d\"\r\n" + Ambiguous.two)),
        Ambiguous("query", Ambiguous.post(Ambiguous.two, target: "/in?a=%20b+c&d&e=")),
        Ambiguous("escapes in the path", Ambiguous.post(Ambiguous.two, target: "/%69n%2f%00")),
        Ambiguous("obs-text in a value", Ambiguous.post("X: é\r\n" + Ambiguous.two)),
        Ambiguous("IPv6 host", Ambiguous.post(Ambiguous.two, host: "Host: [::1]:8080\r\n")),
        Ambiguous("empty line in front", "\r\n" + Ambiguous.post(Ambiguous.two)),
        Ambiguous("length with zeros", Ambiguous.post("Content-Length: 0002\r\n")),
        Ambiguous("chunks", Ambiguous.post("Transfer-Encoding: Chunked\r\n", "1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n")),
        Ambiguous("trailers", Ambiguous.post(Ambiguous.chunked, "2\r\n{}\r\n0\r\nX: a\r\n\r\n")),
        Ambiguous("HTTP/1.0 without a host", Ambiguous.post(Ambiguous.two, version: "HTTP/1.0", host: "")),
    ]

    @Test(arguments: sound)
    func `what is unusual but clear is understood`(_ request: Ambiguous) throws {
        let server = try TestServer()
        let client = server.client()
        client.send(request.request)
        let answer = try #require(client.answer())
        #expect(answer.status == 200)
        #expect(answer.body == "{}")
    }

    @Test func `a head that comes byte by byte is understood`() throws {
        let server = try TestServer()
        let client = server.client()
        for byte in Ambiguous.post("X: a\r\nY:b\r\n" + Ambiguous.two).utf8 {
            client.send([byte])
        }
        #expect(client.answer()?.status == 200)
    }

    @Test func `nothing that follows chunks on a connection is read`() throws {
        let handled = Handled()
        let server = try server(handled)
        let client = server.client()
        client.send(Ambiguous.post(Ambiguous.chunked, "2\r\n{}\r\n0\r\n\0\r\n") + AmbiguityTests.smuggled)
        let (_, end) = client.receiveAll()
        #expect(end == .closed)
        #expect(handled.paths.withLock { !$0.contains("/smuggled") })
    }

    @Test func `a refusal says why, as JSON`() throws {
        let server = try TestServer()
        let client = server.client()
        client.send(Ambiguous.post(Ambiguous.two, host: ""))
        let answer = try #require(client.answer())
        #expect(answer.status == 400)
        #expect(answer.body == #"{"error":{"code":"bad_request","message":"There must be exactly one Host."}}"#)
        #expect(server.metrics.exposition().contains("entitled_http_malformed_total{role=\"test\"} 1\n"))
    }
}
