import Base

/// How long something that does not renew gives access.
package enum ProductDuration: Sendable, Equatable {
    /// ms, above 0.
    case time(Int64)
    /// Of the calendar, in UTC; above 0.
    case months(Int64)

    /// A hundred years, in days and in months.
    private static let mostDays: Int64 = 36_525
    private static let mostMonths: Int64 = 1200

    /// A duration as configurations spell them (`12h`, `90d`), or whole days, weeks, months or years of ISO 8601 (`P30D`,
    /// `P2W`, `P3M`, `P1Y`). Nil for anything else, for nothing, and for more than a hundred years.
    package init?(text: String) {
        if let duration = Duration(text: text) {
            guard duration > .zero, duration <= .seconds(ProductDuration.mostDays * 86_400) else { return nil }
            self = .time(duration.milliseconds)
            return
        }
        let digits = text.dropFirst().dropLast()
        guard text.hasPrefix("P"), digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int64(digits),
            (1...ProductDuration.mostDays).contains(count)
        else { return nil }
        switch text.last {
        case "D": self = .time(count * .day)
        case "W" where count * 7 <= ProductDuration.mostDays: self = .time(count * 7 * .day)
        case "M" where count <= ProductDuration.mostMonths: self = .months(count)
        case "Y" where count * 12 <= ProductDuration.mostMonths: self = .months(count * 12)
        default: return nil
        }
    }

    /// The shortest spelling that `init(text:)` reads back.
    package var text: String {
        switch self {
        case .time(let time): Duration.milliseconds(time).text
        case .months(let count): count % 12 == 0 ? "P\(count / 12)Y" : "P\(count)M"
        }
    }

    /// The end of so many in a row, in ms. A month ends on the same day of a later month at the same time, or on its
    /// last day.
    ///
    /// - Parameters:
    ///   - start: ms.
    ///   - quantity: at least 1 and at most 1000 count.
    func end(after start: Int64, quantity: Int) -> Int64 {
        let times = Int64(Swift.min(Swift.max(quantity, 1), 1000))
        return switch self {
        case .time(let time): start.later(by: time.multipliedClamping(by: times))
        case .months(let count): CalendarDate.later(start, byMonths: count * times)
        }
    }
}

extension Int64 {
    fileprivate func multipliedClamping(by factor: Int64) -> Int64 {
        let (product, isTooMuch) = multipliedReportingOverflow(by: factor)
        return isTooMuch ? .max : product
    }
}
