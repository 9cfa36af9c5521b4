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
        while ContinuousClock.now < end, let group = trouble.take(at: .now, except: isResting) {
            wasBusy = true
            try work(group, on: connection)
        }
        if trouble.groups.isEmpty { memory.removeAll() }
        metrics.gauge(.lanesInTrouble, Double(trouble.lanes.count))
        return wasBusy
    }

    /// Those in trouble together are of one group of lanes.
    private func isResting(_ group: LaneTrouble.Group) -> Bool {
        group.lanes.first.map { isResting(groups.group(of: $0)) } ?? false
    }

    private mutating func work(_ group: LaneTrouble.Group, on connection: PostgresConnection) throws {
        let begun = ContinuousClock.now
        var (pending, prepared, woken) = ([PendingNotification](), [DecodedNotification](), [PurchaseTable.DueWake]())
        // Whether the server that has the lanes answered.
        var isRead = false
        do {
            // What waits for time alone must not fail with what waits in line, nor the other way round.
            if group.lanes.count == 1 { try wakeOneByOne(group.lanes, on: connection) }
            let isFullScan = floor.isFullScanDue
            pending = try read(
                group.lanes, eachAtMost: group.limit, isFullScan: isFullScan, isApart: true, on: connection
            ).filter { group.takes($0.seq, of: $0.lane) }
            woken = group.lanes.count == 1 ? [] : try dueWakes(group.lanes, on: connection)
            isRead = true
            if !pending.isEmpty || !woken.isEmpty {
                prepared = memory.prepare(pending, by: preparer)
                _ = try commit(prepared, [], woken, on: connection)
                memory.forget(pending)
            }
            trouble.succeeded(group, isDone: pending.isEmpty, at: .now)
            if let first = group.lanes.first { rests.succeeded(groups.group(of: first)) }
        } catch {
            if isRead, isOfOtherServer(error, than: group.lanes, on: connection) {
                trouble.succeeded(group, isDone: false, at: .now)
                failed(error)
                return try applyInHalves(prepared, woken, since: begun, on: connection)
            }
            rest(group.lanes.first, after: error, since: begun)
            let fault = error.fault
            guard fault != .away else {
                trouble.putBack(group)
                // A part of the database that is away comes back; the others are there.
                guard !error.isConnectionLost, !groups.isOne else { throw error }
                return failed(error)
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

    /// A server that does not answer, or not in time, takes a part of the time only.
    mutating func rest(_ lane: Lane?, after error: any Error, since begun: ContinuousClock.Instant) {
        guard let lane, error.fault == .away || error.isTimeout, !error.isConnectionLost else { return }
        rests.failed(groups.group(of: lane), after: error, of: groups, since: begun)
    }

    /// One purchase that cannot be looked at must not keep the ends of all others from being told.
    private mutating func wakeOneByOne(_ lanes: [Lane], on connection: PostgresConnection) throws {
        let wakes = try dueWakes(lanes, on: connection)
        for (place, wake) in wakes.enumerated() {
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
            } catch  where isOfOtherServer(error, than: lanes, on: connection) {
                // Each of them might wait for that server.
                return try postpone([], Array(wakes[place...]), on: connection)
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
