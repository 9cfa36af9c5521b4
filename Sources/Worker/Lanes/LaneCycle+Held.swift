import Base
import Daemon
import Database
import Postgres

/// Held notifications, which are tried again.
extension LaneCycle {
    private static let retryLimit = 64
    /// How long held notifications are tried before the others have their turn again.
    private static let retryTime = Duration.milliseconds(50)

    /// Held notifications whose time has come, in transactions of their own: what failed before must take nothing with it. A tenth of
    /// the time at most, however many are due, and a little at a time, so that nothing else waits long.
    mutating func retryHeld(on connection: PostgresConnection) throws -> Bool {
        let begun = ContinuousClock.now
        guard paces.held.isDue(at: begun) else { return false }
        var hasMore = true
        defer { paces.held.ran(since: begun, hasMore: hasMore) }
        if retrying.isEmpty {
            var isLeft = false
            for part in groups.split(leases.owned) {
                let due = try within(part.group) { cycle in
                    try HeldNotifications.due(
                        in: part.elements, at: cycle.now, atMost: LaneCycle.retryLimit, headers: cycle.headers,
                        on: connection)
                }
                guard let due else { continue }
                isLeft = isLeft || due.count == LaneCycle.retryLimit
                if !due.isEmpty { retrying.append(preparer.prepare(due)) }
            }
            hasMore = isLeft
        }
        var wasBusy = false
        while let part = retrying.popLast() {
            wasBusy = true
            try retry(part.filter { leases.epochs[$0.pending.lane] != nil }, on: connection)
            if ContinuousClock.now - begun >= LaneCycle.retryTime { break }
        }
        return wasBusy
    }

    /// Those that fail together are tried in halves, which follow.
    private mutating func retry(_ part: [DecodedNotification], on connection: PostgresConnection) throws {
        do {
            _ = try commit(part, [], [], on: connection)
        } catch  where error.fault == .work || error.isTimeout {
            if part.count > 1 {
                let half = part.count / 2
                retrying += [Array(part.suffix(from: half)), Array(part.prefix(half))]
            } else {
                lost.held += part.map { .failed($0.pending, error) }
            }
            guard !error.isConnectionLost else { throw error }
            try settleLost(on: connection)
        }
    }
}
