import Testing

@testable import Duties

/// How often Apple is asked.
@Suite struct HourlyRateTests {
    @Test(arguments: [(perHour: Int64(0), calls: 0), (1, 1), (7, 7), (600, 600), (36000, 36000)])
    func `an hour has so many calls and no more, at even distances`(perHour: Int64, calls: Int) {
        var budget = HourlyRate(perHour: perHour)
        var made: [Int64] = []
        for now in stride(from: Int64(5_000_000), to: 5_000_000 + 3_600_000, by: 100) where budget.allows(at: now) {
            budget.spend(at: now)
            made.append(now)
        }
        #expect(made.count <= calls)
        #expect(made.count >= calls * 98 / 100)
        let distances = zip(made, made.dropFirst()).map { $1 - $0 }
        #expect(distances.allSatisfy { $0 * perHour >= 3_600_000 })
    }

    @Test func `a clock that was set back stops nothing for long`() {
        var budget = HourlyRate(perHour: 60)
        budget.spend(at: 10_000_000_000)
        #expect(!budget.allows(at: 10_000_000_000 + 59_999))
        #expect(budget.allows(at: 10_000_000_000 + 60_000))
        #expect(budget.allows(at: 1_000_000))
    }
}
