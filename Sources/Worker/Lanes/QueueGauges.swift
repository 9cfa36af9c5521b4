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

    /// What waits in some lanes.
    private struct Backlog {
        /// ms since 1970.
        var oldest: Int64?
        var oldestBlocked: Int64?
        var held: Int64 = 0
        var pastDue: Int64 = 0
        var overdue: Int64 = 0
    }

    /// - Parameters:
    ///   - parts: the lanes that this worker owns, by their groups; other workers measure the others, so that sums are right.
    ///   - outages: how many are known.
    /// - Throws: the first failure, after what the other groups say was measured.
    func measure(
        _ parts: [LaneGroups.Part<Lane>], outages: Int, now: Int64, on connection: PostgresConnection
    ) throws {
        metrics.gauge(.outages, Double(outages))
        var (all, failure) = (Backlog(), (any Error)?.none)
        for part in parts {
            do {
                try add(part.elements, to: &all, now: now, on: connection)
            } catch {
                guard !error.isConnectionLost, parts.count > 1 else { throw error }
                failure = failure ?? error
            }
        }
        metrics.gauge(.pendingOldestSeconds, Double(all.oldest.map { max(0, now - $0) } ?? 0) / 1000)
        metrics.gauge(.heldNow, Double(all.held))
        metrics.gauge(.deliveriesPastDue, Double(all.pastDue))
        metrics.gauge(.deliveriesBlockedSeconds, Double(all.oldestBlocked.map { max(0, now - $0) } ?? 0) / 1000)
        metrics.gauge(.timersOverdue, Double(all.overdue))
        if let failure { throw failure }
    }

    private func add(
        _ lanes: [Lane], to backlog: inout Backlog, now: Int64, on connection: PostgresConnection
    ) throws {
        let limits = PostgresStatement("SELECT set_config('statement_timeout', $1, true)", [.text(timeout)])
        var sum = backlog
        try connection.transaction(opening: [limits]) { _ in
            let oldest = try PendingNotification.oldest(in: lanes, on: connection)
            sum.oldest = [sum.oldest, oldest.map(SequenceGenerator.instant(of:))].compactMap { $0 }.min()
            sum.held += try HeldNotifications.count(in: lanes, eachAtMost: QueueGauges.perLane, on: connection)
            sum.pastDue += try DeliveryTable.pastDue(
                in: lanes, before: now - QueueGauges.deliveryTolerance, now: now, eachAtMost: QueueGauges.perLane,
                on: connection)
            let blocked = try DeliveryOrder.oldestBlocked(in: lanes, on: connection)
            sum.oldestBlocked = [sum.oldestBlocked, blocked].compactMap { $0 }.min()
            sum.overdue += try PurchaseTable.overdue(
                in: lanes, before: now - QueueGauges.timerTolerance, eachAtMost: QueueGauges.perLane, on: connection)
        }
        backlog = sum
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
