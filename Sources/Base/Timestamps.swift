import FoundationEssentials

/// Instants as milliseconds since 1970-01-01 UTC, and their ISO 8601 spelling.
package enum Timestamp {
    /// `2026-11-21T01:02:03Z`; fractions of a second are cut off.
    package static func text(_ milliseconds: Int64) -> String {
        let (seconds, _) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    /// `2026-11-21T01:02:03.456Z`.
    package static func precise(_ milliseconds: Int64) -> String {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(style)
    }

    /// Reads `2026-11-21T01:02:03Z`, with an offset or a fraction, or a plain date; nil for anything else, also for
    /// what has more behind it, which Foundation would leave unread.
    package static func parse(_ text: String) -> Int64? {
        let styles = [
            Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true),
            Date.ISO8601FormatStyle().year().month().day(),
        ]
        for style in styles {
            let whole = text.startIndex..<text.endIndex
            if let (end, date) = try? style.consuming(text, startingAt: text.startIndex, in: whole),
                end == text.endIndex
            {
                let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
                guard abs(milliseconds) < 9e15 else { return nil }
                return Int64(milliseconds)
            }
        }
        return nil
    }
}
