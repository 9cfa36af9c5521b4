import Base

/// A time on a command line: in ISO 8601, a month, a word such as `last-month`, or how long ago.
package struct TimeArgument: Sendable, Equatable {
    private enum Meaning: Equatable {
        case instant(Int64)
        /// The beginning of a day.
        case day(Day)
        /// Milliseconds.
        case ago(Int64)
        case word(Word)
    }

    /// Beginnings of days and months.
    private enum Word: String, CaseIterable {
        case today, yesterday
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
        } else if let day = TimeArgument.day(text) {
            meaning = .day(day)
        } else if let instant = Timestamp.parse(text) {
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
    ///
    /// - Parameter zone: in which days and months begin.
    package func milliseconds(now: Int64, in zone: LocalZone = .utc) -> Int64 {
        let today = zone.day(of: now)
        return switch meaning {
        case .instant(let instant): instant
        case .ago(let duration): now - duration
        case .day(let day): zone.start(of: day)
        case .word(.today): zone.start(of: today)
        case .word(.yesterday): zone.start(of: today.adding(-1))
        case .word(.thisMonth): zone.start(of: today.monthStart)
        case .word(.lastMonth): zone.start(of: today.monthStart.adding(-1).monthStart)
        }
    }

    /// The same for a beginning, which cannot be in the future.
    package func milliseconds(
        ofOption name: String, now: Int64, in zone: LocalZone = .utc
    ) throws(UsageError) -> Int64 {
        let found = milliseconds(now: now, in: zone)
        guard found <= now else { throw UsageError("\(name) \(text) is in the future") }
        return found
    }

    /// A plain date, or the first day of a month such as `2026-11`.
    private static func day(_ text: String) -> Day? {
        let date = text.utf8.count == 7 ? "\(text)-01" : text
        guard date.utf8.count == 10 else { return nil }
        return Timestamp.parse(date).map { Day(of: $0) }
    }
}
