import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What waits in the lanes: the healthy ones together, those in trouble apart from them.
extension LaneCycle {
    static let batchLimit = 320
    static let resultLimit = 512
    private static let resultPause = Duration.seconds(1)

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
            // The session has to be opened again first.
            guard !error.isConnectionLost else { throw error }
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
            guard error.fault != .away, !error.isConnectionLost else {
                engine.giveBack(Array(results))
                nextResults = .now
                throw error
            }
            guard error.fault == .work, results.count > 1, let first = results.indices.first else {
                engine.giveBack(Array(results))
                nextResults = .now + LaneCycle.resultPause
                failures.error("delivery attempt recording failed", error)
                return
            }
            let middle = first + results.count / 2
            try settle(results[first..<middle], on: connection)
            try settle(results[middle...], on: connection)
        }
    }

    mutating func note(_ error: any Error, _ lanes: Set<Lane>, _ count: Int) {
        failures.error("lane batch failed", error, lanes: lanes.count, notifications: count)
    }

    // MARK: - What waits

    /// - Parameters:
    ///   - lanes: in their order.
    ///   - isApart: whether these are lanes in trouble, whose turns are not those of the others.
    mutating func read(
        _ lanes: [Lane], eachAtMost limit: Int, isApart: Bool = false, on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        guard !lanes.isEmpty else { return [] }
        let (isFullScan, begun) = (floor.isFullScanDue, ContinuousClock.now)
        // Where more waits than is taken, the lanes that were left out are the first ones next time.
        let start = lanes.firstIndex { $0 >= nextLane } ?? lanes.startIndex
        let lanes = Array(lanes[start...] + lanes[..<start])
        let pending = try PendingNotification.read(
            from: lanes, starts: isFullScan ? nil : floor.starts(of: lanes, now: now), eachAtMost: limit,
            atMost: LaneCycle.batchLimit, except: stillPassedOver(), headers: headers, on: connection)
        if isFullScan { floor.scanned(in: ContinuousClock.now - begun) }
        let taken = Set(pending.map(\.lane))
        if !isApart, let last = lanes.last(where: taken.contains) { nextLane = last }
        return pending
    }

    mutating func stillPassedOver() -> [Int64] {
        guard !passedOver.isEmpty else { return [] }
        passedOver = passedOver.filter { $0.value > ContinuousClock.now }
        return Array(passedOver.keys)
    }

    mutating func passOver(_ notification: PendingNotification, for time: Duration) {
        passedOver[notification.seq] = ContinuousClock.now + time
        // The floor must not hide it when it is looked for again.
        floor.forget([notification.lane])
    }

    mutating func dueWakes(
        _ lanes: [Lane], isHurried: Bool = false, on connection: PostgresConnection
    ) throws -> [PurchaseTable.DueWake] {
        if !isHurried {
            guard paces.timers.isDue() else { return [] }
            paces.timers.ran(since: .now)
        }
        guard !lanes.isEmpty else { return [] }
        return try PurchaseTable.due(in: lanes, at: now, atMost: LaneCycle.batchLimit, on: connection)
    }
}
