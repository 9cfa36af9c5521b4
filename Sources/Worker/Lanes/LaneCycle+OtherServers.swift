import Base
import Daemon
import Database
import Postgres

/// Work that asks every server of a cluster, while one is away that has none of its lanes: such as for the other purchases of an
/// account, or for the purchase as which one that ended goes on. It waits; the rest of its lanes does not.
extension LaneCycle {
    /// How long such work is left alone.
    private static let postponement = Duration.seconds(5)
    /// How long it is looked for before the other groups have their turn.
    private static let searchTime = Duration.milliseconds(500)

    /// Whether the coordinator of a cluster says that a server is away, and the one that has these lanes answers.
    func isOfOtherServer(_ error: any Error, than lanes: [Lane], on connection: PostgresConnection) -> Bool {
        guard error.fault == .away, !error.isConnectionLost, !groups.isOne, let lane = lanes.first else { return false }
        do {
            _ = try Fence.look(at: [lane], on: connection)
            return true
        } catch {
            // Whatever it fails for: nothing says that the lanes' own server answers, and the first error is the one that is told.
            return false
        }
    }

    /// Applies the rest of what failed together, in halves until what has to wait stands alone.
    ///
    /// - Parameter begun: when that began which failed.
    mutating func applyInHalves(
        _ prepared: [DecodedNotification], _ woken: [PurchaseTable.DueWake], since begun: ContinuousClock.Instant,
        on connection: PostgresConnection
    ) throws {
        // A server that does not even refuse, as one whose host is off, takes a part of the time only.
        let isSlow = ContinuousClock.now - begun > LaneCycle.searchTime
        defer {
            if isSlow, let lane = prepared.first?.pending.lane ?? woken.first?.key.lane {
                rests.failed(groups.group(of: lane), of: groups, since: begun)
            }
        }
        // Those of a lane stay together, in their order, as long as they can.
        let sorted = prepared.sorted { ($0.pending.lane, $0.pending.seq) < ($1.pending.lane, $1.pending.seq) }
        var parts = LaneCycle.halves(sorted[...], woken[...])
        // What is left in a line, before what was applied, must not be hidden by the floor.
        defer { floor.forget(Set(prepared.map(\.pending.lane))) }
        let end = ContinuousClock.now + LaneCycle.searchTime
        while ContinuousClock.now < end, let part = parts.popLast() {
            if part.prepared.count + part.woken.count == 1, part.isFailed {
                try postpone(Array(part.prepared), Array(part.woken), on: connection)
                continue
            }
            do {
                _ = try commit(Array(part.prepared), [], Array(part.woken), on: connection)
            } catch {
                let lanes = part.prepared.map(\.pending.lane) + part.woken.map(\.key.lane)
                guard isOfOtherServer(error, than: lanes, on: connection) else {
                    guard error.fault != .away, !error.isConnectionLost else { throw error }
                    beginTrouble(Array(part.prepared), Array(part.woken), after: error)
                    continue
                }
                parts += LaneCycle.halves(part.prepared, part.woken)
            }
        }
    }

    private struct Part {
        let prepared: ArraySlice<DecodedNotification>
        let woken: ArraySlice<PurchaseTable.DueWake>
        /// Whether it was tried by itself.
        let isFailed: Bool
    }

    /// Of what failed; what cannot be divided is the only part.
    private static func halves(
        _ prepared: ArraySlice<DecodedNotification>, _ woken: ArraySlice<PurchaseTable.DueWake>
    ) -> [Part] {
        guard prepared.count + woken.count > 1 else {
            return prepared.isEmpty && woken.isEmpty
                ? [] : [Part(prepared: prepared, woken: woken, isFailed: true)]
        }
        if !prepared.isEmpty, !woken.isEmpty {
            return [
                Part(prepared: [], woken: woken, isFailed: false),
                Part(prepared: prepared, woken: [], isFailed: false),
            ]
        }
        let (some, few) = (prepared.count / 2, woken.count / 2)
        return [
            Part(prepared: prepared.dropFirst(some), woken: woken.dropFirst(few), isFailed: false),
            Part(prepared: prepared.prefix(some), woken: woken.prefix(few), isFailed: false),
        ]
    }

    /// Leaves these alone for a while; notifications stay in their lines.
    mutating func postpone(
        _ prepared: [DecodedNotification], _ woken: [PurchaseTable.DueWake], on connection: PostgresConnection
    ) throws {
        for notification in prepared { passOver(notification.pending, for: LaneCycle.postponement) }
        let keys = woken.map(\.key)
        try PurchaseTable.wake(keys, at: now + LaneCycle.postponement.milliseconds, on: connection)
    }
}
