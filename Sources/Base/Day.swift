/// A day in UTC.
package struct Day: Hashable, Sendable, Comparable {
    /// Days since 1970-01-01.
    package let number: Int64

    private static let milliseconds: Int64 = 86_400_000

    package init(number: Int64) {
        self.number = number
    }

    /// The day of an instant, in ms since 1970.
    package init(of instant: Int64) {
        let (quotient, remainder) = instant.quotientAndRemainder(dividingBy: Day.milliseconds)
        number = remainder < 0 ? quotient - 1 : quotient
    }

    /// When it begins, in ms since 1970.
    package var start: Int64 { number * Day.milliseconds }

    package func adding(_ days: Int64) -> Day { Day(number: number + days) }

    /// As in `2026-11-21`.
    package var text: String { String(Timestamp.text(start).prefix(10)) }

    /// The first day of its month.
    package var monthStart: Day {
        Timestamp.parse("\(text.prefix(8))01").map { Day(of: $0) } ?? self
    }

    /// In the Gregorian calendar, from March of the year 0 on (Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// `civil_from_days`): years begin in March, so that the leap day is their last.
    package var date: (year: Int64, month: Int64, day: Int64) {
        let shifted = max(0, min(number, Int64.max / 1000) + 719_468)
        let (era, ofEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * ofYear + 2) / 153
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * fromMarch + 2) / 5 + 1)
    }

    /// The first day of a month, 1 to 12, of a year from 1 on (Hinnant, `days_from_civil`).
    package init(firstOf month: Int64, year: Int64) {
        let shifted = month <= 2 ? year - 1 : year
        let (era, ofEra) = shifted.quotientAndRemainder(dividingBy: 400)
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5
        number = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }

    package static func < (a: Day, b: Day) -> Bool { a.number < b.number }
}
