import Base
import Deliver
import Lifecycle
import Postgres
import Queue
import Records
import Subscriptions
import Telemetry

/// What the owner of lanes does at each turn, and what it remembers between turns.
struct LaneTurn {
    private let preparer: NotificationPreparer
    private let applier: Applier
    private var settler: Settler
    private let engine: DeliveryEngine
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics

    private var leases: LaneLeases
    private var lookout: DeliveryLookout
    private var watch: EndpointWatch
    private var operations: OperationsKeeper
    private var gauges: QueueGauges
    private var outages: OutageWatch
    private var accounts: AccountUpkeep
    /// What decides about owners, until it is written down.
    private var owners: [OwnerSettingStore.Current]
    private var nextRenewal = ContinuousClock.now
    private var nextFreeLook = ContinuousClock.now
    private var floor = PendingFloor()
    private var nextWake = ContinuousClock.now
    private var nextRetry = ContinuousClock.now
    /// Turns in which held notifications are tried one by one, because a batch of them failed.
    private var carefulRetries = 0
    /// The server's clock at an instant of ours: from there on no change of our wall clock matters.
    private var serverClock: (time: Int64, at: ContinuousClock.Instant)?
    private var care = BatchCare()
    /// Turns in which notifications are taken one by one, because a batch failed.
    private var carefulTurns = 0
    /// Notifications that were too slow alone, until when they are passed over.
    private var passedOver: [Int64: ContinuousClock.Instant] = [:]
    private var lastFailure = (text: "", told: ContinuousClock.now)

    private static let batchLimit = 256
    private static let perLane = 16
    private static let resultLimit = 512
    private static let freeLookInterval = Duration.milliseconds(500)
    private static let wakeInterval = Duration.milliseconds(500)
    private static let retryLimit = 64
    private static let retryInterval = Duration.seconds(1)
    private static let passOverTime = Duration.seconds(60)
    /// How long a purchase whose time has come is left alone when it cannot be looked at.
    private static let wakeRetry: Int64 = 3_600_000

    init(
        configuration: LaneWorkerConfiguration, preparer: NotificationPreparer, applier: Applier, settler: Settler,
        engine: DeliveryEngine, sealer: SecretSealer, clock: any WallClock, logger: Logger, metrics: Metrics
    ) {
        self.preparer = preparer
        self.applier = applier
        self.settler = settler
        self.engine = engine
        lookout = DeliveryLookout(engine: engine, sealer: sealer, lease: configuration.lease, logger: logger)
        watch = EndpointWatch(
            policy: configuration.health, tells: configuration.operationsURL != nil, lease: configuration.lease,
            logger: logger, metrics: metrics)
        operations = OperationsKeeper(url: configuration.operationsURL, sealer: sealer, logger: logger)
        outages = OutageWatch(configuration)
        accounts = AccountUpkeep(foldSettings: configuration.foldSettings)
        owners = configuration.owners
        gauges = QueueGauges(metrics: metrics, lease: configuration.lease)
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        leases = LaneLeases(
            worker: configuration.worker, host: configuration.host, duration: configuration.lease,
            sealingKeys: sealer.fingerprints)
    }

    /// Milliseconds since 1970 by the server's clock, as far as it is known.
    private var now: Int64 {
        serverClock.map { $0.time + (ContinuousClock.now - $0.at).milliseconds } ?? clock.now()
    }

