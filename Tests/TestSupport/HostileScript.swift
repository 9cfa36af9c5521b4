/// Bytes that a hostile consumer answers with, whatever it was asked, and what it does then.
struct HostileScript: Sendable {
    enum Ending: Sendable {
        case goesOn, closes, resets
    }

    let bytes: [UInt8]
    let ending: Ending

    init(_ text: String, _ ending: Ending = .goesOn) {
        self.init(Array(text.utf8), ending)
    }

    init(_ bytes: [UInt8], _ ending: Ending = .goesOn) {
        self.bytes = bytes
        self.ending = ending
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"

    /// By the last part of the path, `/script/NAME`.
    static let all: [String: HostileScript] = [
        "gzip": HostileScript(
            Array("\(ok)Content-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n".utf8) + bomb),
        "transfer-gzip": HostileScript(Array("\(ok)Transfer-Encoding: gzip\r\n\r\n".utf8) + bomb, .closes),
        "unknown-encoding": HostileScript("\(ok)Content-Encoding: zip-bomb\r\nContent-Length: 4\r\n\r\ndone"),
        "http09": HostileScript("<html>done</html>\r\n", .closes),
        "length-too-long": HostileScript("\(ok)Content-Length: 100\r\n\r\ndone", .closes),
        "length-too-short": HostileScript("\(ok)Content-Length: 2\r\n\r\ndoneHTTP/1.1 500 Smuggled\r\n\r\n"),
        "length-negative": HostileScript("\(ok)Content-Length: -4\r\n\r\ndone", .closes),
        "length-huge": HostileScript("\(ok)Content-Length: 99999999999999999999999\r\n\r\ndone", .closes),
        "lengths-differ": HostileScript("\(ok)Content-Length: 4\r\nContent-Length: 2\r\n\r\ndone", .closes),
        "chunk-garbage": HostileScript("\(ok)Transfer-Encoding: chunked\r\n\r\nzz\r\ndone\r\n0\r\n\r\n", .closes),
        "chunk-overflow": HostileScript("\(ok)Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\ndone", .closes),
        "chunks-cut": HostileScript("\(ok)Transfer-Encoding: chunked\r\n\r\n4\r\ndo", .closes),
        "reset-after-response": HostileScript("\(ok)Content-Length: 4\r\n\r\ndone", .resets),
        "reset-mid-body": HostileScript("\(ok)Content-Length: 10\r\n\r\ndone", .resets),
        "reset-mid-head": HostileScript("\(ok)Content-Le", .resets),
        "metadata": HostileScript(
            "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n"),
        "204-with-body": HostileScript("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\ndone"),
        "304-with-body": HostileScript("HTTP/1.1 304 Not Modified\r\n\r\ndone", .closes),
        "999": HostileScript("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"),
        "099": HostileScript("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"),
        "000": HostileScript("HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n", .closes),
        "2000": HostileScript("HTTP/1.1 2000 Odd\r\nContent-Length: 0\r\n\r\n", .closes),
        "no-status": HostileScript("HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n", .closes),
        "http3": HostileScript("HTTP/3 200 OK\r\nContent-Length: 0\r\n\r\n", .closes),
        "non-ascii": HostileScript(
            Array("\(ok)X-Name: ".utf8) + [0xff, 0xc3, 0x28, 0x1b, 0x07] + Array("\r\nContent-Length: 0\r\n\r\n".utf8)),
        "nul": HostileScript(Array("\(ok)X-Name: a".utf8) + [0] + Array("b\r\nContent-Length: 0\r\n\r\n".utf8)),
        "retry-afters": HostileScript(
            "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nRetry-After: 86400\r\nretry-after: x\r\nContent-Length: 0\r\n\r\n"),
        "secrets": HostileScript(
            """
            HTTP/1.1 500 Oops\r
            Set-Cookie: sid=hunter2;\r
             path=hunter2\r
            X-Auth-Token: hunter2\r
            X-Request-Id: 17\r
            \tfolded\r
            Content-Length: 4\r
            \r
            oops
            """),
        "escapes": HostileScript(
            "HTTP/1.1 500 Oops\r\nX-Colour: \u{1b}[31m\r\nContent-Length: 23\r\n\r\noops\u{1b}]0;title\u{7}\u{9b}2J\r\n\u{0}\u{8}!"
        ),
        "bare-lines": HostileScript("HTTP/1.1 200 OK\nContent-Length: 4\n\ndone"),
    ]

    /// Whoever decoded this would see that it is no deflated data.
    private static let bomb: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3] + [UInt8](repeating: 0xaa, count: 2000)
}
