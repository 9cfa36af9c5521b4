/// A rule for all years by which the clocks of a zone are changed, such as `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX.1-2017, Base
/// Definitions, 8.3, "TZ"; with the hours of RFC 9636, 3.3.1).
struct PosixZone: Sendable {
    /// When clocks are changed in a year: a day, and seconds from its midnight on.
    private struct Change: Sendable {
        enum Day: Sendable {
            /// 1 to 365; 29 February is never counted.
            case withoutLeapDay(Int64)
            /// 0 to 365.
            case ofYear(Int64)
            /// 1 to 12, the first to the fifth or last such day of the week, 0 being Sunday.
            case ofMonth(Int64, week: Int64, weekday: Int64)
        }

        let day: Day
        let time: Int64

        /// Seconds since 1970 as the clocks show them.
        func instant(in year: Int64) -> Int64 {
            let first = Base.Day(firstOf: 1, year: year).number
            let number: Int64
            switch day {
            case .withoutLeapDay(let day):
                let march = Base.Day(firstOf: 3, year: year).number
                let isLeap = march - first == 60
                number = first + day - 1 + (isLeap && day >= 60 ? 1 : 0)
            case .ofYear(let day): number = first + day
            case .ofMonth(let month, let week, let weekday):
                let start = Base.Day(firstOf: month, year: year).number
                let next = month == 12 ? Base.Day(firstOf: 1, year: year + 1) : Base.Day(firstOf: month + 1, year: year)
                // 1970-01-01 was a Thursday.
                let candidate = start + (weekday - (start + 4) % 7 + 7) % 7 + (week - 1) * 7
                number = candidate < next.number ? candidate : candidate - 7
            }
            return number * 86_400 + time
        }
    }

    private let standard: LocalZone.Offset
    private let summer: (offset: LocalZone.Offset, begin: Change, end: Change)?

    /// Nil for anything else.
    init?(_ text: String) {
        var reader = Reader(text)
        guard let name = reader.name(), let west = reader.time(most: 24) else { return nil }
        standard = (-west, name)
        guard !reader.isAtEnd else {
            summer = nil
            return
        }
        guard let summerName = reader.name() else { return nil }
        var seconds = standard.seconds + 3600
        if !reader.isNext(",") {
            guard let west = reader.time(most: 24) else { return nil }
            seconds = -west
        }
        guard let begin = reader.change(), let end = reader.change(), reader.isAtEnd else { return nil }
        summer = ((seconds, summerName), begin, end)
    }

    /// At an instant of 1970 or later, in seconds.
    func offset(at instant: Int64) -> LocalZone.Offset {
        guard let summer, instant < PosixZone.last else { return standard }
        let year = Day(number: (instant + standard.seconds) / 86_400).date.year
        let begin = summer.begin.instant(in: year) - standard.seconds
        let end = summer.end.instant(in: year) - summer.offset.seconds
        let isSummer = begin < end ? begin <= instant && instant < end : !(end <= instant && instant < begin)
        return isSummer ? summer.offset : standard
    }

    /// The year 9999, behind which no clock is changed.
    private static let last: Int64 = 253_402_300_800

    private struct Reader {
        private var rest: Substring.UTF8View

        init(_ text: String) { rest = Substring(text).utf8 }

        var isAtEnd: Bool { rest.isEmpty }

        func isNext(_ scalar: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: scalar) }

        private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
            guard isNext(scalar) else { return false }
            rest.removeFirst()
            return true
        }

        /// Three letters or more, or anything in `<>`.
        mutating func name() -> String? {
            if skip("<") {
                let name = String(Substring(rest.prefix { $0 != UInt8(ascii: ">") }))
                rest.removeFirst(name.utf8.count)
                return skip(">") && !name.isEmpty ? name : nil
            }
            let name = String(Substring(rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }))
            rest.removeFirst(name.utf8.count)
            return name.utf8.count >= 3 ? name : nil
        }

        private mutating func number(_ allowed: ClosedRange<Int64>) -> Int64? {
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard let value = Int64(String(Substring(digits))), allowed.contains(value) else { return nil }
            rest.removeFirst(digits.count)
            return value
        }

        /// `-3`, `5:30` or `2:00:01`, in seconds; nil where its hours are more than the most.
        mutating func time(most: Int64) -> Int64? {
            let isNegative = skip("-")
            if !isNegative { _ = skip("+") }
            guard let hours = number(0...most) else { return nil }
            var seconds = hours * 3600
            if skip(":") {
                guard let minutes = number(0...59) else { return nil }
                seconds += minutes * 60
                if skip(":") {
                    guard let rest = number(0...59) else { return nil }
                    seconds += rest
                }
            }
            return isNegative ? -seconds : seconds
        }

        /// `,M3.5.0/2`, `,J60` or `,59/-1`.
        mutating func change() -> Change? {
            guard skip(",") else { return nil }
            let day: Change.Day
            if skip("M") {
                guard let month = number(1...12), skip("."), let week = number(1...5), skip("."),
                    let weekday = number(0...6)
                else { return nil }
                day = .ofMonth(month, week: week, weekday: weekday)
            } else if skip("J") {
                guard let number = number(1...365) else { return nil }
                day = .withoutLeapDay(number)
            } else {
                guard let number = number(0...365) else { return nil }
                day = .ofYear(number)
            }
            guard skip("/") else { return Change(day: day, time: 7200) }
            return time(most: 167).map { Change(day: day, time: $0) }
        }
    }
}
