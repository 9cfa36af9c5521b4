import Testing

@testable import Subscriptions

/// When Apple is asked about a purchase of which news is missing.
@Suite struct StatusPollScheduleTests {
    private static let minute: Int64 = 60_000
    private static let hour = 60 * minute
    private static let day = 24 * hour
    private static let end = 20_000 * day

    private static let cases: [(now: Int64, next: Int64?)] = [
        (-day, 10 * minute), (0, 10 * minute), (10 * minute - 1, 10 * minute), (10 * minute, hour), (hour, 6 * hour),
        (5 * hour, 6 * hour), (6 * hour, day), (day - 1, day), (day, 4 * day), (3 * day, 4 * day), (4 * day, 7 * day),
        (54 * day, 55 * day), (55 * day, 58 * day), (58 * day, nil), (100 * day, nil),
    ]

    @Test(arguments: cases) func `questions come soon after the end, then ever more seldom`(now: Int64, next: Int64?) {
        #expect(StatusPollSchedule.next(after: Self.end, now: Self.end + now) == next.map { Self.end + $0 })
    }

    @Test func `the first question is the first of the schedule, and all questions of an end are few`() {
        #expect(StatusPollSchedule.first(after: Self.end) == StatusPollSchedule.next(after: Self.end, now: Self.end))
        var (now, count) = (Self.end, 0)
        while let next = StatusPollSchedule.next(after: Self.end, now: now) {
            #expect(next > now)
            (now, count) = (next, count + 1)
        }
        #expect(count == 23)
    }

    @Test func `instants at the edge of what numbers can say do no harm`() {
        for end in [Int64.min, -1, 0, .max] {
            for now in [Int64.min, 0, .max] {
                let next = StatusPollSchedule.next(after: end, now: now)
                #expect(next.map { $0 >= end } ?? true)
            }
        }
    }
}
