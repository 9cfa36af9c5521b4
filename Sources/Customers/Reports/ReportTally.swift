import Subscriptions

/// Counts purchases into the parts of a calendar. Pure; the order of purchases changes nothing, and tallies of disjoint
/// purchases add up.
package struct ReportTally: Sendable, Equatable {
    package let calendar: ReportCalendar
    private let foldSettings: FoldSettings
    package private(set) var purchases: Int64 = 0
    /// By what, then by part.
    private(set) var counts: [ReportCount: [Int64]]
    /// By how much each is more than at the end of the part before: times are many parts long, and cost two changes.
    private var steps: [ReportGauge: [Int64]]
    private var money: [ReportProduct: [Int: ReportMoney]] = [:]
    /// As `steps`.
    private var monthly: [ReportProduct: [Int: MonthlyRevenue]] = [:]

    /// - Parameter foldSettings: what the configuration adds to facts.
    package init(_ calendar: ReportCalendar, foldSettings: FoldSettings = FoldSettings()) {
        self.calendar = calendar
        self.foldSettings = foldSettings
        let none = [Int64](repeating: 0, count: calendar.count)
        counts = Dictionary(uniqueKeysWithValues: ReportCount.allCases.map { ($0, none) })
        steps = Dictionary(uniqueKeysWithValues: ReportGauge.allCases.map { ($0, none) })
    }

    /// - Parameter facts: those that the purchase was folded from.
    package mutating func add(_ purchase: Purchase, _ facts: PurchaseFacts) {
        guard purchase.key.isOfStore else { return }
        purchases += 1
        for period in purchase.periods { addMoney(period, of: purchase.key.app) }
        guard purchase.periods.contains(where: \.transaction.isRenewable) else { return }
        let course = AccessHistory(of: purchase, facts, foldSettings: foldSettings)
        for run in course.runs { addRun(run) }
        addPeriods(course.periods)
        for stretch in course.stretches { addStretch(stretch, of: purchase.key.app) }
    }

    package mutating func add(_ other: ReportTally) {
        purchases += other.purchases
        counts.merge(other.counts) { zip($0, $1).map(+) }
        steps.merge(other.steps) { zip($0, $1).map(+) }
        money.merge(other.money) { $0.merging($1) { $0 + $1 } }
        monthly.merge(other.monthly) { mine, theirs in
            mine.merging(theirs) { one, more in
                var sum = one
                sum += more
                return sum
            }
        }
    }

    // MARK: - Parts

    private mutating func count(_ what: ReportCount, at instant: Int64) {
        guard let place = calendar.place(of: instant) else { return }
        counts[what]?[place] += 1
    }

    private mutating func addMoney(_ period: Period, of app: String) {
        if !period.transaction.isRenewable, !period.transaction.isFamilyShare {
            count(.oneTimePurchases, at: period.transaction.purchaseDate)
        }
        guard let charge = period.charge else { return }
        let product = ReportProduct(app: app, productID: period.productID, currency: charge.currency)
        if let place = calendar.place(of: period.transaction.purchaseDate) {
            counts[.payments]?[place] += 1
            money[product, default: [:]][place, default: ReportMoney()] +=
                ReportMoney(payments: 1, gross: charge.milliunits)
        }
        guard let refund = period.refund, let revocation = period.revocation,
            let place = calendar.place(of: revocation.date)
        else { return }
        counts[.refunds]?[place] += 1
        money[product, default: [:]][place, default: ReportMoney()] +=
            ReportMoney(refunds: 1, refunded: refund.milliunits)
    }

    private mutating func addRun(_ run: AccessHistory.Run) {
        count(run.entry.count, at: run.begins)
        step(.active, from: run.begins, until: run.ends)
        guard let end = run.ends else { return }
        count(.churned, at: end)
        count(run.exit.count, at: end)
        if run.endsInTrial { count(.churnedTrials, at: end) }
    }

    private mutating func addPeriods(_ periods: [Period]) {
        for (place, period) in periods.enumerated() {
            let begins = period.transaction.purchaseDate
            if let superseded = period.supersededAt { count(.upgraded, at: superseded) }
            if period.type == .trial {
                count(.trialsStarted, at: begins)
            } else if place > 0, periods[place - 1].type == .trial {
                count(.trialConversions, at: begins)
            } else if period.transaction.reason == "RENEWAL" {
                count(.renewed, at: begins)
            }
        }
    }

    private mutating func addStretch(_ stretch: AccessHistory.Stretch, of app: String) {
        step(stretch.state.gauge, from: stretch.begins, until: stretch.ends)
        guard stretch.state == .paid, let charge = stretch.period.charge,
            let revenue = MonthlyRevenue(of: stretch.period)
        else { return }
        let product = ReportProduct(app: app, productID: stretch.period.productID, currency: charge.currency)
        let parts = calendar.ends(from: stretch.begins, until: stretch.ends)
        guard !parts.isEmpty else { return }
        monthly[product, default: [:]][parts.lowerBound, default: MonthlyRevenue()] += revenue
        guard parts.upperBound < calendar.count else { return }
        monthly[product, default: [:]][parts.upperBound, default: MonthlyRevenue()] -= revenue
    }

    private mutating func step(_ gauge: ReportGauge, from begins: Int64, until ends: Int64?) {
        let parts = calendar.ends(from: begins, until: ends)
        guard !parts.isEmpty else { return }
        steps[gauge]?[parts.lowerBound] += 1
        if parts.upperBound < calendar.count { steps[gauge]?[parts.upperBound] -= 1 }
    }
}

