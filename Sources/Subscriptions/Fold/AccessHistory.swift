/// How a subscription went, by what is known now: when it gave access, and how that began and ended each time. Pure.
///
/// By dates alone, as everything that is asked about the past must be. What the family shares is no subscription of its
/// own, and is left out.
package struct AccessHistory: Sendable, Equatable {
    /// A time in one state.
    package struct Stretch: Sendable, Equatable {
        package enum State: Sendable { case trial, paid, grace, billingRetry }

        package let state: State
        /// The period that it is of, or comes after.
        package let period: Period
        /// ms.
        package let begins: Int64
        /// ms; nil: never.
        package internal(set) var ends: Int64?
    }

    /// A time of access, by trial, payment or grace, without a break.
    package struct Run: Sendable, Equatable {
        package enum Entry: Sendable {
            case new
            /// It was there before the first period that is known here.
            case takenOver
            /// Bought again after a break.
            case resubscribed
            /// Charged after a break, while Apple still tried.
            case recovered
        }

        /// Why access ended.
        package enum Exit: String, Sendable, CaseIterable {
            case voluntary, billing, refund
            case priceIncrease = "price_increase"
            case notForSale = "not_for_sale"
            case other
        }

        package let entry: Entry
        /// ms.
        package let begins: Int64
        /// ms; nil: never.
        package internal(set) var ends: Int64?
        /// Of the end, should it come to that.
        package internal(set) var exit: Exit
        /// Whether the last period was a trial.
        package internal(set) var endsInTrial: Bool
    }

    /// Those that were begun, by purchase date.
    package let periods: [Period]
    /// In their order; they do not overlap.
    package let stretches: [Stretch]
    /// In their order.
    package let runs: [Run]

    /// How much later than the end of the period before it a renewal may begin without a break, in ms.
    private static let seam: Int64 = 1 * .hour

    /// - Parameters:
    ///   - facts: those that the purchase was folded from.
    ///   - foldSettings: those of the fold.
    package init(of purchase: Purchase, _ facts: PurchaseFacts, foldSettings: FoldSettings = FoldSettings()) {
        let owned = purchase.periods.filter { $0.transaction.isRenewable && !$0.transaction.isFamilyShare }
        let begun = owned.filter { ($0.paidUntil ?? .max) > $0.transaction.purchaseDate }
        periods = begun
        let told = PeriodStatements.statements(of: begun, facts)
        stretches = AccessHistory.stretches(
            begun, told, defaultGrace: foldSettings.defaultGrace, retryPeriod: purchase.retryPeriod)
        runs = AccessHistory.runs(stretches, told)
    }

    private static func stretches(
        _ periods: [Period], _ told: [String: PeriodStatements], defaultGrace: Int64, retryPeriod: Int64
    ) -> [Stretch] {
        var stretches: [Stretch] = []
        for (place, period) in periods.enumerated() {
            let begins = max(period.transaction.purchaseDate, stretches.last.flatMap(\.coveredUntil) ?? .min)
            let until = period.accessUntil
            guard (until ?? .max) > begins else { continue }
            stretches.closeSeam(before: period, begins, upTo: seam)
            stretches.append(
                Stretch(state: period.type == .trial ? .trial : .paid, period: period, begins: begins, ends: until))
            guard let until, let statements = told[period.id] else { continue }
            let next = periods[(place + 1)...].first { $0.accessUntil.map { $0 > until } ?? true }
            let limit = max(next?.transaction.purchaseDate ?? .max, until)
            let failure = statements.failure(of: period, defaultGrace: defaultGrace)
            guard let failure, !period.wasCutShort else { continue }
            let revoked = period.revocation?.date ?? .max
            let grace = min(max(until, failure.graceUntil ?? until), limit, revoked)
            stretches.append(Stretch(state: .grace, period: period, begins: until, ends: grace))
            let retried = min(until.later(by: retryPeriod), statements.givenUp ?? .max, limit, revoked)
            stretches.append(Stretch(state: .billingRetry, period: period, begins: grace, ends: max(grace, retried)))
        }
        return stretches.filter { $0.ends != $0.begins }
    }

    private static func runs(_ stretches: [Stretch], _ told: [String: PeriodStatements]) -> [Run] {
        stretches.filter { $0.state != .billingRetry }.reduce(into: []) { runs, stretch in
            let exit = stretch.exit(told[stretch.period.id])
            let isTrial = stretch.period.type == .trial
            if var run = runs.last, run.ends == nil || run.ends == stretch.begins {
                (run.ends, run.exit, run.endsInTrial) = (stretch.ends, exit, isTrial)
                runs[runs.count - 1] = run
                return
            }
            let first: Run.Entry = stretch.period.isFirst ? .new : .takenOver
            let again: Run.Entry = stretch.period.transaction.reason == "RENEWAL" ? .recovered : .resubscribed
            runs.append(
                Run(
                    entry: runs.isEmpty ? first : again, begins: stretch.begins, ends: stretch.ends, exit: exit,
                    endsInTrial: isTrial))
        }
    }
}

