import Database
import Testing

@Suite struct RetryScheduleTests {
    struct Case: Sendable {
        let text: String
        let waits: [Int64]
        let summary: String
    }

    @Test(arguments: [
        Case(
            text: "1h,12h,24h,48h,72h", waits: [3_600_000, 43_200_000, 86_400_000, 172_800_000, 259_200_000],
            summary: "6 attempts in 157 hours"),
        Case(text: "30s, 5m", waits: [30_000, 300_000], summary: "3 attempts in 330 seconds"),
        Case(text: "90m", waits: [5_400_000], summary: "2 attempts in 90 minutes"),
        Case(text: "100ms", waits: [100], summary: "2 attempts in 100 milliseconds"),
        Case(
            text: "30d,30d,30d", waits: [2_592_000_000, 2_592_000_000, 2_592_000_000],
            summary: "4 attempts in 2160 hours"),
        Case(text: "none", waits: [], summary: "1 attempt"),
    ])
    func `a schedule is read, and says how often it tries and how long`(test: Case) throws {
        let schedule = try RetrySchedule(parsing: test.text)
        #expect(schedule.waits == test.waits)
        #expect(schedule.summary == test.summary)
        #expect(try RetrySchedule(parsing: schedule.text) == schedule)
    }

    @Test(arguments: [
        "", ",", "1h,", ",1h", "1h,,2h", "1", "1 h", "h", "-1h", "1.5h", "99ms", "0s", "31d", "721h", "soon", "default",
        "1h;2h", "99999999999999999999h", "30d,30d,30d,100ms", String(repeating: "1s,", count: 100) + "1s",
    ])
    func `anything else is refused`(text: String) {
        #expect(throws: RetrySchedule.Rejection.self) { try RetrySchedule(parsing: text) }
    }

    @Test func `a hundred waits are taken`() throws {
        let text = Array(repeating: "1s", count: 100).joined(separator: ",")
        #expect(try RetrySchedule(parsing: text).attempts == 101)
    }
}
