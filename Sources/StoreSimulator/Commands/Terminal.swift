import Glibc

/// Where a command's words go; a test takes them instead.
package struct Terminal: Sendable {
    /// A whole line, without its end, to standard output.
    package let line: @Sendable (String) -> Void
    /// As it is, to standard error.
    package let note: @Sendable (String) -> Void
    /// Whether a person sees standard error, so that a progress bar makes sense.
    package let isInteractive: Bool

    package init(
        isInteractive: Bool, line: @escaping @Sendable (String) -> Void, note: @escaping @Sendable (String) -> Void
    ) {
        self.isInteractive = isInteractive
        self.line = line
        self.note = note
    }

    /// This process's. One write a line, so that lines of several threads do not mix, and none waits in a buffer.
    package static let standard = Terminal(isInteractive: isatty(2) == 1) { line in
        _ = FileAccess.writeAll(1, Array(line.utf8) + [UInt8(ascii: "\n")])
    } note: { text in
        _ = FileAccess.writeAll(2, Array(text.utf8))
    }
}
