/// The progress of long work: one line on standard error that is written again and again, on a terminal only.
package struct ProgressBar: Sendable {
    private let terminal: Terminal
    private static let width = 30
    private var shown = ""

    package init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    /// - Parameters:
    ///   - fraction: 0 to 1.
    ///   - text: the work, in a few words.
    package mutating func show(_ fraction: Double, _ text: String) {
        let line = ProgressBar.line(fraction, text, columns: terminal.progressColumns)
        guard line != shown else { return }
        shown = line
        terminal.progress("\r\u{1B}[K" + line)
    }

    /// Removes the line, before other output or at the end.
    package mutating func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        terminal.progress("\r\u{1B}[K")
    }

    /// A line that wraps cannot be written over, so the bar and then the text give way to the width.
    ///
    /// - Parameter columns: of the terminal; nil where that is unknown.
    package static func line(_ fraction: Double, _ text: String, columns: Int? = nil) -> String {
        let share = min(1, max(0, fraction))
        let label = "\(Int(share * 100)) % \(text)"
        let width = columns.map { min(ProgressBar.width, $0 - label.displayWidth - 2) } ?? ProgressBar.width
        guard width > 3 else { return label.lines(ofWidth: max(1, (columns ?? .max) - 1)).first ?? "" }
        let done = Int(share * Double(width))
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: width - done)
        return "\(bar) \(label)"
    }
}
