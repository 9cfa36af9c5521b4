import Base

/// Posts to one receiver over a connection that it keeps open; for one thread. Reads answers with a Content-Length.
final class ReceiverConnection {
    private let url: ReceiverURL
    private let timeout: Duration
    private let start: [UInt8]
    private var stream: SocketStream?
    private static let bodyLimit = 16 << 20

    /// `timeout` is for one request from its beginning to the end of its answer.
    init(to url: ReceiverURL, timeout: Duration, agent: String = "storesim/\(Version.current)") {
        self.url = url
        self.timeout = timeout
        start = Array(
            """
            POST \(url.target) HTTP/1.1\r
            Host: \(url.address)\r
            User-Agent: \(agent)\r
            Content-Type: application/json\r
            Accept: */*\r
            Content-Length:\u{20}
            """.utf8)
    }

    /// On a connection that was closed meanwhile it tries once more on a new one; nothing is sent twice otherwise.
    func post(_ body: [UInt8]) throws(NetworkFailure) -> HTTPAnswer {
        let deadline = ContinuousClock.now + timeout
        if let open = stream, !open.isStale {
            if let answer = try exchange(body, on: open, until: deadline) { return answer }
        }
        let fresh = try SocketStream.connect(to: url.address, timeout: timeout)
        stream = fresh
        guard let answer = try exchange(body, on: fresh, until: deadline) else {
            throw NetworkFailure("the connection was closed without an answer")
        }
        return answer
    }

    /// Nil when the connection was closed before an answer began.
    private func exchange(
        _ body: [UInt8], on open: SocketStream, until deadline: ContinuousClock.Instant
    ) throws(NetworkFailure) -> HTTPAnswer? {
        // Whatever fails, the connection is in no known state any more.
        stream = nil
        do {
            try open.send(start + Array("\(body.count)\r\n\r\n".utf8) + body, until: deadline)
        } catch {
            // An answer may be there although the receiver took not all: too large, for example.
            guard let refusal = try? readAnswer(open, until: deadline) else { throw error }
            return refusal.answer
        }
        guard let (answer, closes) = try readAnswer(open, until: deadline) else { return nil }
        stream = closes ? nil : open
        return answer
    }

    private func readAnswer(
        _ open: SocketStream, until deadline: ContinuousClock.Instant
    ) throws(NetworkFailure) -> (answer: HTTPAnswer, closes: Bool)? {
        while let bytes = try open.readHead(until: deadline) {
            guard let head = HTTPHead(bytes), head.startLine[0].hasPrefix("HTTP/1."),
                let status = Int(head.startLine[1])
            else { throw NetworkFailure("the answer is not HTTP/1.1") }
            if (100...199).contains(status) { continue }
            if status == 204 || status == 304 { return (HTTPAnswer(status: status, body: []), head.closes) }
            guard let length = head.contentLength, length <= ReceiverConnection.bodyLimit else {
                // Without a length only the status is of use, and the connection of none.
                return (HTTPAnswer(status: status, body: []), true)
            }
            return (HTTPAnswer(status: status, body: try open.read(length, until: deadline)), head.closes)
        }
        return nil
    }
}
