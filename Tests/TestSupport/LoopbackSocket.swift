import Glibc

/// Plain sockets of 127.0.0.1.
package enum LoopbackSocket {
    /// A listener on a free port.
    package static func listen() -> (Int32, UInt16)? {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                bind(listener, raw, length) | Glibc.listen(listener, 512) | getsockname(listener, raw, &length)
            }
        }
        return status == 0 ? (listener, UInt16(bigEndian: address.sin_port)) : nil
    }

    /// The next connection; below 0 where the listener is closed. No program that a test starts meanwhile inherits it:
    /// closing it here would otherwise not end it.
    package static func accept(_ listener: Int32) -> Int32 {
        let connection = Glibc.accept(listener, nil, nil)
        // `accept4` would leave no moment between; Swift's Glibc module does not have it.
        if connection >= 0 { _ = fcntl(connection, F_SETFD, FD_CLOEXEC) }
        return connection
    }

    package static func connect(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = address(port)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    package static func address(_ port: UInt16, last: UInt32 = 1) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7f00_0000 | last).bigEndian
        return address
    }

    package static func send(_ descriptor: Int32, _ text: String) { send(descriptor, Array(text.utf8)) }

    package static func send(_ descriptor: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Exactly so many bytes; nil where the other side closes before.
    package static func receive(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: max(1, count))
        while bytes.count < count {
            let got = recv(descriptor, &buffer, count - bytes.count, 0)
            guard got > 0 else { return nil }
            bytes += buffer.prefix(got)
        }
        return bytes
    }

    /// What comes next; nil at the end.
    package static func receiveSome(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer.prefix(count)) : nil
    }

    /// Until one of both ends.
    package static func copy(from: Int32, to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            send(to, Array(buffer.prefix(count)))
        }
        shutdown(to, Int32(SHUT_RDWR))
    }
}
