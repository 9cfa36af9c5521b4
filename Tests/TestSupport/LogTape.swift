import Base
import Daemon

/// Keeps what is logged.
package final class LogTape: Sendable {
    private let lines = Monitor<[String]>([])

    package init() {}

    package var logger: Logger {
        Logger(minimum: .debug) { [self] line in
            lines.change { $0.append(String(decoding: line, as: UTF8.self)) }
        }
    }

    package var text: String { lines.read { $0.joined() } }

    /// Waits for a line that has this text.
    package func wait(for part: String, timeout: Duration = .seconds(20)) throws {
        let found = lines.wait(timeout: timeout) { $0.contains { $0.contains(part) } ? true : nil }
        guard found == true else { throw TestFailure("not logged within \(timeout): \(part)\n\(text)") }
    }
}
