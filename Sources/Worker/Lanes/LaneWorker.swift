import AppStore
import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// The owner of lanes: applies what waits in them, writes down what came of deliveries, notices that time has passed.
///
/// One thread and one connection do all of it in turn, so that nothing in a lane is ever done twice at once. Whatever
/// it writes passes the fence first.
package final class LaneWorker: Service {
    package let name = "worker"

    private let isThrough = Monitor(false)
    private let loop = Loop("worker")
    private let configuration: LaneWorkerConfiguration
    private let session: PostgresSession
    private let folder: PurchaseFolder
    private let preparer: NotificationDecoder
    private let applier: Applier
    private let settler: AttemptRecorder
    private let engine: @Sendable (@escaping @Sendable () -> Void) -> DeliveryEngine
    private let keys: @Sendable () -> SecretSealer
    private let grouping: LaneGrouping
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics
    private let tracer: Tracer

    /// - Parameters:
    ///   - session: for the lanes.
    ///   - foldSession: for folding what is too much for a turn.
    ///   - keys: reads the sealing keys of this host; none where it has none.
    ///   - engine: makes the sender; it gets the bell that it rings when a result is there.
    ///   - grouping: which lanes lie together.
    package init(
        configuration: LaneWorkerConfiguration, session: PostgresSession, foldSession: PostgresSession,
        verifier: SignedDataVerifier,
        settler: AttemptRecorder, keys: @escaping @Sendable () -> SecretSealer,
        engine: @escaping @Sendable (@escaping @Sendable () -> Void) -> DeliveryEngine, grouping: LaneGrouping,
        clock: any WallClock, logger: Logger, metrics: Metrics, tracer: Tracer = .off
    ) {
        self.grouping = grouping
        self.configuration = configuration
        self.session = session
        folder = PurchaseFolder(session: foldSession, logger: logger, metrics: metrics)
        preparer = NotificationDecoder(
            verifier: verifier, dictionaries: HeaderDictionaries(), bundleIDs: configuration.bundleIDs)
        applier = Applier(
            foldSettings: configuration.foldSettings, bodies: configuration.bodies,
            asked: configuration.reconciliation.map { $0.asksStatuses ? $0.places : [] } ?? [],
            waits: OwnerWait(
                settings: configuration.ownerWaits,
                ignoresTokens: Set(configuration.owners.filter { !$0.usesTokens }.map(\.place.app)),
                foldSettings: configuration.foldSettings))
        self.settler = settler
        self.keys = keys
        self.engine = engine
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        self.tracer = tracer
    }

    /// Leases are renewed more often.
    private static let slow = Duration.seconds(5)

    /// Whether the last turn went through, and the one that is under way waits for no answer.
    package var isReady: Bool { isThrough.read { $0 } && !session.isBusy(longerThan: LaneWorker.slow) }

    package func start() {
        folder.start()
        loop.start { [self] loop in run(loop) }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        loop.drain(until: deadline)
    }

    /// There may be something to do.
    package func ring() {
        loop.wake()
    }

    // MARK: - The loop

    private static let shortestRest = Duration.milliseconds(2)
    private static let longestRest = Duration.milliseconds(40)

    /// A turn that finds nothing asks each group of lanes, and each question costs the coordinator of a cluster as much as one Postgres
    /// needs for ten: many groups are asked less often.
    private var longestRest: Duration { LaneWorker.longestRest * min(5, grouping.known?.count ?? 1) }

    private func run(_ loop: Loop) {
        let engine = engine { [self] in ring() }
        var turn = LaneCycle(
            configuration: configuration, preparer: preparer, applier: applier, settler: settler, engine: engine,
            folder: folder, keys: keys, grouping: grouping, clock: clock, logger: logger, metrics: metrics,
            tracer: tracer)
        var rest = LaneWorker.shortestRest
        loop.run {
            let wasBusy = take(&turn)
            rest = wasBusy ? LaneWorker.shortestRest : min(rest * 1.5, longestRest)
            return .after(rest)
        }
        finish(&turn, engine)
    }

    /// One turn; true if there was something to do.
    private func take(_ turn: inout LaneCycle) -> Bool {
        do {
            let wasBusy = try session.withConnection { connection in try turn.take(on: connection) }
            let isStopped = turn.isStopped
            isThrough.change { $0 = !isStopped }
            return wasBusy
        } catch {
            isThrough.change { $0 = false }
            turn.failed(error)
            return false
        }
    }

    /// The orderly end: nothing new is begun, what is in flight ends, results are written down, lanes are given back.
    private func finish(_ turn: inout LaneCycle, _ engine: DeliveryEngine) {
        let deadline = ContinuousClock.now + configuration.drainTimeout * 0.7
        engine.close()
        while engine.inFlight > 0, ContinuousClock.now < deadline {
            letGo { connection in
                try turn.settleRest(on: connection)
                try turn.release(except: engine.busyLanes, on: connection)
            }
            loop.pause(configuration.lease * 0.2)
        }
        engine.cut()
        folder.stop()
        letGo { connection in
            try turn.settleRest(on: connection)
            try turn.releaseAll(on: connection)
        }
        session.close()
    }

    /// What fails here costs time only: leases end by themselves, and webhooks are sent again.
    private func letGo(_ body: (PostgresConnection) throws -> Void) {
        do {
            try session.withConnection(body)
        } catch {
            logger.warning("lane release failed", ["error": .string("\(error)")])
        }
    }
}

