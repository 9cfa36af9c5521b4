import Base
import Daemon
import Glibc

/// The log file of a private cluster, whose lines go into the log of this process.
///
/// The server writes into the file by itself, since it outlives a process that is killed. Lines of sessions stay in the
/// file: they could quote what people wrote, and the process that ran the statement reports the failure.
struct ClusterLog {
    /// Of the file in bytes; beyond it, its text goes to `server.log.1`, and the file begins anew.
    static let limit: Int64 = 10_000_000
    /// Of lines in ten seconds; others are counted.
    private static let budget = 50
    /// Between attempts to begin the file anew, which a full disk fails.
    private static let rotationPause = Duration.seconds(60)

    private let path: String
    private let account: ClusterAccount
    private let logger: Logger
    private var file: (device: dev_t, number: ino_t)?
    private var position: Int64
    /// The beginning of a line whose end is not written yet.
    private var rest: [UInt8] = []
    private var told = 0
    private var windowEnd = ContinuousClock.now
    private var nextRotation = ContinuousClock.now

    /// - Parameter position: where reading begins; bytes.
    init(_ path: String, from position: Int64, _ account: ClusterAccount, _ logger: Logger) {
        self.path = path
        self.position = position
        self.account = account
        self.logger = logger
    }

    static func size(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// The last lines of the file from there on, without their times, so that the same failure has the same text.
    static func tail(_ path: String, from position: Int64) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return "" }
        defer { close(file) }
        let bytes = bytes(file, from: max(position, size(path) - Int64(part)))
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            ClusterLogLine(parsing: line).map { "\($0.severity): \($0.text)" } ?? String(line)
        }
        return PrivateClusterError.tail(lines.joined(separator: "\n"))
    }

    private static let part = 65_536

    private static func bytes(_ file: Int32, from position: Int64) -> ArraySlice<UInt8> {
        var buffer = [UInt8](repeating: 0, count: part)
        let count = pread(file, &buffer, buffer.count, off_t(position))
        return buffer.prefix(max(0, count))
    }

    /// Passes on every line that was written since the last time.
    mutating func pass() {
        let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return }
        let isOther = self.file.map { $0.device != status.st_dev || $0.number != status.st_ino } ?? false
        if isOther || Int64(status.st_size) < position { position = 0 }
        self.file = (status.st_dev, status.st_ino)
        read(file)
        if position > ClusterLog.limit, ContinuousClock.now >= nextRotation { beginAnew(file) }
    }

    private mutating func read(_ file: Int32) {
        while case let bytes = ClusterLog.bytes(file, from: position), !bytes.isEmpty {
            position += Int64(bytes.count)
            for byte in bytes {
                guard byte == UInt8(ascii: "\n") else {
                    if rest.count < 8192 { rest.append(byte) }
                    continue
                }
                tell(String(decoding: rest, as: UTF8.self))
                rest.removeAll(keepingCapacity: true)
            }
        }
    }

    private mutating func tell(_ text: String) {
        guard let line = ClusterLogLine(parsing: text), let level = line.level else { return }
        if ContinuousClock.now >= windowEnd {
            if told > ClusterLog.budget {
                logger.warning(
                    "private database messages omitted", ["count": .int(Int64(told - ClusterLog.budget))])
            }
            told = 0
            windowEnd = ContinuousClock.now + .seconds(10)
        }
        told += 1
        guard told <= ClusterLog.budget || level == .error else { return }
        logger.log(
            level, "private database message received",
            [
                "severity": .string(line.severity), "process": .string(line.process),
                "text": .string(String(line.text.prefix(1000))),
            ])
    }

    /// The server appends, so that it goes on at the new end.
    private mutating func beginAnew(_ file: Int32) {
        nextRotation = .now + ClusterLog.rotationPause
        guard (try? account.run(["/bin/cp", "--", path, "\(path).1"])) != nil else { return }
        read(file)
        if ftruncate(file, 0) == 0 { position = 0 }
    }
}
