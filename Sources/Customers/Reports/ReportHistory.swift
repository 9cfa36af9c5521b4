import Subscriptions

/// What reports count of one purchase, without its facts: a few hundred bytes, from which every number of every time follows.
///
/// Dates are ms since 1970.
package struct ReportHistory: Sendable, Equatable {
    /// By what numbers can be told apart.
    package struct Cut: Sendable, Hashable {
        package let productID: String
        /// ISO 4217; nil: Apple signed none, or no price.
        package let currency: String?
        /// ISO 3166 alpha-2; nil: not signed, or not known.
        package let country: String?

        package init(productID: String, currency: String?, country: String?) {
            (self.productID, self.currency, self.country) = (productID, currency, country)
        }
    }

    package struct Moment: Sendable, Equatable {
        package let at: Int64
        package let cut: Cut
    }

    package struct Payment: Sendable, Equatable {
        package struct Refund: Sendable, Equatable {
            package let at: Int64
            package let milliunits: Int64
        }

        package let at: Int64
        package let cut: Cut
        /// 0 without a currency.
        package let milliunits: Int64
        package let refund: Refund?
    }

    /// A trial that began.
    package struct Trial: Sendable, Equatable {
        package let begins: Int64
        package let cut: Cut
        /// When the paid period right after it began; nil: there is none.
        package let converted: Int64?
        /// When it ended, or will; nil: never.
        package let ends: Int64?
    }

    /// A time of access without a break.
    package struct Run: Sendable, Equatable {
        package enum Entry: UInt8, Sendable, CaseIterable {
            case new, takenOver, resubscribed, recovered
            /// From what the history was narrowed away from.
            case switched
        }

        package enum Exit: UInt8, Sendable, CaseIterable {
            case voluntary, billing, refund, priceIncrease, notForSale, other
            /// To what the history was narrowed away from.
            case switched
        }

        package let entry: Entry
        package let begins: Int64
        /// Nil: never.
        package let ends: Int64?
        /// Of the end, should it come to that.
        package let exit: Exit
        package let endsInTrial: Bool
    }

    /// A time in one state, of one product at one price.
    package struct Stretch: Sendable, Equatable {
        package enum State: UInt8, Sendable, CaseIterable { case trial, paid, grace, billingRetry }

        package let state: State
        package let begins: Int64
        /// Nil: never.
        package internal(set) var ends: Int64?
        package let cut: Cut
        /// Of what is paid and has a price.
        package let monthly: MonthlyRevenue?
    }

    package internal(set) var payments: [Payment] = []
    package internal(set) var oneTimePurchases: [Moment] = []
    package internal(set) var trials: [Trial] = []
    package internal(set) var conversions: [Moment] = []
    package internal(set) var renewals: [Moment] = []
    package internal(set) var upgrades: [Moment] = []
    /// In their order.
    package internal(set) var runs: [Run] = []
    /// In their order; they do not overlap. Two that follow each other without a break differ.
    package internal(set) var stretches: [Stretch] = []

    init() {}

    /// Nil for what the App Store does not know.
    ///
    /// - Parameters:
    ///   - facts: those that the purchase was folded from.
    ///   - foldSettings: those of the fold.
    package init?(of purchase: Purchase, _ facts: PurchaseFacts, foldSettings: FoldSettings = FoldSettings()) {
        guard purchase.key.isOfStore else { return nil }
        for period in purchase.periods { addMoney(period) }
        guard purchase.periods.contains(where: \.transaction.isRenewable) else { return }
        let access = AccessHistory(of: purchase, facts, foldSettings: foldSettings)
        runs = access.runs.map { Run($0) }
        addPeriods(access.periods)
        for stretch in access.stretches { add(Stretch(stretch)) }
    }

    private mutating func addMoney(_ period: Period) {
        let at = period.transaction.purchaseDate
        if !period.transaction.isRenewable, !period.transaction.isFamilyShare {
            oneTimePurchases.append(Moment(at: at, cut: Cut(period)))
        }
        guard let charge = period.signedCharge else { return }
        let refund = period.signedRefund.flatMap { refund in
            period.revocation.map { Payment.Refund(at: $0.date, milliunits: refund.milliunits) }
        }
        payments.append(
            Payment(
                at: at, cut: Cut(period, currency: charge.currency), milliunits: charge.milliunits, refund: refund))
    }

    private mutating func addPeriods(_ periods: [Period]) {
        for (place, period) in periods.enumerated() {
            let moment = Moment(at: period.transaction.purchaseDate, cut: Cut(period))
            if let superseded = period.supersededAt { upgrades.append(Moment(at: superseded, cut: Cut(period))) }
            if period.type == .trial {
                let next = place + 1 < periods.count ? periods[place + 1] : nil
                trials.append(
                    Trial(
                        begins: moment.at, cut: moment.cut,
                        converted: next.flatMap { $0.type == .trial ? nil : $0.transaction.purchaseDate },
                        ends: period.accessUntil))
            } else if place > 0, periods[place - 1].type == .trial {
                conversions.append(moment)
            } else if period.transaction.reason == "RENEWAL" {
                renewals.append(moment)
            }
        }
    }

    private mutating func add(_ stretch: Stretch) {
        guard var last = stretches.last, last.continues(in: stretch) else { return stretches.append(stretch) }
        last.ends = stretch.ends
        stretches[stretches.count - 1] = last
    }
}