/// What a worker of lanes needs to know.
package struct LaneWorkerConfiguration: Sendable {
    package var worker: [UInt8]
    package var host: String
    package var lease: Duration
    package var expiryPatience: Duration
    package var drainTimeout: Duration
    /// How long grace lasts where Apple says that there is some and gives no end.
    package var foldSettings: FoldSettings
    package var bodies: EventBody
    /// Writes the customers that are sent with events.
    package var document: SubscriberDocument
    /// When endpoints that fail are disabled.
    package var health: HealthPolicy
    /// Where operators are told of such things; vetted at every attempt.
    package var operationsURL: String?
    /// Nil where reconciliation is off.
    package var reconciliation: Reconciliation?
    /// Of the apps, by their ids: what is stored under one of them has to be signed for it.
    package var bundleIDs: [String: String]
    /// How long first events wait for the names of buyers, by the ids of apps.
    package var ownerWaits: [String: OwnerWait.Setting]
    /// What decides about the owners of purchases; written down when the worker begins.
    package var owners: [OwnerSettingTable.Current]

    /// Looks into Apple's history, and questions, as far as ends have to do with them.
    package struct Reconciliation: Sendable {
        /// Those with a key.
        package let places: Set<AppScope>
        package let interval: Duration
        /// Whether Apple is asked too how purchases stand of which news is missing.
        package let asksStatuses: Bool

        package init(places: Set<AppScope>, interval: Duration, asksStatuses: Bool = true) {
            self.places = places
            self.interval = interval
            self.asksStatuses = asksStatuses
        }
    }

    package init(
        worker: [UInt8], host: String, lease: Duration, expiryPatience: Duration, drainTimeout: Duration,
        foldSettings: FoldSettings, bodies: EventBody, document: SubscriberDocument,
        health: HealthPolicy = HealthPolicy(disableAfter: nil),
        operationsURL: String? = nil, reconciliation: Reconciliation? = nil, bundleIDs: [String: String] = [:],
        ownerWaits: [String: OwnerWait.Setting] = [:], owners: [OwnerSettingTable.Current] = []
    ) {
        self.worker = worker
        self.host = host
        self.lease = lease
        self.expiryPatience = expiryPatience
        self.drainTimeout = drainTimeout
        self.foldSettings = foldSettings
        self.bodies = bodies
        self.document = document
        self.health = health
        self.operationsURL = operationsURL
        self.reconciliation = reconciliation
        self.bundleIDs = bundleIDs
        self.ownerWaits = ownerWaits
        self.owners = owners
    }
}
