import Glibc
import Lifecycle

/// A proxy on a port of 127.0.0.1 that leads every name to one port of the same host, or misbehaves.
final class TunnelProxy: Sendable {
    enum Manner: Sendable {
        /// Connects to this port, whatever host is asked for.
        case connect(UInt16)
        /// Answers CONNECT with this status and closes.
        case status(Int)
        /// Takes connections and says nothing.
        case silence
        case close
        /// Speaks SOCKS 5 and gives this reply (RFC 1928 §6); for 0 it connects to the port.
        case socks(UInt8, UInt16)
    }

    private struct State {
        var heads: [String] = []
        var sockets: [Int32] = []
        var stopped = false
    }

    let port: UInt16
    private let listener: Int32
    private let manner: Manner
    private let state = Monitor(State())

    init(_ manner: Manner) throws {
        self.manner = manner
        guard let (listener, port) = LoopbackSocket.listen() else { throw HostileServer.Failure() }
        (self.listener, self.port) = (listener, port)
        _ = ServiceThread("proxy") { [self] in acceptAll() }
    }

    func stop() {
        let sockets = state.change { state in
            state.stopped = true
            return state.sockets
        }
        for socket in sockets + [listener] { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    /// What was asked for: heads of CONNECT, or `host:port` of SOCKS.
    var heads: [String] { state.read { $0.heads } }

    private func acceptAll() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { break }
            guard keep(client) else { break }
            _ = ServiceThread("proxy-client") { [self] in
                serve(client)
                shutdown(client, Int32(SHUT_RDWR))
            }
        }
        close(listener)
        for socket in state.read({ $0.sockets }) { close(socket) }
    }

    private func keep(_ socket: Int32) -> Bool {
        state.change { state in
            state.sockets.append(socket)
            return !state.stopped
        }
    }

    private func serve(_ client: Int32) {
        switch manner {
        case .close: return
        case .silence:
            var byte: UInt8 = 0
            while recv(client, &byte, 1, 0) > 0 {}
        case .socks(let reply, let port): serveSocks(client, reply, port)
        case .status(let status):
            readHead(client)
            LoopbackSocket.send(client, "HTTP/1.1 \(status) Word\r\nContent-Length: 4\r\nx-proxy: yes\r\n\r\nnope")
        case .connect(let port):
            readHead(client)
            guard let server = LoopbackSocket.connect(port), keep(server) else { return }
            LoopbackSocket.send(client, "HTTP/1.1 200 Connection established\r\nx-proxy: yes\r\n\r\n")
            pass(client, server)
        }
    }

    private func readHead(_ client: Int32) {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8), recv(client, &byte, 1, 0) == 1 { head.append(byte) }
        state.change { $0.heads.append(String(decoding: head, as: UTF8.self)) }
    }

    private func serveSocks(_ client: Int32, _ reply: UInt8, _ port: UInt16) {
        guard let greeting = LoopbackSocket.receive(client, 2), LoopbackSocket.receive(client, Int(greeting[1])) != nil
        else { return }
        LoopbackSocket.send(client, [5, 0])
        guard let request = LoopbackSocket.receive(client, 4), request[3] == 3,
            let length = LoopbackSocket.receive(client, 1), let host = LoopbackSocket.receive(client, Int(length[0])),
            let wanted = LoopbackSocket.receive(client, 2)
        else { return }
        let name = String(decoding: host, as: UTF8.self)
        state.change { $0.heads.append("\(name):\(UInt16(wanted[0]) << 8 | UInt16(wanted[1]))") }
        let server = reply == 0 ? LoopbackSocket.connect(port) : nil
        LoopbackSocket.send(client, [5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
        guard let server, keep(server) else { return }
        pass(client, server)
    }

    private func pass(_ client: Int32, _ server: Int32) {
        _ = ServiceThread("proxy-back") { LoopbackSocket.copy(from: server, to: client) }
        LoopbackSocket.copy(from: client, to: server)
    }
}

/// Plain sockets of 127.0.0.1.
enum LoopbackSocket {
    /// A listener on a free port.
    static func listen() -> (Int32, UInt16)? {
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

    static func connect(_ port: UInt16) -> Int32? {
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

    static func address(_ port: UInt16, last: UInt32 = 1) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7f00_0000 | last).bigEndian
        return address
    }

    static func send(_ descriptor: Int32, _ text: String) { send(descriptor, Array(text.utf8)) }

    static func send(_ descriptor: Int32, _ bytes: [UInt8]) {
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
    static func receive(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: max(1, count))
        while bytes.count < count {
            let got = recv(descriptor, &buffer, count - bytes.count, 0)
            guard got > 0 else { return nil }
            bytes += buffer.prefix(got)
        }
        return bytes
    }

    /// Until one of both ends.
    static func copy(from: Int32, to: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            send(to, Array(buffer.prefix(count)))
        }
        shutdown(to, Int32(SHUT_RDWR))
    }
}
