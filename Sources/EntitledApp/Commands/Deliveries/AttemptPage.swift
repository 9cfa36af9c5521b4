import Base
import CLI
import Database

/// An attempt as `deliveries show` shows it.
enum AttemptPage {
    /// Lines of a response's body, and characters of a line, that people get to see.
    private static let (shownLines, shownWidth) = (12, 160)

    /// A block of lines, without control characters: foreign bytes must not steer a terminal.
    ///
    /// - Parameters:
    ///   - attempt: as in JSON.
    ///   - started: when it began.
    static func text(_ attempt: JSON, started: String) -> String {
        let status = attempt["status"]?.intValue
        var lines = [
            "",
            "attempt \(attempt.cell("number"))    \(started)  \(attempt.cell("outcome"))"
                + (status.map { " (\($0))" } ?? ""),
        ]
        if let detail = attempt["detail"]?.stringValue, detail != status.map({ "status \($0)" }) {
            lines.append("  reason     \(detail)")
        }
        lines.append("  time       \(timeLine(attempt["timings"] ?? .null))")
        if let peer = attempt["peer"]?.stringValue {
            let version = attempt["http_version"]?.stringValue.map { ", HTTP/\($0)" } ?? ""
            let isReused = attempt["reused_connection"]?.boolValue == true
            lines.append("  peer       \(peer)\(isReused ? ", connection used again" : "")\(version)")
        }
        if let worker = attempt["worker"]?.stringValue {
            lines.append("  worker     \(attempt.cell("host")) (\(worker))")
        }
        if attempt["response_hidden"]?.boolValue == true {
            lines.append("  answer     not shown to the role of the key")
        }
        lines += section("head", attempt.cell("head"), truncated: false)
        lines += section("answer", attempt.cell("response"), truncated: attempt["truncated"]?.boolValue == true)
        return lines.map(Terminal.harmless).joined(separator: "\n")
    }

    /// The phases that there were, in their order, and all of it.
    private static func timeLine(_ timings: JSON) -> String {
        ["dns", "connect", "tls", "first_byte", "total"].compactMap { name in
            timings[name]?.intValue.map { "\(name.replacing("_", with: " ")) \($0) ms" }
        }.joined(separator: " | ")
    }

    private static func section(_ name: String, _ text: String, truncated: Bool) -> [String] {
        guard !text.isEmpty else { return [] }
        let all = text.split(whereSeparator: \.isNewline)
        var lines = all.prefix(shownLines).map { line in
            line.count > shownWidth ? "\(line.prefix(shownWidth))…" : String(line)
        }
        if all.count > shownLines { lines.append("… (\(all.count - shownLines) more lines, see --json)") }
        if truncated { lines.append("[cut: there was more than \(text.utf8.count) bytes]") }
        let heading = name.padded(to: 11)
        return lines.enumerated().map { "  \($0.offset == 0 ? heading : "".padded(to: 11))\($0.element)" }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
