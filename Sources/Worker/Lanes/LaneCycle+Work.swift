import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What waits in the lanes: the healthy ones together, those in trouble apart from them.
extension LaneCycle {
    static let batchLimit = 320
    static let resultLimit = 512
    private static let wakeInterval = Duration.milliseconds(500)
    private static let retryLimit = 64
    private static let retryInterval = Duration.seconds(1)
    /// How long held notifications are tried before the others have their turn again.
    private static let retryTime = Duration.milliseconds(50)
    private static let passOverTime = Duration.seconds(60)
    private static let foldTime = Duration.seconds(1)
    private static let resultPause = Duration.seconds(1)
    /// How long lanes in trouble are worked on before the others have their turn again.
    private static let troubleTime = Duration.milliseconds(500)
    /// How long a purchase whose time has come is left alone when it cannot be looked at, in ms.
    private static let wakeRetry: Int64 = 3_600_000

    mutating func work(on connection: PostgresConnection) throws -> Bool {
        try settleLost(on: connection)
        var wasBusy = try workTogether(on: connection)
        if try settleApart(on: connection) { wasBusy = true }
        return try workApart(on: connection) || wasBusy
    }

    /// One transaction for everything that waits in lanes where nothing is wrong.
    private mutating func workTogether(on connection: PostgresConnection) throws -> Bool {
        let troubled = trouble.lanes
        let lanes = leases.owned.filter { !troubled.contains($0) }
        let pending = try read(lanes, eachAtMost: LaneTrouble.perLane, on: connection)
        let woken = try dueWakes(lanes, on: connection)
        // Results that failed with notifications, or by themselves, take nothing else with them for a while.
        let results = nextResults == nil ? engine.takeResults(atMost: LaneCycle.resultLimit) : []
        guard !pending.isEmpty || !results.isEmpty || !woken.isEmpty else { return false }
        let prepared = preparer.prepare(pending)
        do {
            return try commit(prepared, results, woken, on: connection)
        } catch {
            engine.giveBack(results)
            guard error.fault != .away else { throw error }
            memory.remember(prepared)
            let lanes = Set(pending.map(\.lane) + woken.map(\.key.lane))
            note(error, lanes, pending.count)
            let last = Dictionary(pending.map { ($0.lane, $0.seq) }, uniquingKeysWith: max)
            trouble.begin(lanes, last: last, error.fault, at: .now)
            if !results.isEmpty { nextResults = .now }
            guard !isLost(error) else { throw error }
            return true
        }
    }

    /// Results of deliveries without anything else, in halves where they fail; what cannot be written down is tried again later.
    private mutating func settleApart(on connection: PostgresConnection) throws -> Bool {
        guard let due = nextResults, ContinuousClock.now >= due else { return false }
        let results = engine.takeResults(atMost: LaneCycle.resultLimit)
        nextResults = nil
        guard !results.isEmpty else { return false }
        try settle(results[...], on: connection)
        return true
    }

    private mutating func settle(_ results: ArraySlice<AttemptResult>, on connection: PostgresConnection) throws {
        do {
            _ = try commit([], Array(results), [], on: connection)
        } catch {
            guard error.fault != .away, !isLost(error) else {
                engine.giveBack(Array(results))
                nextResults = .now
                throw error
            }
            guard error.fault == .work, results.count > 1, let first = results.indices.first else {
                engine.giveBack(Array(results))
                nextResults = .now + LaneCycle.resultPause
                failures.note("delivery attempt recording failed", error)
                return
            }
            let middle = first + results.count / 2
            try settle(results[first..<middle], on: connection)
            try settle(results[middle...], on: connection)
        }
    }

    /// Whether the session is gone, and has to be opened again first.
    private func isLost(_ error: any Error) -> Bool { (error as? PostgresError)?.kind == .connection }

    private mutating func note(_ error: any Error, _ lanes: Set<Lane>, _ count: Int) {
        failures.note("lane batch failed", error, lanes: lanes.count, notifications: count)
    }

