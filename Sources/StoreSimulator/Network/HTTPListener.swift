import Base
import Daemon
import Glibc

/// A small HTTP/1.1 server with a thread for each connection: for demonstrations and tests, not for the open network.
package final class HTTPListener: Sendable {
    package struct Request: Sendable {
        package let method: String
        package let path: String
        package let body: [UInt8]
        private let head: HTTPHead

        init(method: String, path: String, body: [UInt8], head: HTTPHead) {
            self.method = method
            self.path = path
            self.body = body
            self.head = head
        }

        /// Field names in lower case.
        package func header(_ name: String) -> String? { head[name] }
    }

    /// Where it listens, with the port the system picked.
    package let address: HostAndPort
    private let socket: Int32
    private let handler: @Sendable (Request) -> HTTPAnswer
    private static let bodyLimit = 16 << 20
    private static let idle = Duration.seconds(300)

    /// Port 0 picks a free one. `handler` is called on many threads at once.
    package init(
        _ wanted: HostAndPort, handler: @escaping @Sendable (Request) -> HTTPAnswer
    ) throws(NetworkFailure) {
        var reason = "no address"
        let opened = try wanted.resolve(passive: true) { (info) -> Int32? in
            let made = Glibc.socket(
                info.pointee.ai_family, info.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue),
                info.pointee.ai_protocol)
            guard made >= 0 else { return nil }
            var on: Int32 = 1
            setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
            if bind(made, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0, listen(made, 128) == 0 { return made }
            reason = String(cString: strerror(errno))
            close(made)
            return nil
        }
        guard let opened else { throw NetworkFailure("cannot listen on \(wanted): \(reason)") }
        socket = opened
        address = HostAndPort(host: wanted.host, port: HTTPListener.port(of: opened) ?? wanted.port)
        self.handler = handler
        let listener = self
        _ = ServiceThread("http-accept") { listener.accept() }
    }

    private static func port(of socket: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        guard status == 0 else { return nil }
        // The port stands in the same place for both families.
        return withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
    }

    /// Takes no more connections; those that are open stay until they end.
    package func stop() {
        shutdown(socket, Int32(SHUT_RDWR))
    }

    private func accept() {
        defer { close(socket) }
        while true {
            let connection = Glibc.accept(socket, nil, nil)
            if connection < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                if errno == EMFILE || errno == ENFILE {
                    // Others may close theirs soon.
                    usleep(10_000)
                    continue
                }
                return
            }
            // Not for the programs that this process starts: they would keep it open.
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            let listener = self
            _ = ServiceThread("http-connection") { listener.serve(SocketStream(connection)) }
        }
    }

    private func serve(_ stream: SocketStream) {
        do {
            while try serveOne(stream) {}
        } catch {
            // The peer is gone: no answer is possible.
        }
    }

    /// False when the connection ends here.
    private func serveOne(_ stream: SocketStream) throws(NetworkFailure) -> Bool {
        let deadline = ContinuousClock.now + HTTPListener.idle
        guard let bytes = try stream.readHead(until: deadline) else { return false }
        guard let head = HTTPHead(bytes), head.startLine.count == 3, head["transfer-encoding"] == nil else {
            try answer(HTTPAnswer(status: 400, body: []), on: stream, closes: true, until: deadline)
            return false
        }
        let length = head.contentLength ?? 0
        guard length <= HTTPListener.bodyLimit else {
            try answer(HTTPAnswer(status: 413, body: []), on: stream, closes: true, until: deadline)
            return false
        }
        if head["expect"]?.lowercased() == "100-continue" {
            try stream.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), until: deadline)
        }
        let body = try stream.read(length, until: deadline)
        let made = handler(Request(method: head.startLine[0], path: head.startLine[1], body: body, head: head))
        try answer(made, on: stream, closes: head.closes, until: deadline)
        return !head.closes
    }

    private func answer(
        _ answer: HTTPAnswer, on stream: SocketStream, closes: Bool, until deadline: ContinuousClock.Instant
    ) throws(NetworkFailure) {
        let phrase = answer.isAccepted ? "OK" : "Answer"
        let length = answer.status == 204 ? "" : "Content-Length: \(answer.body.count)\r\n"
        let head = """
            HTTP/1.1 \(answer.status) \(phrase)\r
            Content-Type: application/json\r
            \(length)\(closes ? "Connection: close\r\n" : "")\r\n
            """
        try stream.send(Array(head.utf8) + (answer.status == 204 ? [] : answer.body), until: deadline)
    }
}
