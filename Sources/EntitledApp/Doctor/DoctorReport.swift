import Base
import CLI

/// Everything that was found, for machines and for people.
package struct DoctorReport: Sendable {
    package let findings: [NamedFinding]

    package init(_ findings: [NamedFinding]) {
        self.findings = findings
    }

    package func count(_ status: Finding.Status) -> Int { findings.count { $0.finding.status == status } }

    package var isGood: Bool { count(.error) == 0 }

    package var document: JSON {
        .object(["checks": .array(findings.map(\.document)), "ok": .bool(isGood)])
    }

    /// As in `2 errors, 1 warning`.
    package var summary: String {
        let parts = [(count(.error), "error"), (count(.warning), "warning")].filter { $0.0 > 0 }
            .map { $0.0.counted($0.1) }
        return parts.isEmpty ? "all is well" : parts.joined(separator: ", ")
    }

    /// Sections with their lines; what to do stands below the line that it is about.
    ///
    /// - Parameters:
    ///   - colours: for a terminal.
    ///   - columns: of the screen, whose lines are broken between words; nil: each finding is one line.
    package func text(colours: Bool, columns: Int? = nil) -> String {
        var lines: [String] = []
        var section = ""
        for named in findings {
            if named.section != section {
                if !lines.isEmpty { lines.append("") }
                section = named.section
                lines.append(DoctorReport.paint(section.uppercased().replacing("_", with: " "), "1", colours))
            }
            let (word, colour) = DoctorReport.mark(named.finding.status)
            let padding = String(repeating: " ", count: 9 - word.count)
            let message = Terminal.harmless(named.finding.message).hanging(by: 11, ofWidth: columns)
            lines.append("  " + DoctorReport.paint(word, colour, colours) + padding + message)
            if let action = named.finding.action {
                lines.append(
                    String(repeating: " ", count: 11) + "→ "
                        + Terminal.harmless(action).hanging(by: 13, ofWidth: columns))
            }
        }
        return (lines + ["", summary]).joined(separator: "\n") + "\n"
    }

    private static func mark(_ status: Finding.Status) -> (word: String, colour: String) {
        switch status {
        case .ok: ("ok", "32")
        case .warning: ("warning", "33")
        case .error: ("ERROR", "1;31")
        }
    }

    /// Select Graphic Rendition, ECMA-48 §8.3.117.
    private static func paint(_ text: String, _ colour: String, _ colours: Bool) -> String {
        colours ? "\u{1B}[\(colour)m\(text)\u{1B}[0m" : text
    }
}
