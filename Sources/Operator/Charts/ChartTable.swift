import Base
import Charts
import Customers
import Subscriptions

/// Puts what was counted into the tables of a chart.
struct ChartTable {
    private let name: ChartName
    private let scope: ChartScope
    private let tally: ChartTally
    private let zone: LocalZone

    /// - Parameter zone: that of the scope's days.
    init(_ name: ChartName, _ scope: ChartScope, _ tally: ChartTally, in zone: LocalZone) {
        (self.name, self.scope, self.tally, self.zone) = (name, scope, tally, zone)
    }

    var chart: Chart {
        switch name {
        case .active: counted(.line, activeSeries, active)
        case .activeMovement: counted(.stack, movementSeries, movement)
        case .mrr: monthly(.line, mrrSeries) { _, end, _ in [end, Int64(clamping: 12 * Int128(end))] }
        case .mrrMovement: monthly(.stack, mrrMovementSeries, mrrMovement)
        case .trials: counted(.stack, trialSeries, trials)
        case .retention: retention
        case .churn: counted(.line, churnSeries, churn)
        case .revenue: paid(.stack, revenueSeries, revenue)
        case .refunds: paid(.stack, refundSeries, refunds)
        }
    }

    private func made(_ form: Chart.Form, _ series: [Chart.Series], _ tables: [Chart.Table]) -> Chart {
        Chart(name.rawValue, name.title, form, series: series, tables: tables)
    }

    private func row(_ place: Int, _ values: [Int64?]) -> Chart.Row {
        let (from, to) = scope.calendar.part(place)
        let clock = zone.clock(from)
        let isMonth = scope.step == .month && clock.hasSuffix("-01 00:00:00")
        return Chart.Row(label: String(clock.prefix(isMonth ? 7 : 10)), from: from, to: to, values: values)
    }

    private var places: Range<Int> { 0..<scope.calendar.count }

    private func count(_ what: ReportCount, _ place: Int) -> Int64 { tally.report.counts[what]?[place] ?? 0 }

    // MARK: - Numbers of subscriptions

    /// - Parameter values: by the place of a part.
    private func counted(
        _ form: Chart.Form, _ series: [Chart.Series], _ values: ([[Int64]]) -> (Int) -> [Int64?]
    ) -> Chart {
        let numbers = values(ReportGauge.allCases.map { tally.report.gauge($0) })
        return made(form, series, [Chart.Table(rows: places.map { row($0, numbers($0)) })])
    }

    /// By the gauges' order.
    private static let gauges = ReportGauge.allCases

    private var activeSeries: [Chart.Series] {
        [
            Chart.Series("active", "Active"), Chart.Series("paying", "Paying"),
            Chart.Series("in_trial", "In trial"), Chart.Series("in_grace", "In grace"),
            Chart.Series("in_billing_retry", "In billing retry", .count, .none),
        ]
    }

    private func active(_ gauges: [[Int64]]) -> (Int) -> [Int64?] {
        let order = [ReportGauge.active, .paying, .inTrial, .inGrace, .inBillingRetry]
        let columns = order.map { gauge in ChartTable.gauges.firstIndex(of: gauge).map { gauges[$0] } ?? [] }
        return { place in columns.map { $0[place] } }
    }

    private static let reasons: [(what: ReportCount, label: String)] = [
        (.churnedVoluntary, "Churned: cancelled"), (.churnedBilling, "Churned: billing"),
        (.churnedRefund, "Churned: refunded"), (.churnedPriceIncrease, "Churned: price increase"),
        (.churnedNotForSale, "Churned: not for sale"), (.churnedOther, "Churned: other"),
    ]

    private var movementSeries: [Chart.Series] {
        [
            Chart.Series("at_start", "At start", .count, .none), Chart.Series("new", "New"),
            Chart.Series("taken_over", "Taken over"), Chart.Series("resubscribed", "Resubscribed"),
            Chart.Series("recovered", "Recovered"), Chart.Series("switched_in", "Switched in"),
        ] + ChartTable.reasons.map { Chart.Series($0.what.rawValue, $0.label, .count, .below) } + [
            Chart.Series("switched_out", "Switched out", .count, .below),
            Chart.Series("at_end", "At end", .count, .none),
        ]
    }

