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

    /// One transaction for everything that waits in each group of lanes, as far as nothing is wrong in them.
    private mutating func workTogether(on connection: PostgresConnection) throws -> Bool {
        let troubled = trouble.lanes
        let lanes = leases.owned.filter { !troubled.contains($0) }
        let isFullScan = floor.isFullScanDue || unfinished.isFullScan
        fullScanTime = .zero
        let isTime = paces.timers.isDue()
        if isTime { paces.timers.ran(since: .now) }
        let isWaking = isTime || unfinished.isWaking
        unfinished = (false, false)
        let ended = takeResults { nextResults[$0] == nil }
        var results = Dictionary(
            uniqueKeysWithValues: groups.split(ended, by: \.delivery.id.lane).map { ($0.group, $0.elements) })
        // What was taken for groups whose turn did not come.
        defer {
            let untouched = results.sorted { $0.key < $1.key }.flatMap(\.value)
            if !untouched.isEmpty { engine.giveBack(untouched) }
        }
        let owned = Dictionary(uniqueKeysWithValues: groups.split(lanes).map { ($0.group, $0.elements) })
        var (wasBusy, isFirst) = (false, true)
        for group in turns(of: Set(owned.keys).union(results.keys)) {
            // A server that answers late must not let the leases of the others' lanes end.
            if !groups.isOne, !isFirst, paces.renewal.isDue() {
                nextGroup = group
                unfinished = (isFullScan, isWaking)
                return true
            }
            isFirst = false
            let isBusy = try within(group) { cycle in
                try cycle.work(
                    owned[group] ?? [], results: &results[group, default: []], isFullScan: isFullScan,
                    isWaking: isWaking, on: connection)
            }
            wasBusy = isBusy ?? false || wasBusy
        }
        nextGroup = 0
        return wasBusy
    }

    /// From the one at which the last turn ended; those that failed last time come last.
    private func turns(of groups: Set<Int>) -> [Int] {
        let sorted = groups.sorted()
        return rests.ordered(sorted.filter { $0 >= nextGroup } + sorted.filter { $0 < nextGroup })
    }

    /// - Parameters:
    ///   - lanes: of one group.
    ///   - results: of deliveries in the group; none is left once they are written down, or are the engine's again.
    ///   - isFullScan: whether the lines are read from their start.
    ///   - isWaking: whether timers are looked for.
    private mutating func work(
        _ lanes: [Lane], results: inout [AttemptResult], isFullScan: Bool, isWaking: Bool,
        on connection: PostgresConnection
    ) throws -> Bool {
        let pending = try read(lanes, eachAtMost: LaneTrouble.perLane, isFullScan: isFullScan, on: connection)
        let woken = isWaking ? try dueWakes(lanes, on: connection) : []
        let settled = results
        results = []
        guard !pending.isEmpty || !settled.isEmpty || !woken.isEmpty else { return false }
        let prepared = preparer.prepare(pending)
        let begun = ContinuousClock.now
        do {
            return try commit(prepared, settled, woken, on: connection)
        } catch  where isOfOtherServer(error, than: lanes, on: connection) {
            engine.giveBack(settled)
            if !settled.isEmpty { hold(settled, until: .now) }
            failed(error)
            try applyInHalves(prepared, woken, since: begun, on: connection)
            return true
        } catch {
            engine.giveBack(settled)
            guard error.fault != .away else { throw error }
            rest(lanes.first, after: error, since: begun)
            beginTrouble(prepared, woken, after: error)
            if !settled.isEmpty { hold(settled, until: .now) }
            // The session has to be opened again first.
            guard !error.isConnectionLost else { throw error }
            return true
        }
    }

    /// What failed together is found out about apart from the other lanes.
    mutating func beginTrouble(
        _ prepared: [DecodedNotification], _ woken: [PurchaseTable.DueWake], after error: any Error
    ) {
        memory.remember(prepared)
        let pending = prepared.map(\.pending)
        let lanes = Set(pending.map(\.lane) + woken.map(\.key.lane))
        note(error, lanes, pending.count)
        let last = Dictionary(pending.map { ($0.lane, $0.seq) }, uniquingKeysWith: max)
        trouble.begin(lanes, last: last, error.fault, at: .now)
    }

    /// Results that failed with notifications, or by themselves, take nothing else with them for a while.
    private mutating func hold(_ results: [AttemptResult], until instant: ContinuousClock.Instant) {
        for part in groups.split(results, by: \.delivery.id.lane) { nextResults[part.group] = instant }
    }

    /// Results of deliveries in such groups, but for those that rest: they would be in the way of the others.
    private func takeResults(_ isWanted: (Int) -> Bool) -> [AttemptResult] {
        guard rests.isAny || leases.isAnyFailing || !nextResults.isEmpty else {
            return engine.takeResults(atMost: LaneCycle.resultLimit)
        }
        let now = ContinuousClock.now
        let wanted = Set((0..<groups.count).filter { isWanted($0) && !isResting($0, at: now) })
        return engine.takeResults(atMost: LaneCycle.resultLimit) { [groups] result in
            !wanted.contains(groups.group(of: result.delivery.id.lane))
        }
    }

    /// Results of deliveries without anything else, in halves where they fail; what cannot be written down is tried again later.
    private mutating func settleApart(on connection: PostgresConnection) throws -> Bool {
        guard !nextResults.isEmpty else { return false }
        let now = ContinuousClock.now
        let due = Set(nextResults.filter { now >= $0.value && !isResting($0.key, at: now) }.keys)
        guard !due.isEmpty else { return false }
        let results = takeResults(due.contains)
        for group in due { nextResults[group] = nil }
        guard !results.isEmpty else { return false }
        var parts = groups.split(results, by: \.delivery.id.lane)[...]
        defer { for part in parts { engine.giveBack(part.elements) } }
        while let part = parts.popFirst() {
            // One before it may have failed since, and then all that failed last time rest.
            guard !isResting(part.group) else {
                engine.giveBack(part.elements)
                hold(part.elements, until: .now)
                continue
            }
            // What is not written down is the engine's again.
            try within(part.group) { cycle in try cycle.settle(part.elements[...], on: connection) }
        }
        return true
    }

    private mutating func settle(_ results: ArraySlice<AttemptResult>, on connection: PostgresConnection) throws {
        do {
            _ = try commit([], Array(results), [], on: connection)
        } catch {
            guard error.fault != .away, !error.isConnectionLost else {
                engine.giveBack(Array(results))
                hold(Array(results), until: .now)
                throw error
            }
            guard error.fault == .work, results.count > 1, let first = results.indices.first else {
                engine.giveBack(Array(results))
                hold(Array(results), until: .now + LaneCycle.resultPause)
                failures.error("delivery attempt recording failed", error)
                return
            }
            let middle = first + results.count / 2
            do {
                try settle(results[first..<middle], on: connection)
            } catch {
                engine.giveBack(Array(results[middle...]))
                throw error
            }
            try settle(results[middle...], on: connection)
        }
    }

    mutating func note(_ error: any Error, _ lanes: Set<Lane>, _ count: Int) {
        failures.error("lane batch failed", error, lanes: lanes.count, notifications: count)
    }

    // MARK: - What waits

    /// - Parameters:
    ///   - lanes: of one group, in their order.
    ///   - isFullScan: whether the lines are read from their start.
    ///   - isApart: whether these are lanes in trouble, whose turns are not those of the others.
    mutating func read(
        _ lanes: [Lane], eachAtMost limit: Int, isFullScan: Bool, isApart: Bool = false,
        on connection: PostgresConnection
    ) throws -> [PendingNotification] {
        guard let first = lanes.first else { return [] }
        let (group, begun) = (groups.group(of: first), ContinuousClock.now)
        // Where more waits than is taken, the lanes that were left out are the first ones next time.
        let start = lanes.firstIndex { $0 >= nextLane[group] ?? .first } ?? lanes.startIndex
        let lanes = Array(lanes[start...] + lanes[..<start])
        let pending = try PendingNotification.read(
            from: lanes, starts: isFullScan ? nil : floor.starts(of: lanes, now: now), eachAtMost: limit,
            atMost: LaneCycle.batchLimit, except: stillPassedOver(), headers: headers, on: connection)
        if isFullScan {
            let took = ContinuousClock.now - begun
            // The reads of all groups count together.
            if !isApart { fullScanTime += took }
            floor.scanned(in: isApart ? took : fullScanTime)
        }
        let taken = Set(pending.map(\.lane))
        if !isApart, let last = lanes.last(where: taken.contains) { nextLane[group] = last }
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

    func dueWakes(_ lanes: [Lane], on connection: PostgresConnection) throws -> [PurchaseTable.DueWake] {
        guard !lanes.isEmpty else { return [] }
        return try PurchaseTable.due(in: lanes, at: now, atMost: LaneCycle.batchLimit, on: connection)
    }
}
