import Daemon
import Glibc
import TestSupport

/// A proxy on a port of 127.0.0.1 that leads every name to one port of the same host, or misbehaves.
final class TunnelProxy: Sendable {
    enum Manner: Sendable {
        /// Connects to this port, whatever host is asked for.
        case connect(UInt16)
        /// Answers CONNECT with this status and closes.
        case status(Int, header: String = "x-proxy: yes")
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
            let client = LoopbackSocket.accept(listener)
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
        case .status(let status, let header):
            readHead(client)
            LoopbackSocket.send(client, "HTTP/1.1 \(status) Word\r\nContent-Length: 4\r\n\(header)\r\n\r\nnope")
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
