import Base
import Glibc

/// One TCP connection, used by one thread at a time; every wait has a deadline.
final class SocketStream {
    private let socket: Int32
    private var buffer: [UInt8] = []
    private var start = 0
    private static let chunk = 16384

    /// Takes over an open socket.
    init(_ socket: Int32) {
        self.socket = socket
        var on: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(socket)
    }

    static func connect(to address: HostAndPort, timeout: Duration) throws(NetworkFailure) -> SocketStream {
        let deadline = ContinuousClock.now + timeout
        var reason = "no address"
        let socket = try address.resolve { (info) -> Int32? in
            let made = Glibc.socket(
                info.pointee.ai_family,
                info.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue)
                    | Int32(SOCK_NONBLOCK.rawValue), info.pointee.ai_protocol)
            guard made >= 0 else { return nil }
            if Glibc.connect(made, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0 { return made }
            if errno == EINPROGRESS, wait(made, POLLOUT, until: deadline) {
                var code: Int32 = 0
                var length = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(made, SOL_SOCKET, SO_ERROR, &code, &length)
                if code == 0 { return made }
                errno = code
            } else if errno == EINPROGRESS {
                errno = ETIMEDOUT
            }
            reason = String(cString: strerror(errno))
            close(made)
            return nil
        }
        guard let socket else { throw NetworkFailure("cannot connect to \(address): \(reason)") }
        return SocketStream(socket)
    }

    private static func wait(_ socket: Int32, _ events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let left = max(0, ContinuousClock.now.duration(to: deadline).milliseconds)
            var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
            let ready = poll(&entry, 1, Int32(clamping: left))
            if ready > 0 { return true }
            if ready == 0 || errno != EINTR { return false }
        }
    }

    func send(_ bytes: [UInt8], until deadline: ContinuousClock.Instant) throws(NetworkFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, flags) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                guard SocketStream.wait(socket, POLLOUT, until: deadline) else {
                    throw NetworkFailure("timed out while sending")
                }
            } else if errno != EINTR {
                throw NetworkFailure("the connection broke while sending: \(String(cString: strerror(errno)))")
            }
        }
    }

    /// Whether the peer closed, or sent something that was not asked for: then the connection is of no more use.
    var isStale: Bool {
        var byte: UInt8 = 0
        let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
        return start < buffer.count || recv(socket, &byte, 1, flags) >= 0 || errno != EAGAIN
    }

    /// Everything up to the first blank line and that line; nil when the peer closed before the first byte.
    func readHead(limit: Int = 65536, until deadline: ContinuousClock.Instant) throws(NetworkFailure) -> [UInt8]? {
        var searched = start
        while true {
            if let end = endOfHead(from: searched) {
                defer { consume(to: end) }
                return Array(buffer[start..<end])
            }
            guard buffer.count - start <= limit else { throw NetworkFailure("the head is longer than \(limit) bytes") }
            searched = max(start, buffer.count - 3)
            if try !fill(until: deadline) {
                if start == buffer.count { return nil }
                throw NetworkFailure("the connection was closed within a head")
            }
        }
    }

    /// Exactly so many bytes.
    func read(_ count: Int, until deadline: ContinuousClock.Instant) throws(NetworkFailure) -> [UInt8] {
        while buffer.count - start < count {
            guard try fill(until: deadline) else { throw NetworkFailure("the connection was closed within a body") }
        }
        let end = start + count
        defer { consume(to: end) }
        return Array(buffer[start..<end])
    }

    private func consume(to end: Int) {
        start = end
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: true)
            start = 0
        }
    }

    private func endOfHead(from: Int) -> Int? {
        var index = from
        while index + 3 < buffer.count {
            if buffer[index] == 13 && buffer[index + 1] == 10 && buffer[index + 2] == 13 && buffer[index + 3] == 10 {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    /// False at the end of the stream.
    private func fill(until deadline: ContinuousClock.Instant) throws(NetworkFailure) -> Bool {
        while true {
            guard SocketStream.wait(socket, POLLIN, until: deadline) else { throw NetworkFailure("timed out") }
            let old = buffer.count
            buffer.append(contentsOf: repeatElement(0, count: SocketStream.chunk))
            let count = buffer.withUnsafeMutableBytes { bytes in
                recv(socket, bytes.baseAddress?.advanced(by: old), SocketStream.chunk, Int32(MSG_DONTWAIT))
            }
            buffer.removeLast(SocketStream.chunk - max(0, count))
            if count > 0 { return true }
            if count == 0 { return false }
            guard errno == EAGAIN || errno == EINTR else {
                throw NetworkFailure("the connection broke: \(String(cString: strerror(errno)))")
            }
        }
    }
}