extension AccessHistory.Stretch {
    /// Until when it leaves no room for another period, in ms: what follows a period gives way to the next one.
    fileprivate var coveredUntil: Int64? {
        state == .trial || state == .paid ? ends ?? .max : begins
    }

    fileprivate func exit(_ statements: PeriodStatements?) -> AccessHistory.Run.Exit {
        if let revocation = period.revocation, revocation.date == ends {
            return revocation.kind == .refund ? .refund : .other
        }
        guard let statements else { return .other }
        switch statements.renewals.last?.expirationIntent {
        case 1: return .voluntary
        case 2: return .billing
        case 3: return .priceIncrease
        case 4: return .notForSale
        case .some: return .other
        case nil: break
        }
        if statements.failure(of: period, defaultGrace: 0) != nil { return .billing }
        return statements.renewals.last { $0.autoRenewStatus != nil }?.autoRenewStatus == 0 ? .voluntary : .other
    }
}

extension [AccessHistory.Stretch] {
    /// Cuts what reaches beyond the beginning of a period, and lets what ended just before a renewal reach it.
    fileprivate mutating func closeSeam(before period: Period, _ begins: Int64, upTo seam: Int64) {
        while let last, last.begins >= begins { removeLast() }
        guard var last, let ends = last.ends else { return }
        let isRenewed = period.transaction.reason == "RENEWAL" && ends.later(by: seam) >= begins
        guard ends > begins || (isRenewed && last.state != .billingRetry) else { return }
        last.ends = begins
        self[count - 1] = last
    }
}

/// What was said of one period while it was the last one known.
private struct PeriodStatements {
    /// Oldest first.
    var renewals: [RenewalFact] = []
    var isGraceTold = false

    static func statements(of periods: [Period], _ facts: PurchaseFacts) -> [String: PeriodStatements] {
        var statements: [String: PeriodStatements] = [:]
        for renewal in facts.renewals.inOrderOfSigning() {
            guard let period = periods.last(where: { $0.isOlder(than: renewal) }) else { continue }
            statements[period.id, default: PeriodStatements()].renewals.append(renewal)
        }
        for notification in facts.notifications where notification.tellsGrace {
            guard let period = periods.last(where: { $0.isOlder(than: notification) }) else { continue }
            statements[period.id]?.isGraceTold = true
        }
        return statements
    }

    func failure(of period: Period, defaultGrace: Int64) -> Purchase.BillingFailure? {
        Purchase.BillingFailure(renewals, latest: period, isGraceTold: isGraceTold, defaultGrace: defaultGrace)
    }

    /// When Apple was first heard to have stopped trying, in ms.
    var givenUp: Int64? { renewals.reversed().prefix(while: \.tellsEnd).last?.signedDate }
}