    /// Leases, then deliveries that are due, then one transaction for everything that waits. True if there was work.
    mutating func take(on connection: PostgresConnection) throws -> Bool {
        if try ContinuousClock.now >= nextRenewal || seesFreeLanes(on: connection) {
            try renew(on: connection)
        }
        guard !leases.epochs.isEmpty else {
            gauges.clear()
            return false
        }
        // Before anything is judged by it.
        if !owners.isEmpty {
            try OwnerSettingStore.note(owners, on: connection)
            owners = []
        }
        try lookForOutages(connection)
        try watchOver(connection)
        try tend { turn in try turn.operations.keep(now: turn.now, on: connection) }
        try tend { turn in
            try turn.lookout.take(
                lanes: turn.leases.owned, workers: turn.leases.workers, now: turn.now, on: connection)
        }
        // What is told before there is somebody to tell would be told to nobody, and noted as told.
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
    private mutating func tend(_ body: (inout LaneTurn) throws -> Void) throws {
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
        nextFreeLook = ContinuousClock.now + LaneTurn.freeLookInterval
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

    /// For the end: keeps the lanes that still have something in flight, and gives back the others for whoever comes.
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

    /// Whatever lanes are gone after the body, also if it fails half-way: their deliveries are somebody else's.
    private mutating func keepingTrack<Result>(_ body: (inout LaneTurn) throws -> Result) rethrows -> Result {
        let before = Set(leases.owned)
        defer {
            let lost = before.subtracting(leases.owned)
            floor.forget(lost)
            dropDeliveries(of: lost)
        }
        return try body(&self)
    }

    private func dropDeliveries(of lost: Set<Lane>) {
        guard !lost.isEmpty else { return }
        engine.drop(lost)
        logger.info("lanes lost", ["count": .int(Int64(lost.count))])
    }

    // MARK: - The transaction

    private mutating func work(on connection: PostgresConnection) throws -> Bool {
        let limit = carefulTurns > 0 ? 1 : LaneTurn.batchLimit
        let pending = try read(atMost: limit, on: connection)
        // A notification that makes transactions fail must not take anything else with it.
        let isAlone = carefulTurns > 0 && !pending.isEmpty
        let woken = isAlone ? [] : try dueWakes(on: connection)
        let results = isAlone ? [] : engine.takeResults(atMost: LaneTurn.resultLimit)
        carefulTurns = max(0, carefulTurns - 1)
        guard !pending.isEmpty || !results.isEmpty || !woken.isEmpty else { return false }
        do {
            try commit(preparer.prepare(pending), results, woken, on: connection)
            care.succeeded(pending.count)
        } catch {
            engine.giveBack(results)
            try wakeOneByOne(woken, after: error, on: connection)
            try recover(from: error, pending, isAlone: results.isEmpty && woken.isEmpty, on: connection)
        }
        return true
    }

    private mutating func read(atMost limit: Int, on connection: PostgresConnection) throws -> [PendingNotification] {
        let (lanes, isSweep, begun) = (leases.owned, floor.isSweepDue, ContinuousClock.now)
        let pending = try PendingNotification.read(
            from: lanes, starts: isSweep ? nil : floor.starts(of: lanes, now: now),
            eachAtMost: min(limit, LaneTurn.perLane), atMost: limit, except: stillPassedOver(), on: connection)
        if isSweep { floor.swept(in: ContinuousClock.now - begun) }
        return pending
    }

    private mutating func stillPassedOver() -> [Int64] {
        passedOver = passedOver.filter { $0.value > ContinuousClock.now }
        return Array(passedOver.keys)
    }

    /// One purchase that cannot be looked at must not keep the ends of all others from being told.
    private mutating func wakeOneByOne(
        _ woken: [PurchaseStore.DueWake], after error: any Error, on connection: PostgresConnection
    ) throws {
        guard BatchCare.fault(of: error) != .everybodys else { return }
        for wake in woken {
            do {
                try commit([], [], [wake], on: connection)
            } catch  where BatchCare.fault(of: error) != .everybodys {
                logger.error(
                    "a purchase whose time has come cannot be looked at; trying again in an hour",
                    [
                        "app": .string(wake.key.app),
                        "original_transaction_id": .string(wake.key.originalTransactionID),
                        "error": .string("\(error)"),
                    ])
                try PurchaseStore.wake([wake.key], at: now + LaneTurn.wakeRetry, on: connection)
            }
        }
    }

    /// Held notifications whose time has come, in a transaction of their own: what failed before must take nothing with
    /// it. Where several fail together, the next turns take them one by one.
    private mutating func retryHeld(on connection: PostgresConnection) throws -> Bool {
        let begun = ContinuousClock.now
        guard begun >= nextRetry else { return false }
        let limit = carefulRetries > 0 ? 1 : LaneTurn.retryLimit
        carefulRetries = max(0, carefulRetries - 1)
        var due: [PendingNotification] = []
        // A tenth of the time at most, however many are due.
        defer {
            let least = due.count < limit ? LaneTurn.retryInterval : .zero
            nextRetry = ContinuousClock.now + max(least, (ContinuousClock.now - begun) * 10)
        }
        due = try HeldNotifications.due(in: leases.owned, at: now, atMost: limit, on: connection)
        guard let first = due.first else { return false }
        do {
            try commit(preparer.prepare(due), [], [], on: connection)
        } catch  where BatchCare.fault(of: error) != .everybodys {
            if due.count > 1 {
                carefulRetries = due.count
            } else {
                try commit([.failed(first, error)], [], [], on: connection)
            }
        }
        return true
    }

    private mutating func dueWakes(on connection: PostgresConnection) throws -> [PurchaseStore.DueWake] {
        guard ContinuousClock.now >= nextWake else { return [] }
        nextWake = ContinuousClock.now + LaneTurn.wakeInterval
        return try PurchaseStore.due(in: leases.owned, at: now, atMost: LaneTurn.batchLimit, on: connection)
    }

    private mutating func commit(
        _ prepared: [PreparedNotification], _ results: [AttemptResult], _ woken: [PurchaseStore.DueWake],
        on connection: PostgresConnection
    ) throws {
        let lanes = Set(prepared.map(\.pending.lane) + results.map(\.delivery.id.lane) + woken.map(\.key.lane)).sorted()
        let begun = ContinuousClock.now
        var passedAt = begun
        var applied = Applier.Outcome()
        var decided: [Settler.Decided] = []
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
            let ours = prepared.filter { passed.lanes.contains($0.pending.lane) }
            func waiting(_ lanes: Set<Lane>) throws -> Set<Lane> {
                try PendingNotification.waiting(
                    in: lanes.sorted(), beside: ours.map(\.pending).filter { $0.held == nil }, on: connection)
            }
            let awake = woken.filter { passed.lanes.contains($0.key.lane) }
            let busy = try waiting(Set(awake.map(\.key.lane)))
            applied = try applier.apply(
                ours, woken: awake.filter { !busy.contains($0.key.lane) }, beliefs: outages.beliefs, now: passed.now,
                on: connection, waiting: waiting)
            if !prepared.isEmpty { FailPoint.applyBeforeCommit.pass() }
            return passed
        }
        if !prepared.isEmpty { FailPoint.applyAfterCommit.pass() }
        if !results.isEmpty { FailPoint.deliverAfterRecord.pass() }
        serverClock = (passed.now, passedAt)
        floor.note(
            removed: prepared.lazy.map(\.pending).filter { $0.held == nil && passed.lanes.contains($0.lane) })
        engine.forget(results.map(\.delivery.id))
        let lost = lanes.filter { !passed.lanes.contains($0) }
        metrics.count(.fencesLost, by: Double(lost.count))
        keepingTrack { $0.leases.forget(lost) }
        settler.report(decided)
        report(prepared.filter { passed.lanes.contains($0.pending.lane) }, ContinuousClock.now - begun)
        applied.unanswered.forEach(report)
        // At once: who asked for a pause gets nothing of what this turn made.
        engine.hold(decided.filter(\.changesEndpoint).map(\.endpoint))
        lookout.note(decided, now: passed.now)
        engine.add(released + applied.deliveries)
        if applied.forwarded > 0 { lookout.hurry() }
    }

    private func report(_ prepared: [PreparedNotification], _ duration: Duration) {
        guard !prepared.isEmpty else { return }
        metrics.observe(.applySeconds, duration)
        metrics.observe(.applyBatchSize, Double(prepared.count))
        var counts: [String: Int] = [:]
        for notification in prepared {
            let isRetry = notification.pending.held != nil
            var state = "applied"
            if case .held(let reason) = notification.content {
                state = "held"
                report(notification.pending, heldFor: reason)
            } else if isRetry {
                logger.info(
                    "a held notification is applied",
                    ["notification.uuid": .string(notification.pending.identity.uuid)])
            }
            if isRetry { metrics.count(.heldRetries, ["outcome": state]) }
            if !isRetry || state == "applied" { counts[state, default: 0] += 1 }
        }
        for (state, count) in counts { metrics.count(.notifications, ["state": state], by: Double(count)) }
    }

    private func report(_ pending: PendingNotification, heldFor reason: String) {
        let attempts = Int64(1 + (pending.held?.attempts ?? 0))
        logger.warning(
            "notification held",
            [
                "notification.uuid": .string(pending.identity.uuid), "reason": .string(reason),
                "attempts": .int(attempts),
            ])
    }

    private func report(_ request: RefundQuestion.Key) {
        logger.notice(
            "a consumption request got no answer in time",
            [
                "app": .string(request.purchase.app), "environment": .string(request.purchase.environment.rawValue),
                "transaction_id": .string(request.transactionID),
            ])
        metrics.count(.consumptionUnanswered, ["app": request.purchase.app])
    }

    private mutating func recover(
        from error: any Error, _ pending: [PendingNotification], isAlone: Bool, on connection: PostgresConnection
    ) throws {
        switch care.judge(error, pending: pending.map(\.seq), isAlone: isAlone) {
        case .again:
            throw error
        case .passOver:
            logger.warning("a notification took too long; the others go first", ["error": .string("\(error)")])
            for notification in pending {
                passedOver[notification.seq] = ContinuousClock.now + LaneTurn.passOverTime
            }
        case .oneByOne(let turns):
            logger.warning("a batch failed; taking it one by one", ["error": .string("\(error)")])
            carefulTurns = turns
        case .hold:
            try commit(pending.map { .failed($0, error) }, [], [], on: connection)
        }
    }

    // MARK: - The end

    /// Writes down the results of what was still in flight.
    mutating func settleRest(on connection: PostgresConnection) throws {
        while true {
            let results = engine.takeResults(atMost: LaneTurn.batchLimit)
            guard !results.isEmpty else { return }
            do {
                try commit([], results, [], on: connection)
            } catch {
                engine.giveBack(results)
                throw error
            }
        }
    }

    /// Says what is wrong, and what is still wrong every half minute; a database that is away is told by its session.
    mutating func failed(_ error: any Error) {
        if let error = error as? PostgresError, error.kind == .connection { return }
        let text = "\(error)"
        guard text != lastFailure.text || ContinuousClock.now - lastFailure.told > .seconds(30) else { return }
        lastFailure = (text, ContinuousClock.now)
        logger.error("a turn failed; trying again", ["error": .string(text)])
    }
}
