import Daemon
import Foundation
import Glibc
import TestSupport

/// A consumer that speaks HTTP/2 (RFC 9113) over TLS, one connection after the other: `openssl s_server` ends TLS, and
/// here are the frames. It answers every request with 200 and `done`.
final class HTTP2Server: Sendable {
    private struct State {
        var requests = 0
        var connections = 0
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    let port: UInt16
    let certificate: String
    private let state = Monitor(State())
    private let process: Int32
    /// Both standard input and standard output of openssl.
    private let pipe: Int32
    private let folder: String

    init(name: String) throws {
        folder = try TemporaryFolder.make()
        certificate = "\(folder)/certificate.pem"
        let key = "\(folder)/key.pem"
        try TestCommand.run([
            TLSServer.openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-keyout", key, "-out", certificate, "-subj", "/CN=\(name)", "-addext",
            "subjectAltName=DNS:\(name)",
        ])
        guard let (listener, port) = LoopbackSocket.listen() else { throw HostileServer.Failure() }
        close(listener)
        self.port = port
        (process, pipe) = try HTTP2Server.spawn([
            TLSServer.openssl, "s_server", "-quiet", "-accept", "127.0.0.1:\(port)", "-alpn", "h2", "-cert",
            certificate, "-key", key,
        ])
        try eventually("openssl listens") {
            guard let probe = LoopbackSocket.connect(port) else { return false }
            close(probe)
            return true
        }
        let pipe = pipe
        let state = state
        _ = ServiceThread("h2") { HTTP2Server.serve(pipe, state) }
    }

    func stop() {
        // Before the process ends: then its thread closes the pipe, whose number another test may get at once.
        shutdown(pipe, Int32(SHUT_RDWR))
        kill(process, SIGKILL)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        TemporaryFolder.remove(folder)
    }

    var requests: Int { state.read { $0.requests } }
    var connections: Int { state.read { $0.connections } }

    private static func serve(_ pipe: Int32, _ state: Monitor<State>) {
        defer { close(pipe) }
        while var start = LoopbackSocket.receive(pipe, 9) {
            if start.starts(with: preface.prefix(9)) {
                guard LoopbackSocket.receive(pipe, 15) != nil, let next = LoopbackSocket.receive(pipe, 9) else {
                    return
                }
                state.change { $0.connections += 1 }
                LoopbackSocket.send(pipe, frame(type: 4, flags: 0, stream: 0))
                start = next
            }
            let length = Int(start[0]) << 16 | Int(start[1]) << 8 | Int(start[2])
            guard let payload = LoopbackSocket.receive(pipe, length) else { return }
            let stream = start[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let (type, flags) = (start[3], start[4])
            switch type {
            case 4 where flags & 1 == 0: LoopbackSocket.send(pipe, frame(type: 4, flags: 1, stream: 0))
            case 6 where flags & 1 == 0: LoopbackSocket.send(pipe, frame(type: 6, flags: 1, stream: 0, payload))
            case 0, 1:
                guard flags & 1 == 1 else { continue }
                state.change { $0.requests += 1 }
                // `:status 200` is entry 8 of the static table (RFC 7541 appendix A).
                LoopbackSocket.send(pipe, frame(type: 1, flags: 4, stream: stream, [0x88]))
                LoopbackSocket.send(pipe, frame(type: 0, flags: 1, stream: stream, Array("done".utf8)))
            default: break
            }
        }
    }

    private static func frame(type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        let head = [UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, flags]
        return head + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: stream >> UInt32($0)) } + payload
    }

    private static func spawn(_ arguments: [String]) throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw HostileServer.Failure()
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        let argv = arguments.map { strdup($0) } + [nil]
        defer { for text in argv { free(text) } }
        var process: Int32 = 0
        let status = posix_spawn(&process, arguments[0], &actions, nil, argv, environ)
        close(ends[1])
        guard status == 0 else { throw HostileServer.Failure() }
        return (process, ends[0])
    }
}
