import CLinux
import CMicrohttpd
import Daemon
import Glibc
import Synchronization

/// Sockets whose answer is sent and whose other end may still be sending: read from and thrown away until it stops.
///
/// Closing a socket that has unread bytes resets the connection, and the reset can overtake the answer (RFC 9112
/// §9.6). One thread also gives the sweep its rhythm.
final class LingeringSockets: Sendable {
    /// The longest a socket lingers, and how many do.
    private static let patience = Duration.seconds(2)
    private static let capacity = 256

    private struct Entry {
        let socket: Int32
        let deadline: MonotonicTime
    }

    private struct Inbox {
        var sockets: [Int32] = []
        var count = 0
        var isStopping = false
    }

    private let inbox = Mutex(Inbox())
    /// Reading and writing end of what wakes the thread.
    private let wake: (Int32, Int32)

    init() {
        var ends: [Int32] = [-1, -1]
        let type = clinux_stream | clinux_close_on_exec | clinux_nonblocking
        socketpair(AF_UNIX, type, 0, &ends)
        wake = (ends[0], ends[1])
    }

    deinit {
        close(wake.0)
        close(wake.1)
    }

    /// Takes over this descriptor.
    func add(_ socket: Int32) {
        let isTaken = inbox.withLock { inbox in
            guard inbox.count < LingeringSockets.capacity, !inbox.isStopping else { return false }
            inbox.count += 1
            inbox.sockets.append(socket)
            return true
        }
        if isTaken {
            ring()
        } else {
            close(socket)
        }
    }

    func stop() {
        inbox.withLock { $0.isStopping = true }
        ring()
    }

    private func ring() {
        var byte: UInt8 = 1
        _ = send(wake.1, &byte, 1, Int32(MSG_NOSIGNAL))
    }

    /// Runs until `stop`; calls `sweep` about every `interval`.
    func run(every interval: Duration, sweep: () -> Void) {
        var entries: [Entry] = []
        var next = MonotonicTime.after(interval)
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)
        defer { scratch.deallocate() }
        while true {
            wait(for: &entries, interval, scratch)
            let (sockets, isStopping) = inbox.withLock { inbox in
                defer { inbox.sockets = [] }
                return (inbox.sockets, inbox.isStopping)
            }
            let deadline = MonotonicTime.after(LingeringSockets.patience)
            entries += sockets.map { Entry(socket: $0, deadline: deadline) }
            let now = MonotonicTime.now()
            drop(&entries) { isStopping || $0.deadline <= now }
            if isStopping { return }
            if next <= now {
                sweep()
                next = MonotonicTime.after(interval)
            }
        }
    }

    /// Waits for bytes or the bell, and throws the bytes away.
    private func wait(for entries: inout [Entry], _ interval: Duration, _ scratch: UnsafeMutableRawBufferPointer) {
        var descriptors = [pollfd(fd: wake.0, events: Int16(POLLIN), revents: 0)]
        descriptors += entries.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
        let timeout = Int32(
            clamping: max(
                1,
                interval.components.attoseconds / 1_000_000_000_000_000
                    + interval.components.seconds.multipliedReportingOverflow(by: 1000).partialValue))
        guard poll(&descriptors, nfds_t(descriptors.count), timeout) > 0 else { return }
        if descriptors[0].revents != 0 {
            _ = recv(wake.0, scratch.baseAddress, scratch.count, 0)
        }
        let ready = Set(descriptors.dropFirst().filter { $0.revents != 0 }.map(\.fd))
        drop(&entries) { ready.contains($0.socket) && recv($0.socket, scratch.baseAddress, scratch.count, 0) <= 0 }
    }

    private func drop(_ entries: inout [Entry], where isOver: (Entry) -> Bool) {
        let over = entries.filter(isOver)
        guard !over.isEmpty else { return }
        over.forEach { close($0.socket) }
        let closed = Set(over.map(\.socket))
        entries.removeAll { closed.contains($0.socket) }
        inbox.withLock { $0.count -= over.count }
    }
}
