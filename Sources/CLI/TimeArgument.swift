import Base

/// A time on a command line: in ISO 8601, a month, a word such as `last-month`, or how long ago.
package struct TimeArgument: Sendable, Equatable {
    private enum Meaning: Equatable {
        case instant(Int64)
        /// Milliseconds.
        case ago(Int64)
        case word(Word)
    }

    /// Beginnings of days and months, in UTC.
    private enum Word: String, CaseIterable {
        case today
        case thisMonth = "this-month"
        case lastMonth = "last-month"
    }

    /// As it was given.
    package let text: String
    private let meaning: Meaning

    /// Nil for any other text.
    package init?(text: String) {
        self.text = text
        if let word = Word(rawValue: text) {
            meaning = .word(word)
        } else if let instant = Timestamp.parse(text) ?? TimeArgument.month(text) {
            meaning = .instant(instant)
        } else if let duration = Duration(text: text) {
            meaning = .ago(duration.milliseconds)
        } else {
            return nil
        }
    }

    /// What is accepted, for help and messages.
    package static let allowed =
        "a time in ISO 8601, such as 2026-11-21T01:02:03Z, 2026-11-21T02:02:03+01:00 or 2026-11-21 (its beginning in UTC);"
        + " a month, such as 2026-11; \(Word.allCases.map(\.rawValue).joined(separator: ", ")), in UTC; or how long ago,"
        + " such as 24h"

    /// Milliseconds since 1970.
    package func milliseconds(now: Int64) -> Int64 {
        switch meaning {
        case .instant(let instant): instant
        case .ago(let duration): now - duration
        case .word(.today): Day(of: now).start
        case .word(.thisMonth): TimeArgument.monthStart(of: now)
        case .word(.lastMonth): TimeArgument.monthStart(of: TimeArgument.monthStart(of: now) - 1)
        }
    }

    /// The same for a beginning, which cannot be in the future.
    package func milliseconds(ofOption name: String, now: Int64) throws(UsageError) -> Int64 {
        let found = milliseconds(now: now)
        guard found <= now else { throw UsageError("\(name) \(text) is in the future") }
        return found
    }

    /// The beginning of a month such as `2026-11`.
    private static func month(_ text: String) -> Int64? {
        text.count == 7 ? Timestamp.parse("\(text)-01") : nil
    }

    private static func monthStart(of instant: Int64) -> Int64 {
        month(String(Timestamp.text(instant).prefix(7))) ?? instant
    }
}
