import CLinux
import Glibc
import Synchronization

/// Whether this host's name servers answer at all: where they do not, that a name is not resolved says nothing of it.
package final class NameServerProbe: Sendable {
    private struct Verdict {
        let isAlive: Bool
        let until: ContinuousClock.Instant
    }

    /// A short one, so that the first failures of an outage are seldom taken for the names' fault.
    private static let (aliveFor, deadFor) = (Duration.seconds(2), Duration.seconds(5))
    private static let patience: Int32 = 500

    private let ask: @Sendable () -> Bool
    private let last = Mutex<Verdict?>(nil)

    package convenience init() {
        self.init { NameServerProbe.anyAnswers(within: NameServerProbe.patience) }
    }

    /// - Parameter ask: asks them; blocks for some time.
    package init(ask: @escaping @Sendable () -> Bool) {
        self.ask = ask
    }

    /// Blocks for half a second at most, at most every 2 s; others wait meanwhile. Not for a thread that must go on.
    package func isAlive() -> Bool {
        last.withLock { last in
            if let last, last.until > ContinuousClock.now { return last.isAlive }
            let isAlive = ask()
            last = Verdict(
                isAlive: isAlive,
                until: ContinuousClock.now + (isAlive ? NameServerProbe.aliveFor : NameServerProbe.deadFor))
            return isAlive
        }
    }

    /// Asks every configured server for the root's name servers by UDP. Any answer will do (RFC 1035 §4.1.1).
    private static func anyAnswers(within milliseconds: Int32) -> Bool {
        let id = UInt16.random(in: .min ... .max)
        let sockets = servers().compactMap { open($0, asking: query(id)) }
        defer { for socket in sockets { close(socket) } }
        var watched = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let deadline = ContinuousClock.now + .milliseconds(Int64(milliseconds))
        while !watched.isEmpty {
            let left = (deadline - ContinuousClock.now) / .milliseconds(1)
            guard left > 0 else { return false }
            let ready = poll(&watched, nfds_t(watched.count), Int32(left.rounded(.up)))
            guard ready > 0 else {
                if ready < 0, errno == EINTR { continue }
                return false
            }
            // A port without a listener is an error here (ICMP).
            for index in watched.indices.reversed() where watched[index].revents != 0 {
                if isAnswer(watched[index].fd, to: id) { return true }
                watched.remove(at: index)
            }
        }
        return false
    }

    private static func servers() -> [[UInt8]] {
        let capacity = 8
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: capacity * 28, alignment: 8)
        defer { bytes.deallocate() }
        var lengths = [UInt32](repeating: 0, count: capacity)
        let count = clinux_name_servers(bytes, &lengths, Int32(capacity))
        return (0..<max(0, min(Int(count), capacity))).map { index in
            Array(UnsafeRawBufferPointer(start: bytes + index * 28, count: min(28, Int(lengths[index]))))
        }
    }

    private static func open(_ address: [UInt8], asking query: [UInt8]) -> Int32? {
        guard let family = address.withUnsafeBytes({ $0.count > 2 ? $0.loadUnaligned(as: sa_family_t.self) : nil })
        else { return nil }
        let descriptor = socket(Int32(family), clinux_datagram | clinux_close_on_exec, 0)
        guard descriptor >= 0 else { return nil }
        let connected = address.withUnsafeBytes { bytes in
            bytes.assumingMemoryBound(to: sockaddr.self).baseAddress.map {
                connect(descriptor, $0, socklen_t(bytes.count))
            }
        }
        guard connected == 0, send(descriptor, query, query.count, Int32(MSG_NOSIGNAL)) == query.count else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// `. NS IN`, recursion desired.
    private static func query(_ id: UInt16) -> [UInt8] {
        [UInt8(id >> 8), UInt8(id & 0xff), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1]
    }

    private static func isAnswer(_ descriptor: Int32, to id: UInt16) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return count >= 12 && buffer[0] == UInt8(id >> 8) && buffer[1] == UInt8(id & 0xff) && buffer[2] & 0x80 != 0
    }
}
