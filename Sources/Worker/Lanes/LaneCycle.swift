import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// What the owner of lanes does at each turn, and what it remembers between turns.
struct LaneCycle {
    let preparer: NotificationDecoder
    let applier: Applier
    var settler: AttemptRecorder
    let engine: DeliveryEngine
    let folder: PurchaseFolder
    let headers = JWSHeaderCache()
    private let grouping: LaneGrouping
    private let clock: any WallClock
    let logger: Logger
    let metrics: Metrics
    let tracer: Tracer

    var leases: LaneLeases
    var fetcher: DeliveryFetcher
    let watch: EndpointMonitor
    var operations: OperationsEndpointSync
    var gauges: QueueGauges
    var sealing: SealingKeyWatch
    var outages: OutageTracker
    var accounts: AccountUpkeep
    var paces: LaneTask.Paces
    /// What decides about owners, until it is written down.
    private var owners: [OwnerSettingTable.Current]
    var floor = PendingLowWaterMarks()
    /// How long reading lines from their start took in this turn.
    var fullScanTime = Duration.zero
    /// The server's clock at an instant of ours: from there on no change of our wall clock matters.
    var serverClock: (time: Int64, at: ContinuousClock.Instant)?
    /// When results of deliveries are settled apart from all else, by groups of lanes; in the others they are settled with it.
    var nextResults: [Int: ContinuousClock.Instant] = [:]
    /// The group of lanes whose turn is next, where a turn ended before all had theirs.
    var nextGroup = 0
    /// What those groups are to do that had no turn yet.
    var unfinished = (isFullScan: false, isWaking: false)
    /// The lane of each group whose turn it is where more waits than is taken at once.
    var nextLane: [Int: Lane] = [:]
    /// Groups of lanes that failed and rest.
    var rests = GroupRests()
    /// How many rows of facts a turn reads at most.
    var mostRows = CyclePlanner.mostRows
    /// Held notifications that are tried again, those together that have not failed together; the last part is the next.
    var retrying: [[DecodedNotification]] = []
    /// What failed together with its session.
    var lost = LostWork()
    /// Lanes in which something failed.
    var trouble = LaneTrouble()
    /// What was prepared for transactions that failed.
    var memory = PreparedMemory()
    /// Notifications that are passed over, until when: they were too slow alone, or their purchase is being folded.
    var passedOver: [Int64: ContinuousClock.Instant] = [:]
    var failures: FailureLog

    init(
        configuration: LaneWorkerConfiguration, preparer: NotificationDecoder, applier: Applier,
        settler: AttemptRecorder, engine: DeliveryEngine, folder: PurchaseFolder,
        keys: @escaping @Sendable () -> SecretSealer, grouping: LaneGrouping, clock: any WallClock, logger: Logger,
        metrics: Metrics, tracer: Tracer
    ) {
        self.grouping = grouping
        self.tracer = tracer
        self.folder = folder
        self.preparer = preparer
        self.applier = applier
        self.settler = settler
        self.engine = engine
        failures = FailureLog(logger: logger)
        sealing = SealingKeyWatch(keys: keys, logger: logger, metrics: metrics)
        fetcher = DeliveryFetcher(
            engine: engine, sealer: sealing.sealer,
            customers: CustomerLookup(document: configuration.document, foldSettings: configuration.foldSettings),
            lease: configuration.lease, logger: logger)
        watch = EndpointMonitor(
            policy: configuration.health, tells: configuration.operationsURL != nil, lease: configuration.lease,
            logger: logger, metrics: metrics)
        operations = OperationsEndpointSync(url: configuration.operationsURL, sealer: sealing.sealer, logger: logger)
        outages = OutageTracker(configuration)
        accounts = AccountUpkeep(foldSettings: configuration.foldSettings)
        owners = configuration.owners
        gauges = QueueGauges(metrics: metrics, lease: configuration.lease)
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        leases = LaneLeases(
            worker: configuration.worker, host: configuration.host, duration: configuration.lease,
            sealingKeys: sealing.sealer.fingerprints)
        paces = LaneTask.Paces(lease: leases.interval)
    }

    /// Milliseconds since 1970 by the server's clock, as far as it is known.
    var now: Int64 {
        serverClock.map { $0.time + (ContinuousClock.now - $0.at).milliseconds } ?? clock.now()
    }

    /// Which lanes lie together; a transaction stays within one of these groups.
    var groups: LaneGroups { leases.groups }

    /// Whether each group of lanes in which this worker owns some failed last time.
    var isStopped: Bool {
        let owned = Set(leases.owned.map(groups.group(of:)))
        return !owned.isEmpty && owned.allSatisfy { leases.areFailing($0) || rests.isFailing($0) }
    }

    /// Whether nothing is tried of the group for now.
    func isResting(_ group: Int, at now: ContinuousClock.Instant = .now) -> Bool {
        leases.areFailing(group) || rests.isResting(group, at: now)
    }

    /// Whether this worker does what one does for all.
    var isLeader: Bool { leases.epochs[Lane.first] != nil }

    /// Leases, then the tasks that are due, then one transaction for everything that waits in each group of lanes. True if there was
    /// work.
    mutating func take(on connection: PostgresConnection) throws -> Bool {
        leases.groups = try grouping.groups(on: connection)
        try keepLeases(on: connection)
        try run(.keys, on: connection)
        guard !leases.epochs.isEmpty else {
            gauges.clear()
            return false
        }
        try recordOwnerSettings(on: connection)
        for task in LaneTask.beforeWork { try run(task, on: connection) }
        let wasBusy = try work(on: connection)
        for task in LaneTask.afterWork { try run(task, on: connection) }
        return try attempt { cycle in try cycle.retryHeld(on: connection) } ?? false || wasBusy
    }

