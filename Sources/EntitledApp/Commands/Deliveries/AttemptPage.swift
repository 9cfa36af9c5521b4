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

    /// All that is known. Times are in milliseconds; null is a phase that did not happen, or did not end.
    static func document(_ attempt: AttemptSummary) -> JSON {
        let timings = attempt.timings
        return .object([
            "number": .int(Int64(attempt.number)), "started_at": .date(attempt.started),
            "milliseconds": .int(attempt.milliseconds), "status": .integer(attempt.status.map { Int64($0) }),
            "outcome": .string(attempt.outcome), "detail": .text(attempt.detail),
            "timings": .object([
                "dns": .integer(timings.lookup), "connect": .integer(timings.connect),
                "tls": .integer(timings.handshake), "first_byte": .integer(timings.firstByte),
                "total": .int(attempt.milliseconds),
            ]),
            "peer": .text(attempt.peer), "reused_connection": .bool(attempt.reused),
            "http_version": .text(attempt.version), "worker": .text(attempt.worker), "host": .text(attempt.host),
            "head": .text(attempt.head.isEmpty ? nil : String(decoding: attempt.head, as: UTF8.self)),
            "response": .string(String(decoding: attempt.response, as: UTF8.self)),
            "truncated": .bool(attempt.truncated),
        ])
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
