/// How far a play is, in one line of a terminal that it writes again and again.
struct ProgressBar {
    private let terminal: Terminal
    private static let width = 30

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    mutating func show(_ progress: Playback.Progress) {
        terminal.note("\r\u{1B}[K" + ProgressBar.text(progress))
    }

    mutating func clear() {
        terminal.note("\r\u{1B}[K")
    }

    static func text(_ progress: Playback.Progress) -> String {
        guard progress.isSending else { return "signing ahead: \(progress.planned)" }
        guard progress.isComplete, progress.planned > 0 else { return "\(progress.sent) sent" }
        let done = progress.sent * width / progress.planned
        let bar = String(repeating: "█", count: done) + String(repeating: "░", count: width - done)
        return "\(bar) \(progress.sent) of \(progress.planned)"
    }
}
