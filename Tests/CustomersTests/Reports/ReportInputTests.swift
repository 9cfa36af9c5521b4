import Base
import Customers
import Subscriptions
import Testing

/// A report that one process counted and another one shows.
struct ReportInputTests {
    @Test(arguments: 0..<UInt64(8))
    func `what was written for programs is read as it was`(seed: UInt64) throws {
        for step in [ReportCalendar.Step.total, .week] {
            let report = try Report.of(ReportPropertyTests().lives(seed), -30, 70, by: step)
            let read = try #require(Report(json: try JSON(parsing: report.json.bytes)))
            #expect(read.json == report.json && read.csv == report.csv)
            #expect(read.total.currencies.map(\.currency) == report.total.currencies.map(\.currency))
        }
    }

    @Test func `what is no report is none`() throws {
        let report = try Report.of(ReportPropertyTests().lives(3), -30, 70, by: .week).json
        for member in report.members ?? []
        where !["app", "from", "to", "gross_method", "mrr_method"].contains(member.name) {
            #expect(
                Report(json: .object((report.members ?? []).filter { $0.name != member.name })) == nil, "\(member.name)"
            )
        }
        #expect(Report(json: .null) == nil)
    }
}
