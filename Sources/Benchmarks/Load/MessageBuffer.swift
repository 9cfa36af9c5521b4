import Glibc

/// Bytes of one connection, and the HTTP message that they begin with: as much of HTTP/1.1 as the benchmarks' own two
/// ends need, which both state a Content-Length.
struct MessageBuffer {
    private var bytes: [UInt8] = []
    private static let end = Array("\r\n\r\n".utf8)
    private static let length = Array("\r\ncontent-length:".utf8)

    enum Reading {
        case more
        case closed
    }

    /// Takes what the socket has.
    mutating func fill(from socket: Int32) -> Reading {
        let size = 16384
        let known = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: size))
        let count = bytes.withUnsafeMutableBytes { bytes in
            recv(socket, bytes.baseAddress.map { $0 + known }, size, 0)
        }
        let isAlive = count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))
        bytes.removeLast(size - max(0, count))
        return isAlive ? .more : .closed
    }

    struct Message {
        let head: ArraySlice<UInt8>
        let body: ArraySlice<UInt8>

        /// Of an answer; 0 of anything else.
        var status: Int {
            let digits = head.dropFirst("HTTP/1.1 ".utf8.count).prefix(3)
            return Int(String(decoding: digits, as: UTF8.self)) ?? 0
        }
    }

    /// The first message, taken out; nil while it is not complete.
    mutating func next() -> Message? {
        guard let headEnd = MessageBuffer.find(MessageBuffer.end, in: bytes[...]).map({ $0 + 4 }) else { return nil }
        let bodyEnd = headEnd + MessageBuffer.contentLength(bytes[..<headEnd])
        guard bytes.count >= bodyEnd else { return nil }
        defer { bytes.removeFirst(bodyEnd) }
        return Message(head: bytes[..<headEnd], body: bytes[headEnd..<bodyEnd])
    }

    private static func contentLength(_ head: ArraySlice<UInt8>) -> Int {
        let lower = head.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
        guard let place = find(length, in: lower[...]) else { return 0 }
        let digits = lower[(place + length.count)...].drop { $0 == 0x20 }.prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    static func find(_ pattern: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress, let first = pattern.first else { return nil }
            var position = 0
            while buffer.count - position >= pattern.count,
                let found = memchr(start + position, Int32(first), buffer.count - position - pattern.count + 1)
            {
                if memcmp(found, pattern, pattern.count) == 0 {
                    return bytes.startIndex + (UnsafeRawPointer(found) - start)
                }
                position = UnsafeRawPointer(found) - start + 1
            }
            return nil
        }
    }
}
