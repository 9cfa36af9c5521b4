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

    /// What waits in the lanes of a group.
    private struct Backlog {
        /// ms since 1970.
        let oldest: Int64?
        let oldestBlocked: Int64?
        let held: Int64
        let pastDue: Int64
        let overdue: Int64
    }

    /// By group.
    private var backlogs: [Int: Backlog] = [:]

    /// - Parameters:
    ///   - groups: of lanes that this worker owns; other workers measure the others, so that sums are right.
    ///   - isResting: whether a group is left alone for now: what waited in it when it was measured last waits on.
    ///   - outages: how many are known.
    /// - Throws: the first failure, after what the other groups say was measured.
    mutating func measure(
        _ parts: [LaneGroups.Part<Lane>], of groups: LaneGroups, isResting: (Int) -> Bool, outages: Int, now: Int64,
        on connection: PostgresConnection
    ) throws {
        metrics.gauge(.outages, Double(outages))
        backlogs = backlogs.filter { backlog in parts.contains { $0.group == backlog.key } }
        var failure: (any Error)?
        for part in parts where !isResting(part.group) {
            do {
                backlogs[part.group] = try backlog(of: part.elements, now: now, on: connection)
            } catch {
                guard !error.isConnectionLost, !groups.isOne else { throw error }
                failure = failure ?? error
            }
        }
        report(now)
        if let failure { throw failure }
    }

    private func report(_ now: Int64) {
        let all = backlogs.values
        let oldest = all.compactMap(\.oldest).min()
        let blocked = all.compactMap(\.oldestBlocked).min()
        metrics.gauge(.pendingOldestSeconds, Double(oldest.map { max(0, now - $0) } ?? 0) / 1000)
        metrics.gauge(.heldNow, Double(all.reduce(0) { $0 + $1.held }))
        metrics.gauge(.deliveriesPastDue, Double(all.reduce(0) { $0 + $1.pastDue }))
        metrics.gauge(.deliveriesBlockedSeconds, Double(blocked.map { max(0, now - $0) } ?? 0) / 1000)
        metrics.gauge(.timersOverdue, Double(all.reduce(0) { $0 + $1.overdue }))
    }

    private func backlog(of lanes: [Lane], now: Int64, on connection: PostgresConnection) throws -> Backlog {
        let limits = PostgresStatement("SELECT set_config('statement_timeout', $1, true)", [.text(timeout)])
        return try connection.transaction(opening: [limits]) { _ in
            Backlog(
                oldest: try PendingNotification.oldest(in: lanes, on: connection).map(SequenceGenerator.instant(of:)),
                oldestBlocked: try DeliveryOrder.oldestBlocked(in: lanes, on: connection),
                held: try HeldNotifications.count(in: lanes, eachAtMost: QueueGauges.perLane, on: connection),
                pastDue: try DeliveryTable.pastDue(
                    in: lanes, before: now - QueueGauges.deliveryTolerance, now: now, eachAtMost: QueueGauges.perLane,
                    on: connection),
                overdue: try PurchaseTable.overdue(
                    in: lanes, before: now - QueueGauges.timerTolerance, eachAtMost: QueueGauges.perLane,
                    on: connection))
        }
    }

    /// Without lanes nothing is behind here.
    mutating func clear() {
        backlogs = [:]
        let behind = [
            Metric.pendingOldestSeconds, .heldNow, .deliveriesPastDue, .deliveriesBlockedSeconds, .timersOverdue,
            .endpointsFailing,
        ]
        for metric in behind {
            metrics.gauge(metric, 0)
        }
    }
}
