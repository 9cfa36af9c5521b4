import AppStoreAPI
import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What a reconciler needs to know.
package struct ReconciliationDutyConfiguration: Sendable {
    package var interval: Duration
    package var clock: any WallClock
    /// Where to look, and by what.
    package var duties: [(place: AppScope, reader: HistoryReader)]
    /// How often Apple may be asked how purchases of an app stand; 0: never.
    package var statusCallsPerHour: Int64
    /// How long grace lasts where Apple says that there is some and gives no end.
    package var foldSettings: FoldSettings

    package init(
        interval: Duration, clock: any WallClock, duties: [(place: AppScope, reader: HistoryReader)],
        statusCallsPerHour: Int64, foldSettings: FoldSettings
    ) {
        self.interval = interval
        self.clock = clock
        self.duties = duties
        self.statusCallsPerHour = statusCallsPerHour
        self.foldSettings = foldSettings
    }
}

/// Compares Apple's notification history with ours, and asks how purchases stand of which news is missing: what was
/// missed comes back without a request.
///
/// The leader does it; followers only tell how long ago it was done. A look that is cut off goes on where it was.
package struct ReconciliationDuty: Duty {
    package static let name = "reconciler"
    package static let failure: StaticString = "reconciliation run failed"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(3)

    package let cancellation: Cancellation?
    private var round: HistoryScanStep
    private var statusPoll: StatusPoll

    private static let rest = Duration.seconds(3)

    /// - Parameter cancellation: ends what waits for Apple; cancelled when this drains.
    package init(
        _ configuration: ReconciliationDutyConfiguration, cancellation: Cancellation, logger: Logger, metrics: Metrics
    ) {
        self.cancellation = cancellation
        for place in configuration.duties.map(\.place) {
            metrics.begin(.reconcileMissed, ["app": place.app, "environment": place.environment.rawValue])
        }
        let report = ReconcileReport(started: configuration.clock.now(), logger: logger, metrics: metrics)
        round = HistoryScanStep(configuration, cancellation, report)
        statusPoll = StatusPoll(configuration, cancellation, logger, metrics)
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        let hasMore = try run.session.withConnection { connection in
            let hasPages = try round.take(run.leadership, on: connection)
            return try statusPoll.take(run.leadership, on: connection) || hasPages
        }
        return hasMore ? .again : .after(ReconciliationDuty.rest)
    }
}