// MARK: - What came of it

extension ReportTally {
    /// How many there were at the end of each part.
    func gauge(_ gauge: ReportGauge) -> [Int64] {
        var level: Int64 = 0
        return (steps[gauge] ?? []).map { step in
            level += step
            return level
        }
    }

    /// By part, what has any.
    var revenue: [[ReportProduct: ReportMoney]] {
        var parts = [[ReportProduct: ReportMoney]](repeating: [:], count: calendar.count)
        for (product, places) in money {
            for (place, money) in places { parts[place][product] = money }
        }
        for (product, changes) in monthly {
            var level = MonthlyRevenue()
            for place in (changes.keys.min() ?? 0)..<calendar.count {
                if let change = changes[place] { level += change }
                guard level.milliunits != 0 else { continue }
                parts[place][product, default: ReportMoney()].monthly = level.milliunits
            }
        }
        return parts
    }
}

extension ReportMoney {
    /// `monthly` is of one instant, and no sum of parts.
    static func + (left: ReportMoney, right: ReportMoney) -> ReportMoney {
        var sum = left
        sum += right
        return sum
    }

    static func += (sum: inout ReportMoney, more: ReportMoney) {
        sum.payments += more.payments
        sum.gross = sum.gross.addingClamped(more.gross)
        sum.refunds += more.refunds
        sum.refunded = sum.refunded.addingClamped(more.refunded)
        sum.monthly = sum.monthly.addingClamped(more.monthly)
    }
}

extension AccessHistory.Run.Entry {
    fileprivate var count: ReportCount {
        switch self {
        case .new: .new
        case .takenOver: .takenOver
        case .resubscribed: .resubscribed
        case .recovered: .recovered
        }
    }
}

extension AccessHistory.Run.Exit {
    fileprivate var count: ReportCount {
        switch self {
        case .voluntary: .churnedVoluntary
        case .billing: .churnedBilling
        case .refund: .churnedRefund
        case .priceIncrease: .churnedPriceIncrease
        case .notForSale: .churnedNotForSale
        case .other: .churnedOther
        }
    }
}

extension AccessHistory.Stretch.State {
    fileprivate var gauge: ReportGauge {
        switch self {
        case .trial: .inTrial
        case .paid: .paying
        case .grace: .inGrace
        case .billingRetry: .inBillingRetry
        }
    }
}
