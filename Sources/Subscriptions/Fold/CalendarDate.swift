/// Days of the Gregorian calendar, in UTC.
struct CalendarDate {
    let year: Int64
    /// 1 to 12.
    let month: Int64
    let day: Int64

    /// Instants that have a date here, in ms: two million years around 1970.
    private static let instants = -(Int64(1) << 56)...(Int64(1) << 56)

    /// The instant as many months later, in ms; the last day of a month that is too short.
    ///
    /// - Parameter count: at most a million.
    static func later(_ instant: Int64, byMonths count: Int64) -> Int64 {
        guard instants.contains(instant) else { return instant.later(by: count * 31 * .day) }
        let days = floorDivided(instant, .day)
        let date = CalendarDate(days: days)
        let months = date.month - 1 + count
        let (year, month) = (date.year + months / 12, months % 12 + 1)
        let day = min(date.day, length(of: month, in: year))
        let target = CalendarDate(year: year, month: month, day: day)
        return (target.days * .day).later(by: instant - days * .day)
    }

    private init(year: Int64, month: Int64, day: Int64) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// - Parameter days: since 1970. Years are counted from March, so that a leap day is the last of its year; in eras of
    ///   400 years, which all have as many days.
    private init(days: Int64) {
        let shifted = days + 719_468
        let era = CalendarDate.floorDivided(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    private var days: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = CalendarDate.floorDivided(shiftedYear, 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func length(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floorDivided(_ number: Int64, _ divisor: Int64) -> Int64 {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}
