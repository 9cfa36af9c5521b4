import Base
import Customers
import Daemon
import Database
import Postgres

/// Brings the tables behind the views of analysts up to date, a page of purchases at a time.
///
/// Beside the lanes, and not in their transactions: applying a notification does not wait for reports. What it writes
/// follows from records and facts, so two workers that both take themselves for the leader do no harm.
package struct ReportDuty: Duty {
    package static let name = "reports"
    package static let failure: StaticString = "report tables not refreshed"
    package static let firstAfter = Duration.seconds(5)
    package static let retryAfter = Duration.seconds(30)

    private let refresh: ReportRefresh
    private let interval: Duration
    /// Nil: none is under way.
    private var cursor: ReportRefresh.Cursor?

    /// - Parameter interval: between the end of a refresh and the next.
    package init(_ refresh: ReportRefresh, interval: Duration) {
        self.refresh = refresh
        self.interval = interval
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        try run.session.withConnection { connection in
            let (now, isLeader) = try run.leadership.check(on: connection)
            guard try isLeader && ReportTable.isThere(on: connection) else {
                cursor = nil
                return .after(ReportDuty.retryAfter)
            }
            var next = cursor ?? ReportRefresh.Cursor(started: now)
            try refresh.step(&next, on: connection)
            cursor = next.isAtEnd ? nil : next
            return next.isAtEnd ? .after(interval) : .again
        }
    }
}
