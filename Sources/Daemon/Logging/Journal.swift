import Glibc

/// systemd's journal, which takes a line's priority from a prefix and removes it (sd-daemon(3)), so that `journalctl -p
/// warning` finds warnings.
struct Journal: Sendable {
    /// The journal if it reads what is written to this file descriptor; nil otherwise, also for a pipe of a service that the
    /// variable was inherited from (systemd.exec(5), "$JOURNAL_STREAM").
    static func behind(_ file: Int32) -> Journal? {
        var status = stat()
        guard let stream = getenv("JOURNAL_STREAM"), fstat(file, &status) == 0,
            String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
        else { return nil }
        return Journal()
    }

    /// syslog(3)'s number of a level.
    func prefix(_ level: Logger.Level) -> [UInt8] {
        let priority =
            switch level {
            case .error: 3
            case .warning: 4
            case .notice: 5
            case .info: 6
            case .debug: 7
            }
        return Array("<\(priority)>".utf8)
    }
}
