import Daemon
import Glibc

/// A listener on loopback that passes everything on to a unix socket, until it stops: then it keeps connections open
/// and swallows what is sent, as a router does that lost its state. TCP notices nothing, because this kernel answers.
package final class TestProxy: Sendable {
    private struct State {
        var isFrozen = false
        /// Both ends of each connection that is passed on.
        var passing: [(client: Int32, server: Int32)] = []
        /// What was swallowed stays open until the end.
        var swallowed: [Int32] = []
        var isOver = false
    }

    private let state = Monitor(State())
    private let listener: Int32
    private let socketPath: String
    package let port: UInt16

    /// - Parameter socket: the path of the server's unix socket.
    package init(to socket: String) throws {
        socketPath = socket
        let (descriptor, port) = try TestProxy.listen()
        (listener, self.port) = (descriptor, port)
        _ = ServiceThread("proxy") { [state, socketPath] in
            while true {
                let client = LoopbackSocket.accept(descriptor)
                guard client >= 0 else { return }
                TestProxy.admit(client, to: socketPath, state)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        state.change { state in
            state.isOver = true
            for descriptor in state.swallowed + state.passing.flatMap({ [$0.client, $0.server] }) {
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
    }

    /// Every connection that is open, or opened from now on, stays open and goes nowhere.
    package func freeze() {
        state.change { state in
            state.isFrozen = true
            state.swallowed += state.passing.flatMap { [$0.client, $0.server] }
            state.passing = []
        }
    }

    /// New connections are passed on again; the old ones stay as they are.
    package func thaw() {
        state.change { $0.isFrozen = false }
    }

    package var swallowed: Int { state.read { $0.swallowed.count } }

    private static func listen() throws -> (Int32, UInt16) {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && Glibc.listen(descriptor, 100) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw TestFailure("the proxy does not listen") }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    private static func admit(_ client: Int32, to path: String, _ state: Monitor<State>) {
        let isFrozen = state.change { state in
            if state.isFrozen { state.swallowed.append(client) }
            return state.isFrozen
        }
        guard !isFrozen else { return }
        guard let server = connect(path) else {
            close(client)
            return
        }
        state.change { $0.passing.append((client, server)) }
        for (from, to) in [(client, server), (server, client)] {
            _ = ServiceThread("proxy-pump") { pump(from, to, state) }
        }
    }

    private static func pump(_ from: Int32, _ to: Int32, _ state: Monitor<State>) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(from, &buffer, buffer.count)
            guard state.read({ $0.passing.contains { $0.client == from || $0.server == from } }) else {
                // Swallowed; the other end learns nothing.
                if count > 0 { continue }
                return
            }
            guard count > 0 else { break }
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes {
                    send(to, $0.baseAddress?.advanced(by: sent), count - sent, 0x4000)
                }
                guard written > 0 else { break }
                sent += written
            }
            guard sent == count else { break }
        }
        let isFirst = state.change { state in
            let before = state.passing.count
            state.passing.removeAll { $0.client == from || $0.server == from }
            return state.passing.count < before
        }
        guard isFirst else { return }
        shutdown(to, Int32(SHUT_RDWR))
        shutdown(from, Int32(SHUT_RDWR))
    }

    private static func connect(_ path: String) -> Int32? {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(descriptor, $0, size) == 0 }
        }
        guard isOpen else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
