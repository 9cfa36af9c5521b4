import Base
import Glibc

/// Tells systemd how the process is, by datagrams to the socket that it names (sd_notify(3)). Without such a socket
/// nothing is sent.
package struct SystemdNotifier: Sendable {
    /// Of the socket; the first byte is 0 for an abstract one.
    private let path: [UInt8]?
    /// Between two signs of life, half of what systemd waits; nil: it waits for none.
    package let watchdogInterval: Duration?

    /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`, as systemd sets them.
    package init(environment: [String: String], process: Int32 = getpid()) {
        path = SystemdNotifier.path(environment["NOTIFY_SOCKET"] ?? "")
        let microseconds = environment["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        let isMeant = environment["WATCHDOG_PID"].map { Int32($0) == process } ?? true
        watchdogInterval = path != nil && isMeant && microseconds > 0 ? .microseconds(microseconds / 2) : nil
    }

    /// Children must not speak for this process. Call it before any thread is started.
    package static func clearEnvironment() {
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
    }

    /// A path, or with `@` an abstract name, that fits into an address.
    private static func path(_ text: String) -> [UInt8]? {
        let bytes = Array(text.utf8)
        guard bytes.count > 1, bytes.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
        switch bytes[0] {
        case UInt8(ascii: "/"): return bytes
        case UInt8(ascii: "@"): return [0] + bytes.dropFirst()
        default: return nil
        }
    }

    /// All services have started.
    package func ready() { send(["READY=1"]) }

    /// The configuration is read again; `ready` ends it.
    package func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        send(["RELOADING=1", "MONOTONIC_USEC=\(microseconds)"])
    }

    package func stopping() { send(["STOPPING=1", SystemdNotifier.status("draining")]) }

    /// The process is alive.
    package func isAlive() { send(["WATCHDOG=1"]) }

    /// One line for `systemctl status`.
    package func status(_ text: String) { send([SystemdNotifier.status(text)]) }

    private static func status(_ text: String) -> String {
        "STATUS=" + String(text.prefix(500).map { $0.isNewline ? " " : $0 })
    }

    private func send(_ lines: [String]) {
        guard let path else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let offset = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let length = socklen_t(offset + path.count)
        let message = Array(lines.joined(separator: "\n").utf8)
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}

/// Reports to systemd that the process is ready, what keeps it from its work, and that it lives.
package final class SystemdReporter: Service {
    package let name = "systemd"
    private let notifier: SystemdNotifier
    private let reasons: @Sendable () -> [String]
    private let isAlive: @Sendable () -> Bool
    private let loop = Loop("systemd")

    /// - Parameters:
    ///   - reasons: what keeps the process from its work; none: nothing does.
    ///   - isAlive: whether its threads run. Without it systemd's watchdog ends the process.
    package init(
        _ notifier: SystemdNotifier, reasons: @escaping @Sendable () -> [String],
        isAlive: @escaping @Sendable () -> Bool
    ) {
        self.notifier = notifier
        self.reasons = reasons
        self.isAlive = isAlive
    }

    package func start() {
        notifier.ready()
        let rest = min(notifier.watchdogInterval ?? .seconds(2), .seconds(2))
        let (notifier, reasons, isAlive) = (notifier, reasons, isAlive)
        loop.start { loop in
            var last: String?
            loop.run {
                if notifier.watchdogInterval != nil, isAlive() { notifier.isAlive() }
                let found = reasons()
                let status = found.isEmpty ? "ready" : "not ready: " + found.joined(separator: "; ")
                if status != last { notifier.status(status) }
                last = status
                return .after(rest)
            }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) { loop.drain(until: deadline) }
}
