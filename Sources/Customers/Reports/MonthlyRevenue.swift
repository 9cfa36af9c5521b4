import Subscriptions

/// What subscriptions bring in each month: their prices, each spread over the months of its period. Exact until it is
/// asked for.
package struct MonthlyRevenue: Sendable, Comparable {
    /// In 1/336 of a milliunit: months and weeks divide it.
    private(set) var parts: Int128 = 0

    private static let unit: Int128 = 336
    /// Of a month of 365.25 / 12 days, in 7 days: 30.4375 / 7 = 1461 / 336.
    private static let week: Int128 = 1461
    private static let day: Int64 = 86_400_000

    package init() {}

    init(parts: Int128) { self.parts = parts }

    /// What a running period brings; nil for a trial, and where Apple signed no price.
    package init?(of period: Period) {
        guard let charge = period.signedCharge, charge.currency != nil, period.type != .trial else { return nil }
        let (length, isFar) = (period.transaction.expiresDate ?? .max).subtractingReportingOverflow(
            period.transaction.purchaseDate)
        parts = Int128(charge.milliunits) * MonthlyRevenue.factor(days: isFar ? .max : length / MonthlyRevenue.day)
    }

    /// Periods of Apple's durations, by the days that they may last: a week, and 1, 2, 3, 6 or 12 months. Calendar months
    /// are of unequal length, and an extension or a charge that was late makes them more so.
    private static func factor(days: Int64) -> Int128 {
        switch days {
        case ..<16: week
        case ..<46: unit
        case ..<76: unit / 2
        case ..<136: unit / 3
        case ..<274: unit / 6
        default: unit / 12
        }
    }

    /// The nearest milliunit, halves up.
    package var milliunits: Int64 {
        Int64(clamping: (2 * parts + MonthlyRevenue.unit) / (2 * MonthlyRevenue.unit))
    }

    package var isZero: Bool { parts == 0 }

    package static func < (left: MonthlyRevenue, right: MonthlyRevenue) -> Bool { left.parts < right.parts }
    package static func - (left: MonthlyRevenue, right: MonthlyRevenue) -> MonthlyRevenue {
        MonthlyRevenue(parts: left.parts &- right.parts)
    }
    package static func += (sum: inout MonthlyRevenue, more: MonthlyRevenue) { sum.parts &+= more.parts }
    package static func -= (sum: inout MonthlyRevenue, less: MonthlyRevenue) { sum.parts &-= less.parts }
}
