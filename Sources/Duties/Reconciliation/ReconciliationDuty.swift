import AppStoreAPI
import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What a reconciler needs to know.
package struct ReconciliationDutyConfiguration: Sendable {
    /// As the owner of lanes of this process is named.
    package var worker: [UInt8]
    package var lease: Duration
    package var interval: Duration
    package var clock: any WallClock
    /// Where to look, and by what.
    package var duties: [(place: AppScope, reader: HistoryReader)]
    /// How often Apple may be asked how purchases of an app stand; 0: never.
    package var statusCallsPerHour: Int64
    /// How long grace lasts where Apple says that there is some and gives no end.
    package var foldSettings: FoldSettings

    package init(
        worker: [UInt8], lease: Duration, interval: Duration, clock: any WallClock,
        duties: [(place: AppScope, reader: HistoryReader)], statusCallsPerHour: Int64, foldSettings: FoldSettings
    ) {
        self.worker = worker
        self.lease = lease
        self.interval = interval
        self.clock = clock
        self.duties = duties
        self.statusCallsPerHour = statusCallsPerHour
        self.foldSettings = foldSettings
    }
}

/// Compares Apple's notification history with ours, and asks how purchases stand of which news is missing, beside a
/// worker, on a thread and a connection of its own: what was missed comes back without a request.
///
/// Who owns the first lane does it; the others only tell how long ago it was done.
package final class ReconciliationDuty: Service {
    package let name = "reconciler"

    private let state = Monitor((isDraining: false, isFinished: false))
    private let configuration: ReconciliationDutyConfiguration
    private let session: PostgresSession
    private let cancellation: Cancellation
    private let report: ReconcileReport
    private let metrics: Metrics
    private let logger: Logger
    private let failures = RepeatedFailure()

    /// Soon after the start, when the lanes have found their owners.
    private static let firstRest = Duration.seconds(1)
    private static let rest = Duration.seconds(3)

    /// - Parameter cancellation: ends what waits for Apple; cancelled when this drains.
    package init(
        _ configuration: ReconciliationDutyConfiguration, session: PostgresSession, cancellation: Cancellation,
        logger: Logger, metrics: Metrics
    ) {
        self.configuration = configuration
        self.session = session
        self.cancellation = cancellation
        self.logger = logger
        self.metrics = metrics
        report = ReconcileReport(started: configuration.clock.now(), logger: logger, metrics: metrics)
    }

    package func start() {
        guard !configuration.duties.isEmpty else {
            state.change { $0.isFinished = true }
            return
        }
        _ = ServiceThread("reconciler") { [self] in
            run()
            state.change { $0.isFinished = true }
        }
    }

    /// A look that is cut off goes on where it was.
    package func drain(until deadline: ContinuousClock.Instant) {
        state.change { $0.isDraining = true }
        cancellation.cancel()
        session.cancel()
        _ = state.wait(timeout: max(.zero, deadline - ContinuousClock.now)) { $0.isFinished ? true : nil }
    }

    private func run() {
        var round = HistoryScanStep(configuration, cancellation, report)
        var sweep = StatusPoll(configuration, cancellation, logger, metrics)
        var rest = ReconciliationDuty.firstRest
        while state.wait(timeout: rest, for: { $0.isDraining ? true : nil }) == nil {
            do {
                let hasMore = try session.withConnection { connection in
                    let hasPages = try round.take(on: connection)
                    return try sweep.take(on: connection) || hasPages
                }
                rest = hasMore ? .zero : ReconciliationDuty.rest
            } catch {
                rest = ReconciliationDuty.rest
                // A database that is away is told by its session; the end cancels what is running.
                guard (error as? PostgresError)?.kind != .connection, !state.read({ $0.isDraining }) else { continue }
                failures.note("reconciliation run failed", error, count: 1, logger)
            }
        }
        session.close()
    }
}
