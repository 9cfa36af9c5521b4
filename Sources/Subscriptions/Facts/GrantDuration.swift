/// For how long access is granted.
package enum GrantDuration: String, Sendable, CaseIterable {
    case daily
    case threeDay = "three_day"
    case weekly
    case twoWeek = "two_week"
    case monthly
    case twoMonth = "two_month"
    case threeMonth = "three_month"
    case sixMonth = "six_month"
    case yearly
    case lifetime

    private enum Length {
        case days(Int64)
        /// Of the calendar, in UTC.
        case months(Int64)
        case ever
    }

    private var length: Length {
        switch self {
        case .daily: .days(1)
        case .threeDay: .days(3)
        case .weekly: .days(7)
        case .twoWeek: .days(14)
        case .monthly: .months(1)
        case .twoMonth: .months(2)
        case .threeMonth: .months(3)
        case .sixMonth: .months(6)
        case .yearly: .months(12)
        case .lifetime: .ever
        }
    }

    /// The end in ms; nil: never. Days have 24 hours. A month ends on the same day of a later month at the same time,
    /// in UTC, or on its last day: of 31 January on 28 February.
    package func end(after start: Int64) -> Int64? {
        switch length {
        case .days(let days): start.later(by: days * .day)
        case .months(let months): CalendarDate.later(start, byMonths: months)
        case .ever: nil
        }
    }
}