    /// How many are active at the end of each part, after how many there were at the beginning.
    private func levels(_ gauges: [[Int64]]) -> [Int64] {
        [tally.activeAtStart] + (ChartTable.gauges.firstIndex(of: .active).map { gauges[$0] } ?? [])
    }

    private func movement(_ gauges: [[Int64]]) -> (Int) -> [Int64?] {
        let levels = levels(gauges)
        return { place in
            var values: [Int64] = [
                levels[place], count(.new, place), count(.takenOver, place), count(.resubscribed, place),
                count(.recovered, place), tally.switchedIn[place],
            ]
            values += ChartTable.reasons.map { count($0.what, place) }
            values += [tally.switchedOut[place], levels[place + 1]]
            return values
        }
    }

    private var churnSeries: [Chart.Series] {
        [
            Chart.Series("rate", "Churn", .percent),
            Chart.Series("active_at_start", "Active at start", .count, .none),
            Chart.Series("churned", "Churned", .count, .none),
        ] + ChartTable.reasons.map { Chart.Series($0.what.rawValue, $0.label, .count, .none) } + [
            Chart.Series("churned_trials", "Of these trials", .count, .none)
        ]
    }

    private func churn(_ gauges: [[Int64]]) -> (Int) -> [Int64?] {
        let levels = levels(gauges)
        return { place in
            let churned = count(.churned, place)
            var values: [Int64?] = [Chart.percent(churned, of: levels[place]), levels[place], churned]
            for reason in ChartTable.reasons { values.append(count(reason.what, place)) }
            values.append(count(.churnedTrials, place))
            return values
        }
    }

    private var trialSeries: [Chart.Series] {
        [
            Chart.Series("started", "Started", .count, .none), Chart.Series("converted", "Converted"),
            Chart.Series("ended", "Ended"), Chart.Series("running", "Running"),
            Chart.Series("conversion", "Conversion", .percent, .none),
            Chart.Series("conversions", "Conversions by their day", .count, .none),
        ]
    }

    private func trials(_: [[Int64]]) -> (Int) -> [Int64?] {
        { place in
            let trials = tally.trials[place]
            return [
                trials.started, trials.converted, trials.ended, trials.running,
                Chart.percent(trials.converted, of: trials.started), count(.trialConversions, place),
            ]
        }
    }

    // MARK: - Cohorts

    private var retention: Chart {
        let series =
            [Chart.Series("number", "Number")]
            + places.map { Chart.Series("month_\($0)", $0 == 1 ? "after 1 month" : "after \($0) months") }
        let rows = places.map { place in
            let cohort = tally.cohorts[place]
            var values: [Int64?] = [cohort.size]
            for number in cohort.paying { values.append(number) }
            values += [Int64?](repeating: nil, count: place)
            return row(place, values)
        }
        return made(.heat, series, [Chart.Table(rows: rows)])
    }

    // MARK: - Money

    private var mrrSeries: [Chart.Series] {
        [Chart.Series("mrr", "MRR", .money), Chart.Series("arr", "ARR", .money, .none)]
    }

    private var mrrMovementSeries: [Chart.Series] {
        [
            Chart.Series("at_start", "At start", .money, .none), Chart.Series("new", "New", .money),
            Chart.Series("taken_over", "Taken over", .money), Chart.Series("back", "Back", .money),
            Chart.Series("expansion", "Expansion", .money),
            Chart.Series("contraction", "Contraction", .money, .below),
            Chart.Series("churned", "Churned", .money, .below), Chart.Series("at_end", "At end", .money, .none),
        ]
    }

    /// Tables by currency, those with most payments first.
    private func ordered(_ currencies: Set<String?>, _ table: (String?) -> Chart.Table) -> [Chart.Table] {
        let sums = tally.moneyByCurrency
        func payments(_ currency: String?) -> Int64 {
            sums.reduce(0) { $0 + ($1[currency]?.payments ?? 0) }
        }
        let ranked = currencies.map { (currency: $0, payments: payments($0)) }.sorted { one, other in
            if (one.currency == nil) != (other.currency == nil) { return other.currency == nil }
            return (other.payments, one.currency ?? "") < (one.payments, other.currency ?? "")
        }
        return ranked.map { table($0.currency) }
    }

