import Base
import Glibc

/// The program that shows long output page by page on a terminal, as `PAGER` names it.
package struct Pager: Sendable {
    private let command: String

    /// Nil where the environment names none.
    package init?(_ environment: [String: String]) {
        guard let command = environment["PAGER"], !command.isEmpty, command != "cat" else { return nil }
        self.command = command
    }

    /// Shows a text and returns when the person ends the pager; false if there is no such program.
    package func show(_ bytes: [UInt8]) -> Bool {
        // As git does: less ends by itself after a short text, shows bold type, and leaves the text on the screen.
        setenv("LESS", "FRX", 0)
        let former = signal(SIGPIPE, SIG_IGN)
        defer { _ = signal(SIGPIPE, former) }
        guard let pipe = popen(command, "w") else { return false }
        _ = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, pipe) }
        return pclose(pipe) >> 8 & 0xff != Pager.notFound
    }

    /// The status of a shell that knows no such program.
    private static let notFound: Int32 = 127
}