    /// Lanes in trouble, group by group, while the time for them lasts.
    private mutating func workApart(on connection: PostgresConnection) throws -> Bool {
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
            pending = try read(group.lanes, eachAtMost: group.limit, isApart: true, on: connection)
                .filter { group.takes($0.seq, of: $0.lane) }
            let woken = group.lanes.count == 1 ? [] : try dueWakes(group.lanes, isHurried: true, on: connection)
            if !pending.isEmpty || !woken.isEmpty {
                prepared = memory.prepare(pending, by: preparer)
                _ = try commit(prepared, [], woken, on: connection)
                memory.forget(pending)
            }
            trouble.succeeded(group, isDone: pending.isEmpty, at: .now)
        } catch {
            guard error.fault != .away else {
                trouble.putBack(group)
                throw error
            }
            memory.remember(prepared)
            note(error, Set(group.lanes), pending.count)
            let verdict = trouble.failed(
                group, error.fault, count: pending.count, first: pending.first?.seq, isTimeout: error.isTimeout,
                at: .now)
            switch verdict {
            case .again: break
            case .passOver:
                logger.warning(
                    "slow notification postponed",
                    ["notification.uuid": .string(pending.first?.identity.uuid ?? ""), "error": .string("\(error)")])
                for notification in pending { passOver(notification, for: LaneCycle.passOverTime) }
            case .hold:
                lost.held += pending.map { .failed($0, error) }
            }
            guard !isLost(error) else { throw error }
            try settleLost(on: connection)
        }
    }

    /// What was found out about work whose failure took the session with it is written down by the next one.
    private mutating func settleLost(on connection: PostgresConnection) throws {
        let (held, woken) = (lost.held, lost.woken)
        lost.held = []
        if !held.isEmpty { _ = try commit(held, [], [], on: connection) }
        lost.woken = []
        if !woken.isEmpty { try PurchaseTable.wake(woken, at: now + LaneCycle.wakeRetry, on: connection) }
    }

    // MARK: - What waits

    /// - Parameters:
    ///   - lanes: in their order.
    ///   - isApart: whether these are lanes in trouble, whose turns are not those of the others.
    private mutating func read(
        _ lanes: [Lane], eachAtMost limit: Int, isApart: Bool = false, on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        guard !lanes.isEmpty else { return [] }
        let (isSweep, begun) = (floor.isSweepDue, ContinuousClock.now)
        // Where more waits than is taken, the lanes that were left out are the first ones next time.
        let start = lanes.firstIndex { $0 >= nextLane } ?? lanes.startIndex
        let lanes = Array(lanes[start...] + lanes[..<start])
        let pending = try PendingNotification.read(
            from: lanes, starts: isSweep ? nil : floor.starts(of: lanes, now: now), eachAtMost: limit,
            atMost: LaneCycle.batchLimit, except: stillPassedOver(), headers: headers, on: connection)
        if isSweep { floor.swept(in: ContinuousClock.now - begun) }
        let taken = Set(pending.map(\.lane))
        if !isApart, let last = lanes.last(where: taken.contains) { nextLane = last }
        return pending
    }

    private mutating func stillPassedOver() -> [Int64] {
        guard !passedOver.isEmpty else { return [] }
        passedOver = passedOver.filter { $0.value > ContinuousClock.now }
        return Array(passedOver.keys)
    }

    private mutating func passOver(_ notification: PendingNotification, for time: Duration) {
        passedOver[notification.seq] = ContinuousClock.now + time
        // The floor must not hide it when it is looked for again.
        floor.forget([notification.lane])
    }

    private mutating func dueWakes(
        _ lanes: [Lane], isHurried: Bool = false, on connection: PostgresConnection
    ) throws -> [PurchaseTable.DueWake] {
        if !isHurried {
            guard ContinuousClock.now >= nextWake else { return [] }
            nextWake = ContinuousClock.now + LaneCycle.wakeInterval
        }
        guard !lanes.isEmpty else { return [] }
        return try PurchaseTable.due(in: lanes, at: now, atMost: LaneCycle.batchLimit, on: connection)
    }

    /// One purchase that cannot be looked at must not keep the ends of all others from being told.
    private mutating func wakeOneByOne(_ lanes: [Lane], on connection: PostgresConnection) throws {
        for wake in try dueWakes(lanes, isHurried: true, on: connection) {
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
                guard !isLost(error) else { throw error }
                try settleLost(on: connection)
            }
        }
    }

    /// Held notifications whose time has come, in transactions of their own: what failed before must take nothing with it. A tenth of
    /// the time at most, however many are due, and a little at a time, so that nothing else waits long.
    mutating func retryHeld(on connection: PostgresConnection) throws -> Bool {
        let begun = ContinuousClock.now
        guard begun >= nextRetry else { return false }
        var least = Duration.zero
        defer { nextRetry = ContinuousClock.now + max(least, (ContinuousClock.now - begun) * 10) }
        if retrying.isEmpty {
            let due = try HeldNotifications.due(
                in: leases.owned, at: now, atMost: LaneCycle.retryLimit, headers: headers, on: connection)
            if due.count < LaneCycle.retryLimit { least = LaneCycle.retryInterval }
            if !due.isEmpty { retrying = [preparer.prepare(due)] }
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
            guard !isLost(error) else { throw error }
            try settleLost(on: connection)
        }
    }

    // MARK: - The transaction

    /// Reads and folds, then writes in one transaction; whether something was done.
    mutating func commit(
        _ prepared: [DecodedNotification], _ results: [AttemptResult], _ woken: [PurchaseTable.DueWake],
        on connection: PostgresConnection
    ) throws -> Bool {
        let begun = ContinuousClock.now
        let prepared = prepared.map(heldIfUnfoldable)
        let plan = try applier.planner.plan(prepared, woken, outages.beliefs, rows: mostRows, on: connection)
        adjustRows(to: ContinuousClock.now - begun)
        fold(plan.unfolded, of: prepared)
        guard !plan.notifications.isEmpty || !plan.woken.isEmpty || !results.isEmpty else { return false }
        let lanes = plan.lanes.union(results.map(\.delivery.id.lane)).sorted()
        var passedAt = begun
        var applied = Applier.ApplyResult()
        var decided: [AttemptRecorder.Decided] = []
        var released: [DueDelivery] = []
        let passed = try connection.transaction {
            let passed = try Fence.pass(lanes, leases: leases, on: connection)
            passedAt = ContinuousClock.now
            if !prepared.isEmpty { FailPoint.applyAfterFence.pass() }
            if !results.isEmpty { FailPoint.deliverBeforeRecord.pass() }
            decided = settler.decide(
                results.filter { passed.lanes.contains($0.delivery.id.lane) }, now: passed.now)
            released = try settler.settle(decided, now: passed.now, on: connection)
            if !released.isEmpty { FailPoint.deliverAfterRelease.pass() }
            applied = try applier.apply(plan, passed, beliefs: outages.beliefs, on: connection)
            if !prepared.isEmpty { FailPoint.applyBeforeCommit.pass() }
            return passed
        }
        if !prepared.isEmpty { FailPoint.applyAfterCommit.pass() }
        if !results.isEmpty { FailPoint.deliverAfterRecord.pass() }
        serverClock = (passed.now, passedAt)
        trouble.applied(applied.applied.count)
        floor.note(removed: applied.applied.lazy.map(\.pending).filter { $0.held == nil })
        engine.forget(results.map(\.delivery.id))
        let lost = lanes.filter { !passed.lanes.contains($0) }
        metrics.count(.fencesLost, by: Double(lost.count))
        keepingTrack { $0.leases.forget(lost) }
        settler.report(decided)
        report(applied.applied, ContinuousClock.now - begun)
        applied.unanswered.forEach(report)
        // At once: who asked for a pause gets nothing of what this turn made.
        engine.hold(decided.filter(\.changesEndpoint).map(\.endpoint))
        lookout.note(decided, now: passed.now)
        engine.add(released + applied.deliveries)
        if applied.forwarded > 0 { lookout.hurry() }
        return true
    }

    /// Leases must not run out while facts are read: where that takes long, longer histories are folded apart.
    private mutating func adjustRows(to duration: Duration) {
        let longest = leases.duration / 8
        if duration > longest {
            mostRows = max(TurnPlanner.mostRows / 64, Int(Double(mostRows) * (longest / duration)))
        } else if duration < longest / 4 {
            mostRows = min(TurnPlanner.mostRows, mostRows * 2)
        }
    }

    /// A notification of a purchase whose facts cannot be folded waits where an operator sees it and why.
    private func heldIfUnfoldable(_ notification: DecodedNotification) -> DecodedNotification {
        guard let key = notification.purchase, let reason = folder.fault(of: key) else { return notification }
        return DecodedNotification(
            pending: notification.pending, content: .held("the facts of its purchase cannot be folded: \(reason)"))
    }

    /// Purchases with more facts than a turn reads are folded by a thread of their own; what waits for them is passed over.
    private mutating func fold(_ keys: [PurchaseKey], of prepared: [DecodedNotification]) {
        guard !keys.isEmpty else { return }
        let unfolded = Set(keys)
        folder.fold(unfolded)
        for notification in prepared where notification.purchase.map(unfolded.contains) ?? false {
            passOver(notification.pending, for: LaneCycle.foldTime)
        }
    }
}
