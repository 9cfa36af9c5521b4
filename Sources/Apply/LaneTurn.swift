import Base
import Deliver
import Postgres
import Queue
import Records
import Subscriptions
import Telemetry

/// What the owner of lanes does at each turn, and what it remembers between turns.
struct LaneTurn {
    private let configuration: LaneWorkerConfiguration
    private let preparer: NotificationPreparer
    private let applier: Applier
    private let settler: Settler
    private let engine: DeliveryEngine
    private let sealer: SecretSealer
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics

    private var leases: LaneLeases
    private var nextRenewal = ContinuousClock.now
    private var nextLook = ContinuousClock.now
    private var nextWake = ContinuousClock.now
    /// How much the server's clock is ahead of ours, in milliseconds.
    private var clockOffset: Int64 = 0
    /// Notifications taken one by one, because one of them makes the whole batch fail.
    private var carefulTurns = 0

    private var lastFailure = (text: "", told: ContinuousClock.now)

    private static let batchLimit = 256
    private static let perLane = 16
    private static let resultLimit = 512
    private static let lookInterval = Duration.milliseconds(200)
    private static let wakeInterval = Duration.milliseconds(500)

    init(
        configuration: LaneWorkerConfiguration, preparer: NotificationPreparer, applier: Applier, settler: Settler,
        engine: DeliveryEngine, sealer: SecretSealer, clock: any WallClock, logger: Logger, metrics: Metrics
    ) {
        self.configuration = configuration
        self.preparer = preparer
        self.applier = applier
        self.settler = settler
        self.engine = engine
        self.sealer = sealer
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        leases = LaneLeases(worker: configuration.worker, host: configuration.host, duration: configuration.lease)
    }

    private var now: Int64 { clock.now() + clockOffset }

    /// Leases, then deliveries that are due, then one transaction for everything that waits. True if there was work.
    mutating func take(on connection: PostgresConnection) throws -> Bool {
        if ContinuousClock.now >= nextRenewal {
            try renew(on: connection)
        }
        guard !leases.epochs.isEmpty else { return false }
        if ContinuousClock.now >= nextLook || engine.wantsMore {
            try look(on: connection)
        }
        return try work(on: connection)
    }

    // MARK: - Leases

    mutating func renew(on connection: PostgresConnection) throws {
        let change = try leases.maintain(on: connection)
        nextRenewal = ContinuousClock.now + leases.interval
        forget(change.lost)
        if !change.gained.isEmpty {
            logger.info("lanes gained", ["count": .int(Int64(change.gained.count))])
            nextLook = ContinuousClock.now
        }
        metrics.gauge("entitled_lanes_owned", "Lanes that this worker owns.", [:], Double(leases.epochs.count))
    }

    private mutating func forget(_ lanes: [Lane]) {
        guard !lanes.isEmpty else { return }
        leases.forget(lanes)
        engine.drop(Set(lanes))
        logger.info("lanes lost", ["count": .int(Int64(lanes.count))])
    }

    /// For the end: keeps the lanes that still have something in flight, and gives back the others for whoever comes.
    mutating func release(except busy: Set<Lane>, on connection: PostgresConnection) throws {
        forget(try leases.renew(on: connection))
        try leases.release(leases.owned.filter { !busy.contains($0) }, on: connection)
    }

    mutating func releaseAll(on connection: PostgresConnection) throws {
        try leases.releaseAll(on: connection)
    }

    // MARK: - Deliveries

    /// Endpoints as they are now, and what is due for them.
    private mutating func look(on connection: PostgresConnection) throws {
        nextLook = ContinuousClock.now + LaneTurn.lookInterval
        engine.update(try EndpointStore.load(sealer: sealer, now: now, on: connection))
        let room = engine.room(now: now)
        guard !room.isEmpty else { return }
        let due = try DeliveryStore.due(room: room, lanes: leases.owned, now: now, on: connection)
        engine.add(due.deliveries)
        engine.note(hasMore: due.hasMore, of: room.keys)
    }

    // MARK: - The transaction

