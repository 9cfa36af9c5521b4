import Base
import Daemon
import Database
import Postgres

/// Measures how far behind this worker's lanes are, by short index scans only: whatever is counted
/// is counted up to a limit, so that a backlog of millions costs no more to watch than one of hundreds.
struct QueueGauges {
    private let metrics: Metrics
    /// Of each of the statements.
    private let timeout: String

    /// What is due waits a moment even when all is well.
    private static let deliveryTolerance: Int64 = 60_000
    private static let timerTolerance: Int64 = 300_000
    private static let perLane = 100

    init(metrics: Metrics, lease: Duration) {
        self.metrics = metrics
        timeout = "\(max(250, lease.milliseconds / 10))ms"
    }

    /// - Parameters:
    ///   - lanes: those that this worker owns; other workers measure the others, so that sums are right.
    ///   - outages: how many are known.
    func measure(_ lanes: [Lane], outages: Int, now: Int64, on connection: PostgresConnection) throws {
        metrics.gauge(.outages, Double(outages))
        let limits = PostgresStatement("SELECT set_config('statement_timeout', $1, true)", [.text(timeout)])
        try connection.transaction(opening: [limits]) { _ in
            let oldest = try PendingNotification.oldest(in: lanes, on: connection)
            let age = oldest.map { max(0, now - SequenceGenerator.instant(of: $0)) } ?? 0
            metrics.gauge(.pendingOldestSeconds, Double(age) / 1000)
            let held = try HeldNotifications.count(in: lanes, eachAtMost: QueueGauges.perLane, on: connection)
            metrics.gauge(.heldNow, Double(held))
            let pastDue = try DeliveryTable.pastDue(
                in: lanes, before: now - QueueGauges.deliveryTolerance, now: now, eachAtMost: QueueGauges.perLane,
                on: connection)
            metrics.gauge(.deliveriesPastDue, Double(pastDue))
            let blocked = try DeliveryOrder.oldestBlocked(in: lanes, on: connection).map { max(0, now - $0) } ?? 0
            metrics.gauge(.deliveriesBlockedSeconds, Double(blocked) / 1000)
            let overdue = try PurchaseTable.overdue(
                in: lanes, before: now - QueueGauges.timerTolerance, eachAtMost: QueueGauges.perLane, on: connection)
            metrics.gauge(.timersOverdue, Double(overdue))
        }
    }

    /// Without lanes nothing is behind here.
    func clear() {
        let behind = [
            Metric.pendingOldestSeconds, .heldNow, .deliveriesPastDue, .deliveriesBlockedSeconds, .timersOverdue,
            .endpointsFailing,
        ]
        for metric in behind {
            metrics.gauge(metric, 0)
        }
    }
}
