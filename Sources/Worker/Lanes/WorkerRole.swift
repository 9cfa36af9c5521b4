import AppStore
import Base
import Daemon
import Database
import HTTP
import Postgres
import Subscriptions

/// What the worker role needs to know.
package struct WorkerSettings: Sendable {
    package var lanes: LaneWorkerConfiguration
    /// Of the client that sends webhooks.
    package var client: HTTPClientConfiguration
    package var limits = SendLimits()
    /// Of one attempt.
    package var timeout: Duration
    /// Waits before further attempts.
    package var retries: DeliveryRetryPolicy
    package var keepsResponses: Bool

    package init(
        lanes: LaneWorkerConfiguration, client: HTTPClientConfiguration, limits: SendLimits = SendLimits(),
        timeout: Duration = .seconds(20), retries: DeliveryRetryPolicy, keepsResponses: Bool = true
    ) {
        self.lanes = lanes
        self.client = client
        self.limits = limits
        self.timeout = timeout
        self.retries = retries
        self.keepsResponses = keepsResponses
    }
}

/// The owner of lanes with its sender; the program and the tests make it the same way.
package struct WorkerRole: Sendable {
    package let worker: LaneWorker
    /// The outgoing side. It drains at once, so it stands before all others: each service that drains later leaves less
    /// time to those before it.
    package let sender: any Service

    /// - Parameters:
    ///   - verifier: what decides about what was admitted and is read again.
    ///   - keys: reads the sealing keys of this host; none where it has none.
    ///   - grouping: which lanes lie together.
    ///   - prepare: runs on each new connection of the lanes.
    package init(
        _ settings: WorkerSettings, _ process: ProcessContext, verifier: SignedDataVerifier,
        keys: @escaping @Sendable () -> SecretSealer, grouping: LaneGrouping = LaneGrouping(),
        prepare: @escaping @Sendable (PostgresConnection) throws -> Void = { _ in }
    ) throws {
        let client = try HTTPClient(
            configuration: settings.client, logger: process.logger, metrics: process.metrics)
        let (clock, metrics, tracer) = (process.clock, process.metrics, process.tracer)
        sender = Sender(client: client)
        WorkerRole.begin(metrics)
        worker = LaneWorker(
            configuration: settings.lanes,
            session: try process.session(
                patience: WorkerRole.patience(lease: settings.lanes.lease, grouping)
            ) { connection in
                try WorkerRole.bound(connection, grouping, lease: settings.lanes.lease)
                try prepare(connection)
            },
            foldSession: try process.session(patience: WorkerRole.longestStatement),
            verifier: verifier,
            settler: AttemptRecorder(
                policy: settings.retries,
                log: AttemptLog(
                    sender: AttemptSender(worker: settings.lanes.worker, host: settings.lanes.host),
                    keepsResponses: settings.keepsResponses), logger: process.logger, metrics: metrics),
            keys: keys,
            engine: { ring in
                DeliveryEngine(
                    client: client, limits: settings.limits, timeout: settings.timeout,
                    secretTrust: EndpointSecrets.trust, clock: clock, metrics: metrics, tracer: tracer, onResult: ring)
            },
            grouping: grouping, clock: clock, logger: process.logger, metrics: metrics, tracer: tracer)
    }

    /// Where lanes lie in several groups, a server that does not answer must not keep the lanes of the others waiting until their
    /// leases are over.
    private static func bound(_ connection: PostgresConnection, _ grouping: LaneGrouping, lease: Duration) throws {
        guard try !grouping.groups(on: connection).isOne else { return }
        let timeout = "\(longestAnswer(lease: lease).milliseconds)ms"
        try connection.query("SELECT set_config('statement_timeout', $1, false)", [.text(timeout)])
    }

    /// Of a server of a cluster.
    private static func longestAnswer(lease: Duration) -> Duration { max(.milliseconds(500), lease / 4) }

    /// What alarms and dashboards read is there before the first of its kind happens.
    private static func begin(_ metrics: Metrics) {
        for metric in [Metric.laneTakeovers, .fencesLost, .foldsMended] { metrics.begin(metric) }
        for state in ["applied", "held"] {
            metrics.begin(.notifications, ["state": state])
            metrics.begin(.heldRetries, ["outcome": state])
        }
        for code in AttemptOutcome.codes { metrics.begin(.webhookAttempts, ["outcome": code]) }
        for kind in OperationsEvent.Kind.allCases where kind != .test {
            metrics.begin(.endpointNotices, ["type": kind.rawValue])
        }
        for type in EventType.allCases { metrics.begin(.events, ["type": type.rawValue, "reason": ""]) }
        for reason in EventReason.allCases {
            metrics.begin(.events, ["type": EventType.cancellation.rawValue, "reason": reason.rawValue])
            metrics.begin(.events, ["type": EventType.expiration.rawValue, "reason": reason.rawValue])
        }
        // What the first look measures is not there before it: 0 would hide what waits.
        for metric in [Metric.lanesInTrouble, .endpointsUnreadable, .databaseReturnPending] {
            metrics.beginGauge(metric)
        }
        metrics.beginHistogram(.applySeconds)
    }

    /// Longer than the statement timeout of the role.
    package static let longestStatement = Duration.seconds(65)

    /// How long a lane's statement may stay unanswered: longer than one that is bounded by the lease takes; without
    /// progress for so long the lanes are lost anyway.
    ///
    /// The coordinator of a cluster that cancels a statement waits for the server to say so, which one that hangs does not: then the
    /// connection has to go before the leases of the others' lanes are over, but not before the time limits of `Fence.pass`.
    static func patience(lease: Duration, _ grouping: LaneGrouping) -> Duration {
        grouping.known?.isOne ?? true
            ? min(max(.seconds(5), lease * 2), longestStatement) : Fence.limit(lease: lease) + .seconds(1)
    }

    /// In the order in which they start and drain; services of the process that drain before the worker go between them.
    package var services: [any Service] { [sender, worker] }

    package func unreadyReasons() -> [String] { worker.isReady ? [] : ["the database is unavailable"] }

    /// The outgoing side as a service: it starts before the worker that uses it, and the worker stops it.
    private struct Sender: Service {
        let name = "http-client"
        let client: HTTPClient

        func start() { client.start() }
        func drain(until deadline: ContinuousClock.Instant) {}
    }
}
