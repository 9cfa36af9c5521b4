import Base

/// How far each line is done, so that reading it does not pass again what is dead and not yet vacuumed: a worker's old
/// transaction can pile up hundreds of thousands of such rows, and each read would visit all of them.
///
/// A hint and no more. What was committed late, what came from a host whose clock is behind, and what was put back lies
/// below it; so every line is also read from its start, as often as a twentieth of the time allows. While nothing piles
/// up that is many times a second.
package struct PendingLowWaterMarks: Sendable {
    private var done: [Lane: Int64] = [:]
    private var nextFullScan = ContinuousClock.now

    /// Transactions that overlap commit in any order.
    private static let slack: Int64 = 500
    private static let fullScanShare = 20

    package init() {}

    /// Where to begin in each of these lanes.
    ///
    /// - Parameter now: ms since 1970; what comes from a host whose clock is ahead hides nothing.
    package func starts(of lanes: [Lane], now: Int64) -> [Int64] {
        let latest = SequenceGenerator.least(at: now - PendingLowWaterMarks.slack)
        return lanes.map { lane in
            guard let done = done[lane] else { return 0 }
            let arrived = SequenceGenerator.instant(of: done)
            return min(latest, SequenceGenerator.least(at: arrived - PendingLowWaterMarks.slack))
        }
    }

    /// Whether to read from the start now.
    package var isFullScanDue: Bool { ContinuousClock.now >= nextFullScan }

    /// A read from the start took so long.
    package mutating func scanned(in duration: Duration) {
        nextFullScan = ContinuousClock.now + duration * (PendingLowWaterMarks.fullScanShare - 1)
    }

    /// These are out of the line, for good.
    package mutating func note(removed: some Sequence<PendingNotification>) {
        for notification in removed {
            done[notification.lane] = max(done[notification.lane] ?? 0, notification.seq)
        }
    }

    /// Lanes that are another's now: whatever happens in them is not known here.
    package mutating func forget(_ lanes: some Sequence<Lane>) {
        for lane in lanes { done[lane] = nil }
    }
}
