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

    package static func < (a: Day, b: Day) -> Bool { a.number < b.number }
}
