import Base
import CLI
import Database

/// An attempt as `deliveries show` shows it.
enum AttemptPage {
    /// Lines of a response's body, and characters of a line, that people get to see.
    private static let (shownLines, shownWidth) = (12, 160)

    /// A block of lines, without control characters: foreign bytes must not steer a terminal.
    static func text(_ attempt: AttemptSummary) -> String {
        var lines = [
            "",
            "attempt \(attempt.number)    \(Timestamp.precise(attempt.started))  \(attempt.outcome)"
                + (attempt.status.map { " (\($0))" } ?? ""),
        ]
        if let detail = attempt.detail, detail != attempt.status.map({ "status \($0)" }) {
            lines.append("  reason     \(detail)")
        }
        lines.append("  time       \(timeLine(attempt))")
        if let peer = attempt.peer {
            let version = attempt.version.map { ", HTTP/\($0)" } ?? ""
            lines.append("  peer       \(peer)\(attempt.reused ? ", connection used again" : "")\(version)")
        }
        if let worker = attempt.worker {
            lines.append("  worker     \(attempt.host ?? "") (\(worker))")
        }
        lines += section("head", attempt.head, truncated: false)
        lines += section("answer", attempt.response, truncated: attempt.truncated)
        return lines.map(Terminal.harmless).joined(separator: "\n")
    }

    /// The phases that there were, in their order, and all of it.
    private static func timeLine(_ attempt: AttemptSummary) -> String {
        let timings = attempt.timings
        let phases: [(String, Int64?)] = [
            ("dns", timings.lookup), ("connect", timings.connect), ("tls", timings.handshake),
            ("first byte", timings.firstByte), ("total", attempt.milliseconds),
        ]
        return phases.compactMap { name, time in time.map { "\(name) \($0) ms" } }.joined(separator: " | ")
    }

    private static func section(_ name: String, _ bytes: [UInt8], truncated: Bool) -> [String] {
        guard !bytes.isEmpty else { return [] }
        let all = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        var lines = all.prefix(shownLines).map { line in
            line.count > shownWidth ? "\(line.prefix(shownWidth))…" : String(line)
        }
        if all.count > shownLines { lines.append("… (\(all.count - shownLines) more lines, see --json)") }
        if truncated { lines.append("[cut: there was more than \(bytes.count) bytes]") }
        let heading = name.padded(to: 11)
        return lines.enumerated().map { "  \($0.offset == 0 ? heading : "".padded(to: 11))\($0.element)" }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
