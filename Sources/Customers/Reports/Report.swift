import Base
import Subscriptions

/// What is asked for.
package struct ReportQuestion: Sendable, Equatable {
    /// Nil: all apps.
    package let app: String?
    package let environment: StoreEnvironment
    package let step: ReportCalendar.Step
    /// In which days, weeks and months begin.
    package let timeZone: TimeZoneName

    package init(
        app: String?, environment: StoreEnvironment, step: ReportCalendar.Step, timeZone: TimeZoneName = .utc
    ) {
        self.timeZone = timeZone
        self.app = app
        self.environment = environment
        self.step = step
    }
}

/// Subscriptions and money of a time.
package struct Report: Sendable, Equatable {
    package struct Part: Sendable, Equatable {
        /// ms since 1970, in it.
        package let from: Int64
        /// ms since 1970, no more in it.
        package let to: Int64
        package let counts: [ReportCount: Int64]
        /// At its last instant.
        package let gauges: [ReportGauge: Int64]
        package let revenue: [ReportProduct: ReportMoney]

        /// The sums over products, by currency; what has no price comes last.
        package var currencies: [(currency: String?, money: ReportMoney)] {
            Dictionary(grouping: revenue, by: \.key.currency)
                .map { ($0.key, $0.value.reduce(ReportMoney()) { $0 + $1.value }) }
                .sorted { ($0.0 ?? "\u{10FFFF}") < ($1.0 ?? "\u{10FFFF}") }
        }
    }

    package let question: ReportQuestion
    package let parts: [Part]
    /// Of all parts; at their end where it is of an instant.
    package let total: Part
    /// How many purchases were looked at, of whatever time.
    package let purchases: Int64

    init(question: ReportQuestion, parts: [Part], total: Part, purchases: Int64) {
        (self.question, self.parts, self.total, self.purchases) = (question, parts, total, purchases)
    }

    package init(_ tally: ReportTally, _ question: ReportQuestion) {
        self.question = question
        purchases = tally.purchases
        let gauges = Dictionary(uniqueKeysWithValues: ReportGauge.allCases.map { ($0, tally.gauge($0)) })
        let parts = tally.revenue.enumerated().map { place, revenue in
            let (from, to) = tally.calendar.part(place)
            return Part(
                from: from, to: to, counts: tally.counts.mapValues { $0[place] },
                gauges: gauges.mapValues { $0[place] },
                revenue: revenue)
        }
        self.parts = parts
        let last = parts.last?.revenue ?? [:]
        var revenue: [ReportProduct: ReportMoney] = [:]
        for part in parts { revenue.merge(part.revenue) { $0 + $1 } }
        for product in revenue.keys { revenue[product]?.monthly = last[product]?.monthly ?? 0 }
        total = Part(
            from: tally.calendar.from, to: tally.calendar.to, counts: tally.counts.mapValues { $0.reduce(0, +) },
            gauges: parts.last?.gauges ?? [:],
            revenue: revenue.filter { $0.value != ReportMoney() })
    }
}
