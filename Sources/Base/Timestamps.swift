import FoundationEssentials

/// Instants as milliseconds since 1970-01-01 UTC, and their ISO 8601 spelling.
package enum Timestamp {
    /// `2026-11-21T01:02:03Z`; fractions of a second are cut off.
    package static func text(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        if let text = fast(seconds) { return text }
        return Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }

    /// The same for the years 1970 to 9999, without Foundation: documents are full of dates, and it takes longer for one
    /// than everything else around it.
    private static func fast(_ seconds: Int64) -> String? {
        guard (0..<253_402_300_800).contains(seconds) else { return nil }
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let date = Day(number: days).date
        var text: [UInt8] = []
        text.reserveCapacity(20)
        func add(_ value: Int64, _ digits: Int, then end: Unicode.Scalar) {
            var divisor: Int64 = digits == 4 ? 1000 : 10
            while divisor > 0 {
                text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value / divisor % 10))
                divisor /= 10
            }
            text.append(UInt8(ascii: end))
        }
        add(date.year, 4, then: "-")
        add(date.month, 2, then: "-")
        add(date.day, 2, then: "T")
        add(rest / 3600, 2, then: ":")
        add(rest / 60 % 60, 2, then: ":")
        add(rest % 60, 2, then: "Z")
        return String(decoding: text, as: UTF8.self)
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