    private mutating func work(on connection: PostgresConnection) throws -> Bool {
        let limit = carefulTurns > 0 ? 1 : LaneTurn.batchLimit
        let pending = try PendingNotification.read(
            from: leases.owned, eachAtMost: min(limit, LaneTurn.perLane), atMost: limit, on: connection)
        // A notification that makes transactions fail must not take results with it.
        let results = carefulTurns > 0 && !pending.isEmpty ? [] : engine.takeResults(atMost: LaneTurn.resultLimit)
        let woken = try dueWakes(pending.isEmpty, on: connection)
        carefulTurns = max(0, carefulTurns - 1)
        guard !pending.isEmpty || !results.isEmpty || !woken.isEmpty else { return false }
        do {
            try commit(preparer.prepare(pending), results, woken, on: connection)
        } catch {
            engine.giveBack(results)
            try recover(from: error, pending, on: connection)
        }
        return true
    }

    private mutating func dueWakes(_ isQuiet: Bool, on connection: PostgresConnection) throws -> [PurchaseKey] {
        guard carefulTurns == 0, ContinuousClock.now >= nextWake else { return [] }
        nextWake = ContinuousClock.now + LaneTurn.wakeInterval
        return try PurchaseStore.due(in: leases.owned, at: now, atMost: LaneTurn.batchLimit, on: connection)
    }

    private mutating func commit(
        _ prepared: [PreparedNotification], _ results: [AttemptResult], _ woken: [PurchaseKey],
        on connection: PostgresConnection
    ) throws {
        let decided = settler.decide(results, now: now)
        try settler.changeEndpoints(decided, now: now, on: connection)
        let lanes = Set(prepared.map(\.pending.lane) + results.map(\.delivery.id.lane) + woken.map(\.lane)).sorted()
        let begun = ContinuousClock.now
        var lost: [Lane] = []
        var deliveries: [DueDelivery] = []
        let passed = try connection.transaction {
            let passed = try Fence.pass(lanes, leases: leases, on: connection)
            lost = lanes.filter { !passed.lanes.contains($0) }
            let ours = zip(results, decided).filter { passed.lanes.contains($0.0.delivery.id.lane) }.map(\.1)
            try settler.settle(ours, now: passed.now, on: connection)
            deliveries = try applier.apply(
                prepared.filter { passed.lanes.contains($0.pending.lane) },
                woken: woken.filter { passed.lanes.contains($0.lane) }, now: passed.now, on: connection)
            return passed
        }
        clockOffset = passed.now - clock.now()
        engine.forget(results.map(\.delivery.id))
        forget(lost)
        engine.add(deliveries)
        settler.report(decided)
        report(prepared, ContinuousClock.now - begun)
    }

    private func report(_ prepared: [PreparedNotification], _ duration: Duration) {
        guard !prepared.isEmpty else { return }
        metrics.observe("entitled_apply_seconds", "One transaction of a worker.", [:], duration)
        for notification in prepared {
            switch notification.content {
            case .held(let reason):
                metrics.count(
                    "entitled_notifications_total", "Notifications, by what became of them.", ["state": "held"])
                logger.warning(
                    "notification held",
                    ["notification.uuid": .string(notification.pending.identity.uuid), "reason": .string(reason)])
            case .facts, .nothing:
                metrics.count(
                    "entitled_notifications_total", "Notifications, by what became of them.", ["state": "applied"])
            }
        }
    }

    /// Faults of the database are everybody's and pass; any other is a notification's own. A batch is then taken one
    /// by one, and the one that fails alone is held with the reason, so that it blocks nobody.
    private mutating func recover(
        from error: any Error, _ pending: [PendingNotification], on connection: PostgresConnection
    ) throws {
        if let error = error as? PostgresError, error.isRetryable || error.kind == .connection { throw error }
        guard let only = pending.first else { throw error }
        guard pending.count == 1 else {
            logger.warning("a batch failed; taking it one by one", ["error": .string("\(error)")])
            carefulTurns = pending.count
            return
        }
        let held = PreparedNotification(pending: only, content: .held("could not be applied: \(error)"))
        try commit([held], [], [], on: connection)
    }

    // MARK: - The end

    /// Writes down the results of what was still in flight.
    mutating func settleRest(on connection: PostgresConnection) throws {
        while true {
            let results = engine.takeResults(atMost: LaneTurn.batchLimit)
            guard !results.isEmpty else { return }
            try commit([], results, [], on: connection)
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
