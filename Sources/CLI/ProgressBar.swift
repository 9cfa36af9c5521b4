/// How far long work is: one line on standard error that is written again and again, where a person looks at it.
package struct ProgressBar: Sendable {
    private let terminal: Terminal
    private static let width = 30
    private var shown = ""

    package init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    /// - Parameters:
    ///   - fraction: 0 to 1.
    ///   - text: what is done, in a few words.
    package mutating func show(_ fraction: Double, _ text: String) {
        let line = ProgressBar.line(fraction, text)
        guard line != shown else { return }
        shown = line
        terminal.progress("\r\u{1B}[K" + line)
    }

    /// Takes the line away, for other output or at the end.
    package mutating func clear() {
        guard !shown.isEmpty else { return }
        shown = ""
        terminal.progress("\r\u{1B}[K")
    }

    static func line(_ fraction: Double, _ text: String) -> String {
        let share = min(1, max(0, fraction))
        let done = Int(share * Double(width))
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: width - done)
        return "\(bar) \(Int(share * 100)) % \(text)"
    }
}
