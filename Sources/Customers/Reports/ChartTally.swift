import Subscriptions

/// What charts show beyond a report: what there was at the beginning, why revenue moved, what became of trials, of payments and
/// of cohorts. Pure; the order of purchases changes nothing.
package struct ChartTally: Sendable, Equatable {
    /// What became of the trials that began in a part.
    package struct Trials: Sendable, Equatable {
        package internal(set) var started: Int64 = 0
        package internal(set) var converted: Int64 = 0
        package internal(set) var ended: Int64 = 0
        package internal(set) var running: Int64 = 0
    }

    /// Why the monthly revenue of a currency moved.
    package struct Movement: Sendable, Equatable {
        package internal(set) var new = MonthlyRevenue()
        package internal(set) var takenOver = MonthlyRevenue()
        package internal(set) var back = MonthlyRevenue()
        package internal(set) var expansion = MonthlyRevenue()
        package internal(set) var contraction = MonthlyRevenue()
        package internal(set) var churned = MonthlyRevenue()

        package init() {}
    }

    /// What came of the payments of a part.
    package struct Bought: Sendable, Equatable {
        package internal(set) var payments: Int64 = 0
        package internal(set) var refunds: Int64 = 0
        /// Milliunits.
        package internal(set) var refunded: Int64 = 0

        package init() {}
    }

    /// Subscriptions whose first payment was in a part.
    package struct Cohort: Sendable, Equatable {
        package internal(set) var size: Int64 = 0
        /// How many pay at the end of each part from that one on.
        package internal(set) var paying: [Int64]
    }

    package let calendar: ReportCalendar
    package let filter: ReportFilter
    /// What is over by it is over, in ms since 1970.
    private let now: Int64
    package private(set) var report: ReportTally
    /// Just before the beginning.
    package private(set) var activeAtStart: Int64 = 0
    private var monthlyAtStart: [ReportProduct: MonthlyRevenue] = [:]
    /// By part.
    package private(set) var switchedIn: [Int64]
    package private(set) var switchedOut: [Int64]
    package private(set) var trials: [Trials]
    /// By currency, then by part.
    package private(set) var movements: [String: [Movement]] = [:]
    package private(set) var bought: [String?: [Bought]] = [:]
    /// By part.
    package private(set) var cohorts: [Cohort]

    /// - Parameter now: an instant until which everything is known, in ms since 1970.
    package init(_ calendar: ReportCalendar, filter: ReportFilter = ReportFilter(), now: Int64) {
        self.calendar = calendar
        self.filter = filter
        self.now = now
        report = ReportTally(calendar)
        switchedIn = [Int64](repeating: 0, count: calendar.count)
        switchedOut = switchedIn
        trials = [Trials](repeating: Trials(), count: calendar.count)
        cohorts = (0..<calendar.count).map { Cohort(paying: [Int64](repeating: 0, count: calendar.count - $0)) }
    }

    /// - Parameter app: that of the purchase.
    package mutating func add(_ history: ReportHistory, of app: String) {
        let part = history.narrowed(to: filter)
        report.add(part, of: app)
        for run in part.runs { add(run) }
        for trial in part.trials { add(trial) }
        for payment in part.payments { add(payment) }
        let paid = history.stretches.filter { $0.state == .paid }
        addMovements(paid, of: app, isTakenOver: history.runs.first?.entry == .takenOver)
        addCohort(part.stretches.filter { $0.state == .paid })
    }

    /// Whether it is so just before the beginning.
    private func isAtStart(_ begins: Int64, _ ends: Int64?) -> Bool {
        begins < calendar.from && (ends.map { $0 >= calendar.from } ?? true)
    }

    private mutating func add(_ run: ReportHistory.Run) {
        if isAtStart(run.begins, run.ends) { activeAtStart += 1 }
        if run.entry == .switched, let place = calendar.place(of: run.begins) { switchedIn[place] += 1 }
        if run.exit == .switched, let place = run.ends.flatMap(calendar.place) { switchedOut[place] += 1 }
    }

    private mutating func add(_ trial: ReportHistory.Trial) {
        guard let place = calendar.place(of: trial.begins) else { return }
        trials[place].started += 1
        if let converted = trial.converted, converted <= now {
            trials[place].converted += 1
        } else if let ends = trial.ends, ends <= now {
            trials[place].ended += 1
        } else {
            trials[place].running += 1
        }
    }

    private mutating func add(_ payment: ReportHistory.Payment) {
        guard let place = calendar.place(of: payment.at) else { return }
        let none = [Bought](repeating: Bought(), count: calendar.count)
        bought[payment.cut.currency, default: none][place].payments += 1
        guard let refund = payment.refund else { return }
        bought[payment.cut.currency, default: none][place].refunds += 1
        bought[payment.cut.currency, default: none][place].refunded += refund.milliunits
    }

    // MARK: - Monthly revenue

    private mutating func addMovements(_ paid: [ReportHistory.Stretch], of app: String, isTakenOver: Bool) {
        for (place, stretch) in paid.enumerated() {
            let level = level(of: stretch)
            if let level, isAtStart(stretch.begins, stretch.ends) {
                let product = ReportProduct(
                    app: app, productID: stretch.cut.productID, currency: stretch.cut.currency)
                monthlyAtStart[product, default: MonthlyRevenue()] += level.revenue
            }
            if place > 0, paid[place - 1].ends == stretch.begins {
                addChange(from: self.level(of: paid[place - 1]), to: level, at: stretch.begins)
            } else if let level {
                move(level.currency, at: stretch.begins) { movement in
                    if place > 0 {
                        movement.back += level.revenue
                    } else if isTakenOver {
                        movement.takenOver += level.revenue
                    } else {
                        movement.new += level.revenue
                    }
                }
            }
            let isLast = place + 1 == paid.count || paid[place + 1].begins != stretch.ends
            if isLast, let level, let ends = stretch.ends {
                move(level.currency, at: ends) { $0.churned += level.revenue }
            }
        }
    }

    /// Nil: it brings nothing that is wanted.
    private func level(of stretch: ReportHistory.Stretch) -> (currency: String, revenue: MonthlyRevenue)? {
        guard filter.matches(stretch.cut), let currency = stretch.cut.currency, let revenue = stretch.monthly else {
            return nil
        }
        return (currency, revenue)
    }

    private mutating func addChange(
        from former: (currency: String, revenue: MonthlyRevenue)?,
        to next: (currency: String, revenue: MonthlyRevenue)?,
        at instant: Int64
    ) {
        if let former, let next, former.currency == next.currency {
            move(next.currency, at: instant) { movement in
                if former.revenue < next.revenue {
                    movement.expansion += next.revenue - former.revenue
                } else {
                    movement.contraction += former.revenue - next.revenue
                }
            }
            return
        }
        if let former { move(former.currency, at: instant) { $0.contraction += former.revenue } }
        if let next { move(next.currency, at: instant) { $0.expansion += next.revenue } }
    }

    private mutating func move(_ currency: String, at instant: Int64, _ change: (inout Movement) -> Void) {
        guard let place = calendar.place(of: instant) else { return }
        let none = [Movement](repeating: Movement(), count: calendar.count)
        change(&movements[currency, default: none][place])
    }

    /// What there was just before the beginning by currency, in milliunits, rounded as reports do.
    package var monthlyByCurrencyAtStart: [String: Int64] {
        monthlyAtStart.reduce(into: [:]) { sums, entry in
            guard let currency = entry.key.currency else { return }
            sums[currency, default: 0] = sums[currency, default: 0].addingClamped(entry.value.milliunits)
        }
    }

    /// The sums over products by part, then by currency; nil: what has no price.
    package var moneyByCurrency: [[String?: ReportMoney]] {
        report.revenue.map { products in
            products.reduce(into: [:]) { sums, entry in
                sums[entry.key.currency] = (sums[entry.key.currency] ?? .zero) + entry.value
            }
        }
    }

    // MARK: - Cohorts

    private mutating func addCohort(_ paid: [ReportHistory.Stretch]) {
        guard let first = paid.first, let place = calendar.place(of: first.begins) else { return }
        cohorts[place].size += 1
        for stretch in paid {
            for part in calendar.ends(from: stretch.begins, until: stretch.ends) where part >= place {
                cohorts[place].paying[part - place] += 1
            }
        }
    }
}
