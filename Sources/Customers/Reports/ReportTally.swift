import Subscriptions

/// Counts purchases into the parts of a calendar. Pure; the order of purchases changes nothing, and tallies of disjoint
/// purchases add up.
package struct ReportTally: Sendable, Equatable {
    package let calendar: ReportCalendar
    private let foldSettings: FoldSettings
    package private(set) var purchases: Int64 = 0
    /// By what, then by part.
    package private(set) var counts: [ReportCount: [Int64]]
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
        guard let history = ReportHistory(of: purchase, facts, foldSettings: foldSettings) else { return }
        add(history, of: purchase.key.app)
    }

    /// - Parameter app: that of the purchase.
    package mutating func add(_ history: ReportHistory, of app: String) {
        purchases += 1
        for payment in history.payments { add(payment, of: app) }
        for (what, moments) in [
            (ReportCount.oneTimePurchases, history.oneTimePurchases), (.trialConversions, history.conversions),
            (.renewed, history.renewals), (.upgraded, history.upgrades),
        ] {
            for moment in moments { count(what, at: moment.at) }
        }
        for trial in history.trials { count(.trialsStarted, at: trial.begins) }
        for run in history.runs { add(run) }
        for stretch in history.stretches { add(stretch, of: app) }
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

    private mutating func add(_ payment: ReportHistory.Payment, of app: String) {
        let product = ReportProduct(app: app, productID: payment.cut.productID, currency: payment.cut.currency)
        if let place = calendar.place(of: payment.at) {
            counts[.payments]?[place] += 1
            money[product, default: [:]][place, default: ReportMoney()] +=
                ReportMoney(payments: 1, gross: payment.milliunits)
        }
        guard let refund = payment.refund, let place = calendar.place(of: refund.at) else { return }
        counts[.refunds]?[place] += 1
        money[product, default: [:]][place, default: ReportMoney()] +=
            ReportMoney(refunds: 1, refunded: refund.milliunits)
    }

    private mutating func add(_ run: ReportHistory.Run) {
        if let entry = run.entry.count { count(entry, at: run.begins) }
        step(.active, from: run.begins, until: run.ends)
        guard let end = run.ends, let exit = run.exit.count else { return }
        count(.churned, at: end)
        count(exit, at: end)
        if run.endsInTrial { count(.churnedTrials, at: end) }
    }

    private mutating func add(_ stretch: ReportHistory.Stretch, of app: String) {
        step(stretch.state.gauge, from: stretch.begins, until: stretch.ends)
        guard let revenue = stretch.monthly else { return }
        let product = ReportProduct(app: app, productID: stretch.cut.productID, currency: stretch.cut.currency)
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
    package func gauge(_ gauge: ReportGauge) -> [Int64] {
        var level: Int64 = 0
        return (steps[gauge] ?? []).map { step in
            level += step
            return level
        }
    }

    /// By part, what has any.
    package var revenue: [[ReportProduct: ReportMoney]] {
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

extension ReportHistory.Run.Entry {
    /// Nil: no access began.
    fileprivate var count: ReportCount? {
        switch self {
        case .new: .new
        case .takenOver: .takenOver
        case .resubscribed: .resubscribed
        case .recovered: .recovered
        case .switched: nil
        }
    }
}

extension ReportHistory.Run.Exit {
    /// Nil: access did not end.
    fileprivate var count: ReportCount? {
        switch self {
        case .voluntary: .churnedVoluntary
        case .billing: .churnedBilling
        case .refund: .churnedRefund
        case .priceIncrease: .churnedPriceIncrease
        case .notForSale: .churnedNotForSale
        case .other: .churnedOther
        case .switched: nil
        }
    }
}

extension ReportHistory.Stretch.State {
    fileprivate var gauge: ReportGauge {
        switch self {
        case .trial: .inTrial
        case .paid: .paying
        case .grace: .inGrace
        case .billingRetry: .inBillingRetry
        }
    }
}