extension ReportHistory.Cut {
    fileprivate init(_ period: Period) {
        self.init(period, currency: period.transaction.isPriceSigned ? period.transaction.currency : nil)
    }

    fileprivate init(_ period: Period, currency: String?) {
        self.init(
            productID: period.productID, currency: currency,
            country: period.transaction.storefront.flatMap(CountryCodes.alpha2))
    }
}

extension ReportHistory.Run {
    fileprivate init(_ run: AccessHistory.Run) {
        let entry: Entry =
            switch run.entry {
            case .new: .new
            case .takenOver: .takenOver
            case .resubscribed: .resubscribed
            case .recovered: .recovered
            }
        let exit: Exit =
            switch run.exit {
            case .voluntary: .voluntary
            case .billing: .billing
            case .refund: .refund
            case .priceIncrease: .priceIncrease
            case .notForSale: .notForSale
            case .other: .other
            }
        self.init(entry: entry, begins: run.begins, ends: run.ends, exit: exit, endsInTrial: run.endsInTrial)
    }
}

extension ReportHistory.Stretch {
    fileprivate init(_ stretch: AccessHistory.Stretch) {
        let state: State =
            switch stretch.state {
            case .trial: .trial
            case .paid: .paid
            case .grace: .grace
            case .billingRetry: .billingRetry
            }
        self.init(
            state: state, begins: stretch.begins, ends: stretch.ends, cut: ReportHistory.Cut(stretch.period),
            monthly: state == .paid ? MonthlyRevenue(of: stretch.period) : nil)
    }

    fileprivate func continues(in next: Self) -> Bool {
        ends == next.begins && state == next.state && cut == next.cut && monthly == next.monthly
    }
}

// MARK: - A part of it

/// Which numbers are wanted; nil: all.
package struct ReportFilter: Sendable, Hashable {
    package var productID: String?
    /// ISO 4217.
    package var currency: String?
    /// ISO 3166 alpha-2.
    package var country: String?

    package init(productID: String? = nil, currency: String? = nil, country: String? = nil) {
        (self.productID, self.currency, self.country) = (productID, currency, country)
    }

    package var isEmpty: Bool { productID == nil && currency == nil && country == nil }

    package func matches(_ cut: ReportHistory.Cut) -> Bool {
        (productID == nil || productID == cut.productID) && (currency == nil || currency == cut.currency)
            && (country == nil || country == cut.country)
    }
}

extension ReportHistory {
    /// What of it a filter lets through. A run that comes from elsewhere, or goes there, is `switched` at that end.
    package func narrowed(to filter: ReportFilter) -> ReportHistory {
        guard !filter.isEmpty else { return self }
        var part = ReportHistory()
        part.payments = payments.filter { filter.matches($0.cut) }
        part.oneTimePurchases = oneTimePurchases.filter { filter.matches($0.cut) }
        part.trials = trials.filter { filter.matches($0.cut) }
        part.conversions = conversions.filter { filter.matches($0.cut) }
        part.renewals = renewals.filter { filter.matches($0.cut) }
        part.upgrades = upgrades.filter { filter.matches($0.cut) }
        part.stretches = stretches.filter { filter.matches($0.cut) }
        part.runs = runs.flatMap { parts(of: $0, part.stretches) }
        return part
    }

    /// - Parameter stretches: those that are wanted.
    private func parts(of run: Run, _ stretches: [Stretch]) -> [Run] {
        let access = stretches.filter { stretch in
            stretch.state != .billingRetry && stretch.begins >= run.begins
                && (run.ends.map { stretch.begins < $0 } ?? true)
        }
        var times: [(begins: Int64, ends: Int64?, isTrial: Bool)] = []
        for stretch in access {
            if let last = times.last, last.ends == stretch.begins {
                times[times.count - 1] = (last.begins, stretch.ends, stretch.state == .trial)
            } else {
                times.append((stretch.begins, stretch.ends, stretch.state == .trial))
            }
        }
        return times.map { time in
            let isEnd = time.ends == run.ends
            return Run(
                entry: time.begins == run.begins ? run.entry : .switched, begins: time.begins, ends: time.ends,
                exit: isEnd ? run.exit : .switched, endsInTrial: isEnd && run.endsInTrial)
        }
    }
}
