import Base
import Customers
import Subscriptions
import Testing

/// What holds for every set of lives.
struct ReportPropertyTests {
    /// A life that is made up: what happens, when, and for how much.
    private func subscriber(_ id: Int, _ chance: inout some RandomNumberGenerator) -> Subscriber {
        var life = Subscriber("\(id)")
        life.currency = ["USD", "EUR", "JPY", nil].randomElement(using: &chance) ?? nil
        life.isFamily = Int.random(in: 0..<10, using: &chance) == 0
        var now = Double.random(in: -60..<80, using: &chance)
        if Int.random(in: 0..<6, using: &chance) == 0 {
            life.period(now, nil, "coins", price: 1_990, kind: "Consumable")
            if Bool.random(using: &chance) {
                life.refund(at: now + 3, percentage: .random(in: 0...100_000, using: &chance))
            }
            return life
        }
        let isTrial = Bool.random(using: &chance)
        var end = now + 7
        life.period(now, end, price: isTrial ? 0 : 10_000, discount: isTrial ? "FREE_TRIAL" : nil)
        var count = 1
        for _ in 0..<Int.random(in: 0..<9, using: &chance) {
            let price: Int64? =
                Int.random(in: 0..<8, using: &chance) == 0 ? nil : .random(in: 1...99_999, using: &chance)
            switch Int.random(in: 0..<8, using: &chance) {
            case 0:
                life.expire(.random(in: 1...5, using: &chance), at: end)
                now = end + .random(in: 1..<20, using: &chance)
                life.period(now, now + 30, price: price)
                end = now + 30
                count += 1
            case 1:
                life.fail(graceUntil: Bool.random(using: &chance) ? end + 16 : nil, at: end)
                now = end + .random(in: 0..<30, using: &chance)
                life.period(now, now + 30, price: price, renewal: true)
                end = now + 30
                count += 1
            case 2:
                now = .random(in: now..<end, using: &chance)
                life.upgrade(now, now + 365, "yearly", price: price ?? 5)
                end = now + 365
                count += 1
            case 3: life.refund(.random(in: 0..<count, using: &chance), at: .random(in: now...end, using: &chance))
            case 4: life.reverse(.random(in: 0..<count, using: &chance), at: end)
            case 5: life.fail(graceUntil: end + 6, at: end)
            default:
                life.period(end, end + 30, price: price, renewal: true)
                (now, end) = (end, end + 30)
                count += 1
            }
        }
        return life
    }

    func lives(_ seed: UInt64) -> [Subscriber] {
        var chance = Chance(state: seed)
        return (0..<40).map { subscriber($0, &chance) }
    }

    @Test(arguments: 0..<UInt64(25))
    func `parts sum to the total, and who is active is who came and did not go`(seed: UInt64) throws {
        let lives = lives(seed)
        let whole = try Report.of(lives, -30, 70)
        let before = try Report.of(lives, -40, -30).total.gauges[.active] ?? 0
        for step in [ReportCalendar.Step.day, .week, .month] {
            let report = try Report.of(lives, -30, 70, by: step)
            #expect(report.parts.count > 3)
            #expect(report.total == whole.total, "\(step)")
            var active = before
            for part in report.parts {
                let count = { (what: ReportCount) in part.counts[what] ?? 0 }
                active += count(.new) + count(.takenOver) + count(.resubscribed) + count(.recovered) - count(.churned)
                #expect(part.gauges[.active] == active)
                let states = [ReportGauge.paying, .inTrial, .inGrace].map { part.gauges[$0] ?? 0 }
                #expect(states.reduce(0, +) == active)
                let reasons = ReportCount.allCases.filter {
                    $0.rawValue.hasPrefix("churned_") && $0 != .churnedTrials
                }
                #expect(reasons.map(count).reduce(0, +) == count(.churned))
                guard step != .day else { continue }
                let alone = try Report.of(
                    lives, (Double(part.from) - Double(day(0))) / 86_400_000,
                    (Double(part.to) - Double(day(0))) / 86_400_000)
                #expect(alone.total == part)
            }
        }
    }

    @Test(arguments: 0..<UInt64(25))
    func `what customers spent is the net revenue of all time`(seed: UInt64) throws {
        let lives = lives(seed)
        let report = try Report.of(lives, -1000, 3000)
        var spent: [String?: Int64] = [:]
        for life in lives {
            for total in Spending([life.purchase].compactMap { $0 }).totals {
                spent[total.currency, default: 0] += total.net
            }
        }
        let earned = Dictionary(uniqueKeysWithValues: report.total.currencies.map { ($0.currency, $0.money.net) })
        #expect(earned == spent)
        #expect(earned.count > 2)
    }

    @Test(arguments: 0..<UInt64(20))
    func `tallies of parts of the purchases, in any order, add up to that of all`(seed: UInt64) throws {
        var chance = Chance(state: seed)
        let lives = lives(seed)
        let calendar = try #require(ReportCalendar(from: day(-30), to: day(70), by: .week))
        var tallies = (0..<3).map { _ in ReportTally(calendar) }
        for life in lives.shuffled(using: &chance) {
            let purchase = try #require(life.purchase)
            tallies[Int.random(in: 0..<3, using: &chance)].add(purchase, life.facts)
        }
        var sum = ReportTally(calendar)
        for tally in tallies.shuffled(using: &chance) { sum.add(tally) }
        let question = ReportQuestion(app: nil, environment: .production, step: .week)
        #expect(try Report(sum, question) == Report.of(lives, -30, 70, by: .week))
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Chance: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
