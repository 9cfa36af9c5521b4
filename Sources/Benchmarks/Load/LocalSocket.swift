import Glibc

/// TCP sockets of this host, not blocking.
enum LocalSocket {
    /// - Parameter address: `127.0.0.1:PORT`.
    static func connect(to address: String) throws -> Int32 {
        guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw BenchmarkFailure("\(address) is no address")
        }
        let made = try open()
        let status = withAddress(port, loopback) { Glibc.connect(made, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else {
            close(made)
            throw BenchmarkFailure("cannot connect to \(address): \(String(cString: strerror(errno)))")
        }
        return made
    }

    /// Listens on a port that the system picks.
    static func listen() throws -> (socket: Int32, port: UInt16) {
        let made = try open()
        guard withAddress(0, loopback, { Glibc.bind(made, $0, $1) }) == 0, Glibc.listen(made, 128) == 0 else {
            close(made)
            throw BenchmarkFailure("cannot listen: \(String(cString: strerror(errno)))")
        }
        var bound = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &bound) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(made, $0, &length) }
        }
        return (made, UInt16(bigEndian: bound.sin_port))
    }

    /// The next connection that waits; nil if none does.
    static func accept(_ listening: Int32) -> Int32? {
        let accepted = Glibc.accept(listening, nil, nil)
        guard accepted >= 0 else { return nil }
        prepare(accepted)
        return accepted
    }

    private static func open() throws -> Int32 {
        let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { throw BenchmarkFailure("no socket: \(String(cString: strerror(errno)))") }
        prepare(made)
        return made
    }

    /// No delay, and room for a whole notification, so that sending one is one call.
    private static func prepare(_ socket: Int32) {
        _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
        var (on, size): (Int32, Int32) = (1, 1 << 18)
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    private static let loopback: UInt32 = 0x7f00_0001

    private static func withAddress(
        _ port: UInt16, _ host: UInt32, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = host.bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}
