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
    private let clock: any WallClock
    let logger: Logger
    let metrics: Metrics

    var leases: LaneLeases
    var lookout: DeliveryFetcher
    private var watch: EndpointMonitor
    private var operations: OperationsEndpointSync
    private var gauges: QueueGauges
    private var sealing: SealingKeyWatch
    var outages: OutageTracker
    private var accounts: AccountUpkeep
    /// What decides about owners, until it is written down.
    private var owners: [OwnerSettingTable.Current]
    private var nextRenewal = ContinuousClock.now
    private var nextFreeLook = ContinuousClock.now
    var floor = PendingLowWaterMarks()
    var nextWake = ContinuousClock.now
    var nextRetry = ContinuousClock.now
    /// The server's clock at an instant of ours: from there on no change of our wall clock matters.
    var serverClock: (time: Int64, at: ContinuousClock.Instant)?
    /// When results of deliveries are settled apart from all else; nil: they are settled with it.
    var nextResults: ContinuousClock.Instant?
    /// The lane whose turn it is where more waits than is taken at once.
    var nextLane = Lane.first
    /// How many rows of facts a turn reads at most.
    var mostRows = TurnPlanner.mostRows
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

    private static let freeLookInterval = Duration.milliseconds(500)

    init(
        configuration: LaneWorkerConfiguration, preparer: NotificationDecoder, applier: Applier,
        settler: AttemptRecorder,
        engine: DeliveryEngine, folder: PurchaseFolder, keys: @escaping @Sendable () -> SecretSealer,
        clock: any WallClock,
        logger: Logger, metrics: Metrics
    ) {
        self.folder = folder
        self.preparer = preparer
        self.applier = applier
        self.settler = settler
        self.engine = engine
        failures = FailureLog(logger: logger)
        sealing = SealingKeyWatch(keys: keys, logger: logger, metrics: metrics)
        lookout = DeliveryFetcher(engine: engine, sealer: sealing.sealer, lease: configuration.lease, logger: logger)
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
    }

    /// Milliseconds since 1970 by the server's clock, as far as it is known.
    var now: Int64 {
        serverClock.map { $0.time + (ContinuousClock.now - $0.at).milliseconds } ?? clock.now()
    }

    /// Leases, then deliveries that are due, then one transaction for everything that waits. True if there was work.
    mutating func take(on connection: PostgresConnection) throws -> Bool {
        if try ContinuousClock.now >= nextRenewal || seesFreeLanes(on: connection) {
            try renew(on: connection)
        }
        try tend { turn in try turn.lookForKeys(on: connection) }
        guard !leases.epochs.isEmpty else {
            gauges.clear()
            return false
        }
        // Before anything is judged by it.
        if !owners.isEmpty {
            try OwnerSettingTable.note(owners, on: connection)
            owners = []
        }
        try lookForOutages(connection)
        try watchOver(connection)
        try tend { turn in try turn.operations.keep(now: turn.now, on: connection) }
        try tend { turn in
            try turn.lookout.take(
                lanes: turn.leases.owned, workers: turn.leases.workers, now: turn.now, on: connection)
        }
        // A notice that is made before its endpoint exists would have no delivery, and count as sent.
        if operations.isDone { try tend { turn in try turn.watch.take(turn.leases, now: turn.now, on: connection) } }
        let wasBusy = try work(on: connection)
        if leases.epochs[Lane.first] != nil {
            try tend { turn in if try turn.accounts.keep(on: connection) { turn.lookout.hurry() } }
        }
        do {
            return try retryHeld(on: connection) || wasBusy
        } catch {
            // What could not be applied must not stop what can be.
            if let error = error as? PostgresError, error.kind == .connection { throw error }
            failed(error)
            return wasBusy
        }
    }

    /// Once it is known, not learning more must not stop notifications from being applied.
    private mutating func lookForOutages(_ connection: PostgresConnection) throws {
        do {
            try outages.look(now: now, cleans: leases.epochs[Lane.first] != nil, on: connection)
        } catch {
            if let error = error as? PostgresError, error.kind == .connection { throw error }
            guard outages.isKnown else { throw error }
            failed(error)
        }
    }

    /// A worker that has another key than before says so at once: lanes follow it.
    private mutating func lookForKeys(on connection: PostgresConnection) throws {
        guard try sealing.look(now: now, on: connection) else { return }
        lookout.sealer = sealing.sealer
        operations.sealer = sealing.sealer
        leases.sealingKeys = sealing.sealer.fingerprints
        lookout.hurry()
        nextRenewal = ContinuousClock.now
    }

    /// Numbers for people must not stop the work.
    private mutating func watchOver(_ connection: PostgresConnection) throws {
        do {
            try gauges.look(leases.owned, outages: outages.known.count, now: now, on: connection)
        } catch {
            if let error = error as? PostgresError, error.kind == .connection { throw error }
            failed(error)
        }
    }

    /// Webhooks may wait; notifications may not wait for them.
    private mutating func tend(_ body: (inout LaneCycle) throws -> Void) throws {
        do {
            try body(&self)
        } catch {
            if let error = error as? PostgresError, error.kind == .connection { throw error }
            failed(error)
        }
    }

    // MARK: - Leases

    /// Who ends in order gives lanes back at any time; they need not wait for the next renewal.
    private mutating func seesFreeLanes(on connection: PostgresConnection) throws -> Bool {
        guard ContinuousClock.now >= nextFreeLook else { return false }
        nextFreeLook = ContinuousClock.now + LaneCycle.freeLookInterval
        return try leases.areAnyFree(on: connection)
    }

    private mutating func renew(on connection: PostgresConnection) throws {
        FailPoint.leaseBeforeRenewal.pass()
        let change = try keepingTrack { turn in try turn.leases.maintain(on: connection) }
        FailPoint.leaseAfterRenewal.pass()
        let gained = change.gained
        nextRenewal = ContinuousClock.now + leases.interval
        metrics.count(.laneTakeovers, by: Double(change.takenOver.count))
        if !gained.isEmpty {
            logger.info("lanes gained", ["count": .int(Int64(gained.count))])
            lookout.gainedLanes()
        }
        metrics.gauge(.lanesOwned, Double(leases.epochs.count))
    }

    /// For the end: keeps the lanes that still have something in flight, and gives back the others for other workers.
    mutating func release(except busy: Set<Lane>, on connection: PostgresConnection) throws {
        try keepingTrack { turn in
            _ = try turn.leases.renew(on: connection)
            try turn.leases.leave(on: connection)
            try turn.leases.release(turn.leases.owned.filter { !busy.contains($0) }, on: connection)
        }
    }

    mutating func releaseAll(on connection: PostgresConnection) throws {
        try leases.releaseAll(on: connection)
        try lookout.finish(on: connection)
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

    /// Writes down the results of what was still in flight.
    mutating func settleRest(on connection: PostgresConnection) throws {
        while true {
            let results = engine.takeResults(atMost: LaneCycle.resultLimit)
            guard !results.isEmpty else { return }
            do {
                _ = try commit([], results, [], on: connection)
            } catch {
                engine.giveBack(results)
                throw error
            }
        }
    }

    /// A database that is away is told by its session.
    mutating func failed(_ error: any Error) {
        guard error.fault != .away else { return }
        failures.note("lane cycle failed", error)
    }
}

/// What is to be written down of work that failed together with its session.
struct LostWork {
    /// Notifications that are held.
    var held: [DecodedNotification] = []
    /// Purchases whose timers are put off.
    var woken: [PurchaseKey] = []
}
