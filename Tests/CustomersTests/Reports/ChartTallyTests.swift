import Base
import Customers
import Subscriptions
import Testing

/// Histories of made up lives, and what charts count of them, beside reports.
struct ChartTallyTests {
    private func histories(_ seed: UInt64) throws -> [ReportHistory] {
        try ReportPropertyTests().lives(seed).map(history)
    }

    private func history(_ life: Subscriber) throws -> ReportHistory {
        let purchase = try #require(life.purchase)
        return try #require(ReportHistory(of: purchase, life.facts))
    }

    private func tally(
        _ histories: [ReportHistory], _ from: Double, _ to: Double, by step: ReportCalendar.Step = .week,
        _ filter: ReportFilter = ReportFilter()
    ) throws -> ChartTally {
        let calendar = try #require(ReportCalendar(from: day(from), to: day(to), by: step))
        var tally = ChartTally(calendar, filter: filter, now: day(to))
        for history in histories { tally.add(history, of: "demo") }
        return tally
    }

    @Test(arguments: 0..<UInt64(40))
    func `a history is what its bytes say`(seed: UInt64) throws {
        for history in try histories(seed) {
            let bytes = history.bytes
            #expect(try ReportHistory(bytes: bytes) == history)
            // A byte less, or one more, is no history.
            for length in 0..<bytes.count {
                #expect(throws: ReportHistory.Damaged.self) { try ReportHistory(bytes: Array(bytes.prefix(length))) }
            }
            #expect(throws: ReportHistory.Damaged.self) { try ReportHistory(bytes: bytes + [0]) }
            #expect(throws: ReportHistory.Damaged.self) { try ReportHistory(bytes: [2] + bytes.dropFirst()) }
        }
    }

