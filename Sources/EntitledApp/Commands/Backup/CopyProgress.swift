import CLI
import Daemon

/// The progress of a copy that another program makes, by the bytes that are there.
struct CopyProgress {
    private let loop = Loop("copy-progress")

    /// - Parameters:
    ///   - total: bytes, once all is copied.
    ///   - copied: bytes so far.
    init(_ terminal: Terminal, of total: Int64, copied: @escaping @Sendable () -> Int64) {
        loop.start { loop in
            var bar = ProgressBar(terminal)
            loop.run {
                let bytes = copied()
                bar.show(Double(bytes) / Double(max(1, total)), "\(bytes / 1_000_000) of \(total / 1_000_000) MB")
                return .after(.seconds(1))
            }
            bar.clear()
        }
    }

    /// Removes the line.
    func end() {
        loop.drain(until: .now + .seconds(5))
    }
}
