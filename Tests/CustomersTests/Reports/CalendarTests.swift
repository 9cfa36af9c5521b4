import Base
import Customers
import Testing

struct CalendarTests {
    private func texts(_ from: String, _ to: String, _ step: ReportCalendar.Step) throws -> [String] {
        let (from, to) = (try #require(Timestamp.parse(from)), try #require(Timestamp.parse(to)))
        return try #require(ReportCalendar(from: from, to: to, by: step)).bounds.map(Timestamp.text)
    }

    @Test func `parts are calendar days, weeks from Monday and months, cut at both ends`() throws {
        #expect(
            try texts("2026-11-21T12:00:00Z", "2026-11-23T01:00:00Z", .day) == [
                "2026-11-21T12:00:00Z", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-23T01:00:00Z",
            ])
        #expect(
            try texts("2026-11-21T00:00:00Z", "2026-11-30T00:00:00Z", .week) == [
                "2026-11-21T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z",
            ])
        #expect(
            try texts("2027-12-31T23:59:59Z", "2028-03-01T00:00:00Z", .month) == [
                "2027-12-31T23:59:59Z", "2028-01-01T00:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z",
            ])
        #expect(
            try texts("1969-12-20T00:00:00Z", "1970-01-06T00:00:00Z", .week) == [
                "1969-12-20T00:00:00Z", "1969-12-22T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z",
                "1970-01-06T00:00:00Z",
            ])
        #expect(try texts("2026-11-21T00:00:00Z", "2028-11-30T00:00:00Z", .total).count == 2)
    }

    @Test func `no time, and too many parts, are refused`() {
        #expect(ReportCalendar(from: 5, to: 5, by: .total) == nil)
        #expect(ReportCalendar(from: 6, to: 5, by: .day) == nil)
        #expect(ReportCalendar(from: 0, to: 4000 * 86_400_000, by: .day)?.count == 4000)
        #expect(ReportCalendar(from: 0, to: 4001 * 86_400_000, by: .day) == nil)
        // Of what is long ago no part is counted for hours.
        for step in ReportCalendar.Step.allCases {
            #expect(ReportCalendar(from: ReportCalendar.earliest - 1, to: 0, by: step) == nil)
            #expect(ReportCalendar(from: .min, to: .max, by: step) == nil)
        }
        #expect(ReportCalendar(from: ReportCalendar.earliest, to: 0, by: .month) == nil)
        #expect(ReportCalendar(from: ReportCalendar.earliest, to: 0, by: .total)?.count == 1)
    }

    /// Beside a search through all parts.
    @Test func `places are found at every bound`() throws {
        let calendar = try #require(ReportCalendar(from: day(0.5), to: day(4.25), by: .day))
        let instants = calendar.bounds.flatMap { [$0 - 1, $0, $0 + 1] } + [.min, .max]
        let parts = (0..<calendar.count).map { calendar.part($0) }
        for instant in instants {
            #expect(calendar.place(of: instant) == parts.firstIndex { $0.from <= instant && instant < $0.to })
            for end in instants where end >= instant {
                let expected = parts.indices.filter { instant < parts[$0].to && end >= parts[$0].to }
                #expect(Array(calendar.ends(from: instant, until: end)) == expected)
            }
            let forEver = parts.indices.filter { instant < parts[$0].to }
            #expect(Array(calendar.ends(from: instant, until: nil)) == forEver)
        }
    }
}