    @Test func `bytes of anything are read without harm`() {
        var chance = Chance(state: 7)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0..<60, using: &chance)).map { _ in
                Bool.random(using: &chance)
                    ? UInt8.random(in: 0...255, using: &chance) : UInt8.random(in: 0...3, using: &chance)
            }
            _ = try? ReportHistory(bytes: [1] + bytes)
        }
    }

    static let filters = [
        ReportFilter(), ReportFilter(productID: "monthly"), ReportFilter(productID: "yearly"),
        ReportFilter(currency: "EUR"),
        ReportFilter(productID: "monthly", currency: "USD"), ReportFilter(country: "AT"),
    ]

    @Test(arguments: 0..<UInt64(25), filters)
    func `what moved is the difference of start and end`(seed: UInt64, filter: ReportFilter) throws {
        let histories = try histories(seed)
        for step in [ReportCalendar.Step.day, .week, .month] {
            let tally = try tally(histories, -30, 70, by: step, filter)
            let active = tally.report.gauge(.active)
            var level = tally.activeAtStart
            for place in 0..<tally.calendar.count {
                func count(_ what: ReportCount) -> Int64 { tally.report.counts[what]?[place] ?? 0 }
                level += count(.new) + count(.takenOver) + count(.resubscribed) + count(.recovered)
                level += tally.switchedIn[place] - tally.switchedOut[place] - count(.churned)
                #expect(level == active[place])
                if filter.isEmpty { #expect(tally.switchedIn[place] + tally.switchedOut[place] == 0) }
                let states = [ReportGauge.paying, .inTrial, .inGrace].map { tally.report.gauge($0)[place] }
                #expect(states.reduce(0, +) == active[place])
                let trials = tally.trials[place]
                #expect(trials.started == count(.trialsStarted))
                #expect(trials.converted + trials.ended + trials.running == trials.started)
            }
            let starts = tally.monthlyByCurrencyAtStart
            for currency in Set(starts.keys).union(tally.movements.keys) {
                var rounded = starts[currency] ?? 0
                for (place, money) in tally.moneyByCurrency.enumerated() {
                    let moved = tally.movements[currency]?[place] ?? ChartTally.Movement()
                    let parts =
                        [moved.new, moved.takenOver, moved.back, moved.expansion].map(\.milliunits).reduce(0, +)
                        - [moved.contraction, moved.churned].map(\.milliunits).reduce(0, +)
                    let end = money[currency]?.monthly ?? 0
                    // Each of them, and each product, is rounded by itself.
                    #expect(abs(end - rounded - parts) <= 10, "\(currency) \(place)")
                    rounded = end
                }
            }
        }
    }

    @Test(arguments: 0..<UInt64(25))
    func `what there was at the start is what there was at the end before`(seed: UInt64) throws {
        let histories = try histories(seed)
        let (before, after) = (try tally(histories, -60, 3, by: .total), try tally(histories, 3, 40))
        #expect(before.report.gauge(.active).last == after.activeAtStart)
        let ended = try #require(before.moneyByCurrency.last).filter { $0.value.monthly != 0 }
        let starts = after.monthlyByCurrencyAtStart.filter { $0.value != 0 }
        #expect(
            Dictionary(uniqueKeysWithValues: ended.compactMap { entry in entry.key.map { ($0, entry.value.monthly) } })
                == starts)
    }

    @Test(arguments: 0..<UInt64(25))
    func `products, and currencies, are the parts of all`(seed: UInt64) throws {
        let histories = try histories(seed)
        let whole = try tally(histories, -30, 70)
        let parts = try ["monthly", "yearly", "coins"].map {
            try tally(histories, -30, 70, ReportFilter(productID: $0))
        }
        for gauge in ReportGauge.allCases {
            for place in 0..<whole.calendar.count {
                #expect(parts.map { $0.report.gauge(gauge)[place] }.reduce(0, +) == whole.report.gauge(gauge)[place])
            }
        }
        for what in ReportCount.allCases {
            let sums = (0..<whole.calendar.count).map { place in
                parts.reduce(Int64(0)) { $0 + ($1.report.counts[what]?[place] ?? 0) }
            }
            #expect(sums == whole.report.counts[what], "\(what)")
        }
        // The sums over currencies lack what has none.
        let currencies = try ["USD", "EUR", "JPY"].map { try tally(histories, -30, 70, ReportFilter(currency: $0)) }
        for place in 0..<whole.calendar.count {
            for (currency, money) in whole.moneyByCurrency[place] where currency != nil {
                let alone = currencies.compactMap { $0.moneyByCurrency[place][currency] }
                #expect(alone == [money])
            }
        }
    }

    @Test(arguments: 0..<UInt64(25))
    func `cohorts are those who pay, by the part in which they first did`(seed: UInt64) throws {
        let histories = try histories(seed)
        let tally = try tally(histories, -70, 500, by: .month)
        let paying = tally.report.gauge(.paying)
        for place in 0..<tally.calendar.count {
            let sum = (0...place).map { tally.cohorts[$0].paying[place - $0] }.reduce(0, +)
            #expect(sum == paying[place])
        }
        #expect(
            tally.cohorts.map(\.size).reduce(0, +)
                == Int64(
                    histories.count { history in
                        history.stretches.contains { $0.state == .paid }
                    }))
    }

    /// One life: a trial that is paid for, an upgrade, a charge that fails, and the end.
    @Test func `revenue moves for the reason that there was`() throws {
        var life = Subscriber()
        life.period(0, 7, price: 0, discount: "FREE_TRIAL")
        life.period(7, 37, price: 10_000, renewal: true)
        life.upgrade(17, 382, "yearly", price: 60_000)
        let history = try history(life)
        let tally = try tally([history], 0, 400, by: .total)
        let moved = try #require(tally.movements["USD"]?.first)
        #expect(moved.new.milliunits == 10_000)
        #expect(moved.contraction.milliunits == 5_000)
        #expect(moved.churned.milliunits == 5_000)
        #expect([moved.back, moved.expansion, moved.takenOver].allSatisfy { $0.isZero })
        #expect(tally.trials.first?.converted == 1)
        let yearly = try self.tally([history], 0, 400, by: .total, ReportFilter(productID: "yearly"))
        #expect(yearly.movements["USD"]?.first?.expansion.milliunits == 5_000)
        #expect(yearly.switchedIn == [1] && yearly.switchedOut == [0] && yearly.report.counts[.churned] == [1])
        let monthly = try self.tally([history], 0, 400, by: .total, ReportFilter(productID: "monthly"))
        #expect(monthly.switchedOut == [1] && monthly.report.counts[.churned] == [0])
        #expect(monthly.movements["USD"]?.first?.contraction.milliunits == 10_000)
    }

    @Test func `a payment that went back counts by its own day and by that of the refund`() throws {
        var life = Subscriber()
        life.period(0.5, 30.5)
        life.refund(at: 20, percentage: 50_000)
        let history = try history(life)
        let tally = try tally([history], 0, 28, by: .week)
        #expect(tally.bought["USD"]?.map(\.refunds).reduce(0, +) == 1)
        #expect(tally.bought["USD"]?.first?.refunded == 5_000 && tally.bought["USD"]?.first?.payments == 1)
        #expect(tally.report.counts[.refunds]?.first == 0)
    }
}
