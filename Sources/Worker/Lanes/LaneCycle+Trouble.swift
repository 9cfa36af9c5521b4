import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Lanes in which something failed: what fails is found out apart from the others.
extension LaneCycle {
    private static let passOverTime = Duration.seconds(60)
    /// How long lanes in trouble are worked on before the others have their turn again.
    private static let troubleTime = Duration.milliseconds(500)
    /// How long a purchase whose time has come is left alone when it cannot be looked at, in ms.
    private static let wakeRetry: Int64 = 3_600_000

    /// Lanes in trouble, group by group, while the time for them lasts.
    mutating func workApart(on connection: PostgresConnection) throws -> Bool {
        let end = ContinuousClock.now + LaneCycle.troubleTime
        var wasBusy = false
        while ContinuousClock.now < end, let group = trouble.take(at: .now) {
            wasBusy = true
            try work(group, on: connection)
        }
        if trouble.groups.isEmpty { memory.removeAll() }
        metrics.gauge(.lanesInTrouble, Double(trouble.lanes.count))
        return wasBusy
    }

    private mutating func work(_ group: LaneTrouble.Group, on connection: PostgresConnection) throws {
        var (pending, prepared) = ([PendingNotification](), [DecodedNotification]())
        do {
            // What waits for time alone must not fail with what waits in line, nor the other way round.
            if group.lanes.count == 1 { try wakeOneByOne(group.lanes, on: connection) }
            let isFullScan = floor.isFullScanDue
            pending = try read(
                group.lanes, eachAtMost: group.limit, isFullScan: isFullScan, isApart: true, on: connection
            ).filter { group.takes($0.seq, of: $0.lane) }
            let woken = group.lanes.count == 1 ? [] : try dueWakes(group.lanes, on: connection)
            if !pending.isEmpty || !woken.isEmpty {
                prepared = memory.prepare(pending, by: preparer)
                _ = try commit(prepared, [], woken, on: connection)
                memory.forget(pending)
            }
            trouble.succeeded(group, isDone: pending.isEmpty, at: .now)
        } catch {
            // A part of the database that is away comes back; the others are there.
            let fault = error.fault == .away && !error.isConnectionLost && !groups.isOne ? .passing : error.fault
            guard fault != .away else {
                trouble.putBack(group)
                throw error
            }
            memory.remember(prepared)
            note(error, Set(group.lanes), pending.count)
            let verdict = trouble.failed(
                group, fault, count: pending.count, first: pending.first?.seq, isTimeout: error.isTimeout,
                at: .now)
            switch verdict {
            case .again: break
            case .passOver:
                logger.warning(
                    "slow notification postponed",
                    [
                        "notification.uuid": .string(pending.first?.identity.uuid ?? ""), "error": .string("\(error)"),
                        "trace_id": pending.first?.identity.trace.map { .string($0.text) },
                    ])
                for notification in pending { passOver(notification, for: LaneCycle.passOverTime) }
            case .hold:
                lost.held += pending.map { .failed($0, error) }
            }
            guard !error.isConnectionLost else { throw error }
            try settleLost(on: connection)
        }
    }

    /// One purchase that cannot be looked at must not keep the ends of all others from being told.
    private mutating func wakeOneByOne(_ lanes: [Lane], on connection: PostgresConnection) throws {
        for wake in try dueWakes(lanes, on: connection) {
            do {
                _ = try commit([], [], [wake], on: connection)
            } catch  where error.fault == .work || error.isTimeout {
                logger.error(
                    "purchase timer failed",
                    [
                        "app": .string(wake.key.app),
                        "original_transaction_id": .string(wake.key.originalTransactionID),
                        "error": .string("\(error)"), "retry_in_ms": .int(LaneCycle.wakeRetry),
                    ])
                lost.woken.append(wake.key)
                guard !error.isConnectionLost else { throw error }
                try settleLost(on: connection)
            }
        }
    }

    /// What was found out about work whose failure took the session with it is written down by the next one.
    mutating func settleLost(on connection: PostgresConnection) throws {
        let (held, woken) = (lost.held, lost.woken)
        lost.held = []
        for part in groups.split(held, by: \.pending.lane) {
            try within(part.group) { cycle in _ = try cycle.commit(part.elements, [], [], on: connection) }
        }
        lost.woken = []
        for part in groups.split(woken, by: \.lane) {
            try within(part.group) { cycle in
                try PurchaseTable.wake(part.elements, at: cycle.now + LaneCycle.wakeRetry, on: connection)
            }
        }
    }
}

/// What is to be written down of work that failed together with its session.
struct LostWork {
    /// Notifications that are held.
    var held: [DecodedNotification] = []
    /// Purchases whose timers are put off.
    var woken: [PurchaseKey] = []
}
