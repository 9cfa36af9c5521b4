import Daemon
import Glibc

/// A server that lets every client in, as Postgres does without a password, and answers nothing more.
package final class SilentPostgres: Sendable {
    private let listener: Int32
    private let clients = Monitor<[Int32]>([])

    /// Clients that it let in.
    package var admitted: Int { clients.read { $0.count } }

    /// - Parameter folder: where its socket is; made if it is not there.
    package init(in folder: String) throws {
        mkdir(folder, 0o755)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array("\(folder)/.s.PGSQL.5432".utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { throw TestFailure("the path is long") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 && listen(descriptor, 10) == 0
            }
        }
        guard isBound else { throw TestFailure("no socket in \(folder): \(errno)") }
        listener = descriptor
        _ = ServiceThread("silent-postgres") { [clients] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else { return }
                var message = [UInt8](repeating: 0, count: 4096)
                _ = recv(client, &message, message.count, 0)
                // AuthenticationOk and ReadyForQuery (PostgreSQL, "Message Formats").
                let answer: [UInt8] = [0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]
                _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
                clients.change { $0.append(client) }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        clients.change { for client in $0 { close(client) } }
    }
}