    /// Runs a task whose time has come. It is not tried again before its next time, however it ends.
    private mutating func run(_ task: LaneTask, on connection: PostgresConnection) throws {
        guard self[keyPath: task.pace].isDue(), task.isWanted(self) else { return }
        let begun = ContinuousClock.now
        if task.isVital(self) {
            try task.run(&self, connection)
            self[keyPath: task.pace].ran(since: begun)
        } else {
            defer { self[keyPath: task.pace].ran(since: begun) }
            try attempt { cycle in try task.run(&cycle, connection) }
        }
    }

    /// What fails beside the work must not stop it; nil where it failed. Without a connection nothing goes on.
    @discardableResult
    private mutating func attempt<Result>(_ body: (inout LaneCycle) throws -> Result) throws -> Result? {
        do {
            return try body(&self)
        } catch {
            if error.isConnectionLost { throw error }
            failed(error)
            return nil
        }
    }

    /// A database that is away is told by its session, unless it is one part of it that is away.
    mutating func failed(_ error: any Error) {
        guard error.fault != .away || !error.isConnectionLost && !groups.isOne else { return }
        failures.error("lane cycle failed", error)
    }

    /// What fails in one group of lanes must not stop the others: the group rests for a while, and the body is not run for it
    /// meanwhile. Where all lanes are one group, and where the connection was lost, what failed is thrown.
    ///
    /// - Returns: what the body returned; nil where it was not run or failed.
    @discardableResult
    mutating func within<Result>(
        _ group: Int, _ body: (inout LaneCycle) throws -> Result
    ) throws -> Result? {
        guard !groups.isOne else { return try body(&self) }
        guard !isResting(group) else { return nil }
        let begun = ContinuousClock.now
        do {
            let result = try body(&self)
            // The body may have put it to rest without an error.
            if !rests.isResting(group) { rests.succeeded(group) }
            return result
        } catch {
            guard !error.isConnectionLost else { throw error }
            rests.failed(group, after: error, of: groups, since: begun)
            failed(error)
            return nil
        }
    }

    /// Before anything is judged by them.
    private mutating func recordOwnerSettings(on connection: PostgresConnection) throws {
        guard !owners.isEmpty else { return }
        try OwnerSettingTable.note(owners, on: connection)
        owners = []
    }

    // MARK: - Leases

    private mutating func keepLeases(on connection: PostgresConnection) throws {
        guard try paces.renewal.isDue() || seesFreeLanes(on: connection) else { return }
        let begun = ContinuousClock.now
        FailPoint.leaseBeforeRenewal.pass()
        let change = try keepingTrack { turn in try turn.leases.maintain(on: connection) }
        FailPoint.leaseAfterRenewal.pass()
        paces.renewal.ran(since: begun)
        for failure in change.failures { failed(failure) }
        metrics.count(.laneTakeovers, by: Double(change.takenOver.count))
        if !change.gained.isEmpty {
            logger.info("lanes gained", ["count": .int(Int64(change.gained.count))])
            fetcher.gainedLanes()
        }
        metrics.gauge(.lanesOwned, Double(leases.epochs.count))
    }

    /// A worker that ends in order releases lanes at any time; they need not wait for the next renewal.
    private mutating func seesFreeLanes(on connection: PostgresConnection) throws -> Bool {
        guard paces.freeLanes.isDue() else { return false }
        paces.freeLanes.ran(since: .now)
        return try leases.areAnyFree(on: connection)
    }

    /// For the end: keeps the lanes that still have something in flight, and gives back the others for other workers.
    mutating func release(except busy: Set<Lane>, on connection: PostgresConnection) throws {
        let failures = try keepingTrack { turn in
            let renewed = try turn.leases.renew(on: connection)
            try turn.leases.leave(on: connection)
            let free = turn.leases.owned.filter { !busy.contains($0) }
            return renewed.failures + (try turn.leases.release(free, on: connection)).failures
        }
        for failure in failures { failed(failure) }
    }

    mutating func releaseAll(on connection: PostgresConnection) throws {
        for failure in try leases.releaseAll(on: connection).failures { failed(failure) }
        try fetcher.finish(on: connection)
    }

    /// Whatever lanes are gone after the body, also if it fails half-way: their deliveries are another worker's.
    mutating func keepingTrack<Result>(_ body: (inout LaneCycle) throws -> Result) rethrows -> Result {
        let before = Set(leases.owned)
        defer {
            let lost = before.subtracting(leases.owned)
            floor.forget(lost)
            trouble.forget(lost)
            dropDeliveries(of: lost)
        }
        return try body(&self)
    }

    private func dropDeliveries(of lost: Set<Lane>) {
        guard !lost.isEmpty else { return }
        engine.drop(lost)
        logger.info("lanes lost", ["count": .int(Int64(lost.count))])
    }

    // MARK: - The end

    /// Writes down the results of what was still in flight; a group of lanes that fails does not stop the others.
    mutating func settleRest(on connection: PostgresConnection) throws {
        var failures: [Int: any Error] = [:]
        // Those of a server that does not answer must not take the session with them.
        let resting = Set((0..<groups.count).filter { isResting($0) })
        while true {
            let results = engine.takeResults(atMost: LaneCycle.resultLimit) { [groups, failures] result in
                let group = groups.group(of: result.delivery.id.lane)
                return failures[group] != nil || resting.contains(group)
            }
            guard !results.isEmpty else { break }
            for part in groups.split(results, by: \.delivery.id.lane) {
                do {
                    _ = try commit([], part.elements, [], on: connection)
                } catch {
                    engine.giveBack(part.elements)
                    failures[part.group] = error
                }
            }
        }
        if let failure = failures.min(by: { $0.key < $1.key })?.value { throw failure }
    }
}
