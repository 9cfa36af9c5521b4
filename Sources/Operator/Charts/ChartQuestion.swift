import Base
import CLI
import Customers
import Database
import Subscriptions

/// Which time and which part of the purchases a chart is about.
package struct ChartQuestion: DeskQuestion {
    package enum Step: String, Sendable, CaseIterable {
        case day, week, month

        var ofReport: ReportCalendar.Step {
            switch self {
            case .day: .day
            case .week: .week
            case .month: .month
            }
        }
    }

    private let from: TimeArgument?
    private let to: TimeArgument?
    private let step: Step?
    package let filter: ReportFilter
    package let environment: StoreEnvironment

    /// More parts make no readable chart.
    package static let mostParts = 400
    /// Of retention, whose table has a column for each.
    package static let mostMonths = 36

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        let texts = (from: parameters.text("from"), to: parameters.text("to"))
        let step = try parameters.choice("by", Step.self)
        let filter = ReportFilter(
            productID: parameters.text("product"), currency: parameters.text("currency"),
            country: parameters.text("country"))
        let environment = try parameters.environment() ?? .production
        try parameters.finish()
        try self.init(
            from: try texts.from.map { text throws(DeskError) in try ChartQuestion.time(text, "from") },
            to: try texts.to.map { text throws(DeskError) in try ChartQuestion.time(text, "to") }, by: step,
            filter: filter, environment: environment)
    }

    /// - Parameters:
    ///   - from: nil: some time ago, by the step.
    ///   - to: nil: the last refresh.
    ///   - step: nil: months.
    package init(
        from: TimeArgument?, to: TimeArgument?, by step: Step?, filter: ReportFilter, environment: StoreEnvironment
    ) throws(DeskError) {
        (self.from, self.to, self.step, self.filter) = (from, to, step, filter)
        self.environment = environment
        try ChartQuestion.check(filter.currency, 3, "currency", "an ISO 4217 code such as EUR")
        try ChartQuestion.check(filter.country, 2, "country", "an ISO 3166 code of two letters such as AT")
    }

    private static func time(_ text: String, _ name: String) throws(DeskError) -> TimeArgument {
        guard let time = TimeArgument(text: text) else {
            throw .badRequest("\(name) is \(text); it must be \(TimeArgument.allowed).", field: name)
        }
        return time
    }

    private static func check(_ code: String?, _ length: Int, _ name: String, _ allowed: String) throws(DeskError) {
        guard let code else { return }
        let isCode =
            code.utf8.count == length
            && code.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        guard isCode else { throw .badRequest("\(name) is \(code); it must be \(allowed).", field: name) }
    }

    /// The question with its times, which count from the last refresh.
    ///
    /// - Throws: `DeskError` where there is no such time.
    func scope(of chart: ChartName, _ freshness: ReportFreshness, in zone: LocalZone) throws(DeskError) -> ChartScope {
        let step = step ?? .month
        let now = freshness.refreshed
        let end = min(now, to?.milliseconds(now: now, in: zone) ?? now)
        let begin = from?.milliseconds(now: now, in: zone) ?? ChartQuestion.start(step, before: end - 1, in: zone)
        guard begin < end else {
            throw .badRequest(
                "from must be before to, and before the last refresh of the tables of reports, \(Timestamp.text(now)).",
                field: "from")
        }
        guard begin >= ReportCalendar.earliest else {
            throw .badRequest("from must not be before 0001-01-01.", field: "from")
        }
        guard chart != .retention || step == .month else {
            throw .badRequest("by is \(step.rawValue); retention is by months.", field: "by")
        }
        let most = chart == .retention ? ChartQuestion.mostMonths : ChartQuestion.mostParts
        guard let calendar = ReportCalendar(from: begin, to: end, by: step.ofReport, in: zone), calendar.count <= most
        else {
            throw .badRequest(
                "The period has more than \(most) parts; choose longer parts with by, or a shorter period.", field: "by"
            )
        }
        return ChartScope(
            calendar: calendar, step: step, filter: filter, environment: environment, freshness: freshness)
    }

    /// Where a chart begins unless it is told: whole parts, about as many as are seen at once.
    private static func start(_ step: Step, before now: Int64, in zone: LocalZone) -> Int64 {
        let today = zone.day(of: now)
        switch step {
        case .day: return zone.start(of: today.adding(-29))
        case .week:
            // 1970-01-01 was a Thursday.
            let monday = today.adding(-(((today.number + 3) % 7 + 7) % 7))
            return zone.start(of: monday.adding(-25 * 7))
        case .month:
            return zone.start(of: (0..<11).reduce(today.monthStart) { month, _ in month.adding(-1).monthStart })
        }
    }
}

/// A time in parts, and which of the purchases are counted into it.
package struct ChartScope: Sendable, Hashable {
    package let calendar: ReportCalendar
    package let step: ChartQuestion.Step
    package let filter: ReportFilter
    package let environment: StoreEnvironment
    package let freshness: ReportFreshness
}
