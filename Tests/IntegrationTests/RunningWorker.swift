import AppStore
import Base
import Crypto
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import Subscriptions
import TestSupport
import Worker

/// A worker with its sender, and a brake that stops its thread in the middle of a turn.
final class RunningWorker: Sendable {
    private let role: WorkerRole
    private let drainTimeout: Duration
    let log = LogTape()
    let metrics = Metrics()
    /// Closed, the thread of the worker stands still at its next look at the clock.
    let brake: Gate
    let id = SecureRandom.bytes(16)

    /// A clock with the brake.
    private struct BrakedClock: WallClock {
        let brake: Gate
        let clock: any WallClock

        func now() -> Int64 {
            brake.pass()
            return clock.now()
        }
    }

    init(
        _ installation: Installation, lease: Duration = .seconds(10), drainTimeout: Duration = .seconds(5),
        schedule: [Duration] = [.seconds(3600)], timeout: Duration = .seconds(20),
        verifier: SignedDataVerifier? = nil, limits: SendLimits = SendLimits(), disableAfter: Duration? = nil,
        operationsURL: String? = nil, foldSettings: FoldSettings = FoldSettings(defaultGrace: .seconds(3 * 86_400)),
        reconciliation: LaneWorkerConfiguration.Reconciliation? = nil, ownerWait: OwnerWait.Setting? = nil,
        clock: any WallClock = SystemClock()
    ) throws {
        let brake = Gate()
        brake.open()
        self.brake = brake
        self.drainTimeout = drainTimeout
        let target = installation.database.target(role: "entitled_worker")
        let process = ProcessContext(
            clock: BrakedClock(brake: brake, clock: clock), logger: log.logger, metrics: metrics
        ) { prepare in
            PostgresSession(target, backOff: .milliseconds(20)...Duration.milliseconds(100), prepare: prepare)
        }
        let lanes = LaneWorkerConfiguration(
            worker: id, host: "test", lease: lease, expiryPatience: .seconds(86_400), drainTimeout: drainTimeout,
            foldSettings: foldSettings, bodies: EventBody(catalogue: installation.catalogue),
            document: SubscriberDocument(catalogue: installation.catalogue),
            health: HealthPolicy(disableAfter: disableAfter), operationsURL: operationsURL,
            reconciliation: reconciliation,
            bundleIDs: [Installation.registered.id: Installation.registered.bundleID],
            ownerWaits: ownerWait.map { [Installation.registered.id: $0] } ?? [:])
        let networks = ["127.0.0.0/8"].compactMap { Network(parsing: $0) }
        role = try WorkerRole(
            WorkerSettings(
                lanes: lanes, client: HTTPClientConfiguration(allowedNetworks: networks), limits: limits,
                timeout: timeout, retries: DeliveryRetryPolicy(schedule: schedule)), process,
            verifier: verifier ?? installation.verifier, keys: { [sealer = installation.sealer] in sealer },
            grouping: LaneGrouping(installation.groups))
        for service in role.services { try service.start() }
    }

    /// The orderly end.
    func stop() {
        brake.open()
        for service in role.services { service.drain(until: .now + drainTimeout + .seconds(5)) }
    }
}
