import Glibc
import HTTP

/// A socket that sends exactly what a test says and reads what comes back.
final class RawClient: Sendable {
    enum End {
        /// The other side closed the connection or reset it.
        case closed
        /// Nothing more came within the patience.
        case open
    }

    private let descriptor: Int32

    /// - Parameter host: the last byte of the client's own address in 127.0.0.0/24; nil: the usual one.
    init(port: UInt16, patience: Duration = .seconds(5), from host: UInt8? = nil) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if let host {
            var own = sockaddr_in()
            own.sin_family = sa_family_t(AF_INET)
            own.sin_addr.s_addr = (UInt32(0x7f00_0000) | UInt32(host)).bigEndian
            _ = withUnsafePointer(to: &own) { own in
                own.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        _ = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let (seconds, attoseconds) = patience.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        var yes: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
    }

    /// Whether all of it was taken.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Resets the connection instead of closing it.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        // The descriptor stays ours: dup2 of another one closes the connection without freeing the number.
        let null = open("/dev/null", O_RDWR)
        dup2(null, descriptor)
        close(null)
    }

    /// Nil: nothing came in time. Empty: closed.
    func receive() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0 { return errno == EAGAIN ? nil : [] }
        return Array(buffer.prefix(count))
    }

    /// All until the other side closes or falls silent.
    func receiveAll() -> (text: String, end: End) {
        var all: [UInt8] = []
        while let part = receive() {
            if part.isEmpty { return (String(decoding: all, as: UTF8.self), .closed) }
            all += part
        }
        return (String(decoding: all, as: UTF8.self), .open)
    }

    /// The next answer, by its Content-Length; nil if none came.
    func answer() -> Answer? {
        var all: [UInt8] = []
        while true {
            if let answer = Answer(all) { return answer }
            guard let part = receive(), !part.isEmpty else { return nil }
            all += part
        }
    }
}

struct Answer {
    let status: Int
    let head: String
    let body: String

    /// Nil until all of it is there. An interim answer (1xx) has no body.
    init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"), let status = Answer.statuses(in: text).first else {
            return nil
        }
        self.status = status
        head = text[..<end.lowerBound].lowercased()
        var length = 0
        for line in head.split(separator: "\r\n") where line.hasPrefix("content-length: ") {
            length = Int(line.dropFirst(16)) ?? 0
        }
        let rest = text[end.upperBound...]
        guard rest.utf8.count >= length else { return nil }
        body = String(rest)
    }

    /// Of all answers in a row, wherever they begin.
    static func statuses(in text: String) -> [Int] {
        text.matches(of: #/HTTP/1\.[01] (\d{3})\ /#).compactMap { Int($0.1) }
    }
}
