import Base
import Daemon

/// What an argument or option may be.
package enum ValueKind: Sendable {
    case text(String)
    case file
    /// One of a few words.
    case choice([String], String)
    /// ISO 8601.
    case time
    /// The same, or how long ago.
    case moment
    case timeZone
    case integer(ClosedRange<Int64>, String)
    /// As configurations spell them.
    case duration(ClosedRange<Duration>)

    /// As usage lines show the value.
    package var placeholder: String {
        switch self {
        case .text(let name), .choice(_, let name), .integer(_, let name): name
        case .file: "FILE"
        case .time, .moment: "TIME"
        case .timeZone: "ZONE"
        case .duration: "DURATION"
        }
    }

    /// What is allowed, unless it is any text; for help and messages.
    package var allowed: String? {
        switch self {
        case .text: "a text that is not empty"
        case .file: "a path"
        case .choice(let words, _): "one of \(words.joined(separator: ", "))"
        case .time: "a time in ISO 8601, such as 2026-11-21T01:02:03Z"
        case .moment: TimeArgument.allowed
        case .timeZone: TimeZoneDatabase.allowed
        case .integer(let range, _):
            "a whole number from \(range.lowerBound)" + (range.upperBound == .max ? "" : " to \(range.upperBound)")
        case .duration(let range):
            "a duration from \(range.lowerBound == .zero ? "0s" : range.lowerBound.text) to \(range.upperBound.text), "
                + "such as 30m, 24h or 7d"
        }
    }

    /// Whether help needs to say what is allowed.
    package var isWorthExplaining: Bool {
        switch self {
        case .text, .file: false
        case .choice, .time, .moment, .timeZone, .duration: true
        case .integer(let range, _): range.upperBound != .max
        }
    }

    package func accepts(_ text: String) -> Bool {
        switch self {
        case .text, .file: !text.isEmpty && !text.utf8.contains(0)
        case .choice(let words, _): words.contains(text)
        case .time: Timestamp.parse(text) != nil
        case .moment: TimeArgument(text: text) != nil
        case .timeZone: TimeZoneDatabase.zone(named: text) != nil
        case .integer(let range, _): Int64(text).map(range.contains) ?? false
        case .duration(let range): Duration(text: text).map(range.contains) ?? false
        }
    }
}

extension ValueKind {
    /// The environments that there are in the App Store; those of development are refused.
    package static let environment = ValueKind.choice(["Sandbox", "Production"], "ENVIRONMENT")
}