    /// - Parameter values: of the currency's amount at the start of a part, at its end, and what moved it.
    private func monthly(
        _ form: Chart.Form, _ series: [Chart.Series], _ values: (Int64, Int64, ChartTally.Movement) -> [Int64?]
    ) -> Chart {
        let (starts, sums) = (tally.monthlyByCurrencyAtStart, tally.moneyByCurrency)
        var currencies = Set(starts.keys).union(tally.movements.keys)
        for part in sums { currencies.formUnion(part.filter { $0.value.monthly != 0 }.compactMap(\.key)) }
        return made(
            form, series,
            ordered(Set<String?>(currencies.map { Optional($0) })) { currency in
                let name = currency ?? ""
                let levels = [starts[name] ?? 0] + sums.map { $0[currency]?.monthly ?? 0 }
                let movements = tally.movements[name]
                return Chart.Table(
                    currency: currency,
                    rows: places.map { place in
                        row(
                            place,
                            values(levels[place], levels[place + 1], movements?[place] ?? ChartTally.Movement()))
                    })
            })
    }

    /// Each rounded, and what that leaves in the largest.
    private func mrrMovement(_ start: Int64, _ end: Int64, _ movement: ChartTally.Movement) -> [Int64?] {
        let signs: [Int64] = [1, 1, 1, 1, -1, -1]
        var parts = [
            movement.new, movement.takenOver, movement.back, movement.expansion, movement.contraction,
            movement.churned,
        ].map(\.milliunits)
        let moved = zip(parts, signs).reduce(Int128(0)) { $0 + Int128($1.0) * Int128($1.1) }
        let left = Int128(end) - Int128(start) - moved
        if left != 0 {
            let largest = parts.indices.max { parts[$0] < parts[$1] } ?? 0
            // Where nothing moved it is the rounding of products that changed places.
            let place = parts[largest] > 0 ? largest : left > 0 ? 3 : 4
            parts[place] = Int64(clamping: Int128(parts[place]) + left * Int128(signs[place]))
        }
        let all: [Int64] = [start] + parts + [end]
        return all
    }

    private var revenueSeries: [Chart.Series] {
        [
            Chart.Series("gross", "Gross", .money), Chart.Series("refunded", "Refunded", .money, .below),
            Chart.Series("net", "Net", .money, .none), Chart.Series("payments", "Payments", .count, .none),
            Chart.Series("refunds", "Refunds", .count, .none),
        ]
    }

    private func revenue(_ money: ReportMoney, _: ChartTally.Bought, isPriced: Bool) -> [Int64?] {
        [
            isPriced ? money.gross : nil, isPriced ? money.refunded : nil, isPriced ? money.net : nil, money.payments,
            money.refunds,
        ]
    }

    private var refundSeries: [Chart.Series] {
        [
            Chart.Series("refunded", "Refunded", .money), Chart.Series("refunds", "Refunds", .count, .none),
            Chart.Series("payments", "Payments", .count, .none),
            Chart.Series("payments_refunded", "Of these refunded", .count, .none),
            Chart.Series("rate", "Refund rate", .percent, .none),
        ]
    }

    private func refunds(_ money: ReportMoney, _ bought: ChartTally.Bought, isPriced: Bool) -> [Int64?] {
        [
            isPriced ? money.refunded : nil, money.refunds, bought.payments, bought.refunds,
            Chart.percent(bought.refunds, of: bought.payments),
        ]
    }

    /// By the currencies that anything was paid in, or given back.
    private func paid(
        _ form: Chart.Form, _ series: [Chart.Series],
        _ values: (ReportMoney, ChartTally.Bought, _ isPriced: Bool) -> [Int64?]
    ) -> Chart {
        let sums = tally.moneyByCurrency
        var currencies: Set<String?> = []
        for part in sums { currencies.formUnion(part.filter { $0.value.payments + $0.value.refunds > 0 }.keys) }
        return made(
            form, series,
            ordered(currencies) { currency in
                let bought = tally.bought[currency]
                return Chart.Table(
                    currency: currency,
                    rows: places.map { place in
                        row(
                            place,
                            values(
                                sums[place][currency] ?? .zero, bought?[place] ?? ChartTally.Bought(),
                                currency != nil))
                    })
            })
    }
}
