import Base
import Customers
import Daemon
import Database
import Postgres
import Subscriptions

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
    private let logger: Logger
    private let metrics: Metrics
    /// Lines about single purchases in one refresh.
    private static let mostLines = 10
    /// Before a page that was overtaken is read again: what changes its purchases may be over by then.
    private static let pause = Duration.seconds(1)
    /// Nil: none is under way.
    private var cursor: ReportRefresh.Cursor?

    /// - Parameter interval: between the end of a refresh and the next.
    package init(_ refresh: ReportRefresh, interval: Duration, logger: Logger, metrics: Metrics) {
        self.refresh = refresh
        self.interval = interval
        self.logger = logger
        self.metrics = metrics
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        try run.session.withConnection { connection in
            let (now, isLeader) = try run.leadership.check(on: connection)
            guard try isLeader && ReportTable.isThere(on: connection) else {
                cursor = nil
                // Another worker has newer ones.
                metrics.remove(.subscriptions)
                metrics.remove(.monthlyRevenue)
                return .after(ReportDuty.retryAfter)
            }
            var next = cursor ?? ReportRefresh.Cursor(started: now)
            let failed = next.failed
            for failure in try refresh.step(&next, on: connection).prefix(max(0, ReportDuty.mostLines - failed)) {
                logger.warning(
                    "report rows not made",
                    [
                        "app": .string(failure.key.app), "environment": .string(failure.key.environment.rawValue),
                        "original_transaction_id": .string(failure.key.originalTransactionID),
                        "error": .string("\(failure.error)"),
                    ])
            }
            cursor = next.isAtEnd ? nil : next
            guard next.isAtEnd else { return next.isRepeating ? .after(ReportDuty.pause) : .again }
            if next.failed > 0 { logger.warning("reports incomplete", ["failed": .int(Int64(next.failed))]) }
            measure(now: now, on: connection)
            return .after(interval)
        }
    }

    /// Of the statements that read the tables as wholes; shorter than the session waits.
    private static let patience = Duration.seconds(30)

    /// Numbers for dashboards. Where they take too long they stay as they were.
    private func measure(now: Int64, on connection: PostgresConnection) {
        guard let found = try? ReportOverview.read(now: now, within: ReportDuty.patience, on: connection) else {
            return
        }
        metrics.gauge(.subscriptions, Double(found.subscriptions), ["state": "paid"])
        metrics.gauge(.subscriptions, Double(found.trials), ["state": "trial"])
        metrics.gauge(.monthlyRevenue, Double(found.monthly) / 1000)
    }
}
