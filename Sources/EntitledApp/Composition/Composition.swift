import AppStore
import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Foundation
import HTTP
import Ingest
import Postgres
import Schemas
import Subscriptions
import Worker

/// The services of a process, made from the configuration.
struct Composition {
    let configuration: Configuration
    let database: DatabaseAccess
    let logger: Logger
    let metrics: Metrics
    /// Nil where it is off.
    let revocation: RevocationServices?
    /// Not opened before a role asks for it.
    let apple: AppleAccesses
    /// Told what no waiting mends; ends the process.
    let refused: @Sendable (String) -> Void
    private let clock: any WallClock = SystemClock()

    /// A listener with what works behind it, in the order in which they drain, and what keeps it from being ready.
    struct Part {
        let services: [any Service]
        let notReady: @Sendable () -> [String]
        /// What SIGHUP reads again, if anything.
        var reloading: ReloadingListener?
    }

    // MARK: - ingest

    func ingest() throws -> Part {
        let database = database
        let (logger, refused) = (logger, refused)
        let first = try database.session(.ingest, logger: logger, refused: refused)
        let committer = NotificationCommitter(
            session: { first },
            sequence: { SequenceGenerator(clock: SystemClock(), node: UInt16.random(in: 0...UInt16.max)) },
            clock: clock, logger: logger, metrics: metrics)
        let handler = IngestHandler(
            apps: configuration.appRegistry, verifier: try verifier(revocation?.policyAtTheDoor), committer: committer,
            dictionaries: HeaderDictionaries(), logger: logger, metrics: metrics)
        let settings = configuration.ingest
        let identity = try identity(settings.tls)
        let server = HTTPServer(
            HTTPServerConfiguration(
                role: "ingest", listen: settings.listen.description, maxBodyBytes: settings.maxBodyBytes,
                headerTimeout: settings.headerTimeout, bodyTimeout: settings.bodyTimeout,
                idleTimeout: settings.idleTimeout, maxConnections: settings.maxConnections,
                maxConnectionsPerAddress: settings.maxConnectionsPerAddress, identity: identity),
            handler: handler, logger: logger, metrics: metrics)
        let listener = settings.tls.map {
            ReloadingListener(server: server, files: $0, logger: logger, metrics: metrics)
        }
        return Part(
            services: [server, committer], notReady: { committer.isReady ? [] : ["the database is away"] },
            reloading: listener)
    }

    private func identity(_ files: TLSFiles?) throws -> TLSIdentity? {
        guard let files else { return nil }
        do {
            let identity = try files.identity()
            ReloadingListener.tell("certificate loaded", identity, logger, metrics)
            return identity
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    // MARK: - worker

    func worker() throws -> Part {
        let configuration = configuration
        let session = try database.session(
            .worker, logger: logger,
            check: { connection in try SealingKeys.begin(configuration, on: connection) }, refused: refused)
        let client = try httpClient(logger)
        let (clock, metrics, timeout) = (clock, metrics, configuration.webhooks.timeout)
        let limits = SendLimits(
            perEndpoint: configuration.webhooks.maxInFlightPerEndpoint, total: configuration.webhooks.maxInFlight)
        let id = SecureRandom.bytes(16)
        let history = HistoryServices(
            configuration, verifier: try verifier(revocation?.policyAtTheDoor), apple: apple)
        let worker = LaneWorker(
            configuration: LaneWorkerConfiguration(
                worker: id, host: ProcessInfo.processInfo.hostName,
                lease: configuration.worker.lease, expiryPatience: configuration.worker.expiryPatience,
                drainTimeout: configuration.drainTimeout, foldSettings: configuration.foldSettings,
                bodies: configuration.eventBodies, document: configuration.subscriberDocument,
                health: configuration.healthPolicy,
                operationsURL: configuration.webhooks.operationsURL,
                reconciliation: history.reconciliation.map {
                    LaneWorkerConfiguration.Reconciliation(
                        places: $0.places, interval: $0.interval,
                        asksStatuses: configuration.reconcile.statusCallsPerHour > 0)
                },
                bundleIDs: Dictionary(configuration.apps.map { ($0.id, $0.bundleID) }) { first, _ in first },
                ownerWaits: Dictionary(configuration.apps.map { ($0.id, $0.ownerWait) }) { first, _ in first },
                owners: configuration.ownerSettings),
            session: session, foldSession: try database.session(.worker, logger: logger, refused: refused),
            verifier: try verifier(revocation?.policyInside),
            settler: AttemptRecorder(
                policy: DeliveryRetryPolicy(schedule: configuration.webhooks.retrySchedule),
                log: AttemptLog(
                    sender: AttemptSender(worker: id, host: ProcessInfo.processInfo.hostName),
                    keepsResponses: configuration.webhooks.keepResponseBodies), logger: logger, metrics: metrics),
            keys: SealingKeys.reader(configuration, logger: logger),
            engine: { ring in
                DeliveryEngine(
                    client: client, limits: limits, timeout: timeout, clock: clock, metrics: metrics, onResult: ring)
            },
            clock: clock, logger: logger, metrics: metrics)
        let services: [any Service] =
            [HTTPClientService(client: client)] + (try duties(of: id, history)) + [history.transports, worker]
        return Part(services: services) {
            worker.isReady ? [] : ["the database is away"]
        }
    }

    /// What the worker does beside its lanes while it is the leader, in the order in which it drains.
    private func duties(of worker: [UInt8], _ history: HistoryServices) throws -> [any Service] {
        let leadership = Leadership(worker: worker, lease: configuration.worker.lease)
        func service(_ duty: sending some Duty) throws -> any Service {
            DutyService(
                duty, session: try database.session(.worker, logger: logger, refused: refused), leadership: leadership,
                logger: logger)
        }
        let retention = RetentionRound(
            times: configuration.retentionTimes, clock: clock, logger: logger, metrics: metrics)
        let reconciliation = history.reconciliationDuty(clock: clock, logger: logger, metrics: metrics)
        let refunds = refundDuty(history.accesses, history.cancellation)
        return [
            try service(RetentionDuty(retention)),
            try reconciliation.map { try service($0) },
            try service(JobDuty(worker: worker, kinds: [WebhookReplayWork.kind, history.jobs], logger: logger)),
            try service(DeletionDuty(sweep: CustomerErasure(foldSettings: configuration.foldSettings))),
            try refunds.map { try service($0) },
        ].compactMap { $0 }
    }

    private func httpClient(_ logger: Logger) throws -> HTTPClient {
        let webhooks = configuration.webhooks
        var settings = HTTPClientConfiguration(
            allowedNetworks: webhooks.allowPrivateNetworks.compactMap(Network.init(parsing:)),
            maxConnections: webhooks.maxInFlight)
        settings.proxy = webhooks.proxy.flatMap { ProxyServer(parsing: $0.exposed) }
        settings.offersHTTP2 = webhooks.http2
        return try HTTPClient(configuration: settings, logger: logger, metrics: metrics)
    }

    // MARK: - api, admin

    func api() throws -> Part {
        try APIServices(
            configuration: configuration, database: database, verifier: try verifier(revocation?.policyAtTheDoor),
            apple: apple, logger: logger, metrics: metrics, refused: refused
        ).part()
    }

    /// The listener for those who watch over the process.
    func admin(_ parts: [Part]) -> HTTPServer {
        metrics.gauge(
            .buildInfo, 1,
            [
                "version": Version.current, "revision": BuildIdentity.revision ?? "", "build": BuildIdentity.id ?? "",
            ])
        let conditions = parts.map(\.notReady)
        return HTTPServer(
            HTTPServerConfiguration(role: "admin", listen: configuration.admin.listen.description),
            handler: AdminEndpoints(metrics: metrics, notReady: { conditions.flatMap { $0() } }), logger: logger,
            metrics: metrics)
    }

    private func verifier(_ revocation: RevocationPolicy?) throws -> SignedDataVerifier {
        SignedDataVerifier(trust: try configuration.trustAnchors(), revocation: revocation)
    }
}

extension Configuration {
    func trustAnchors() throws -> TrustAnchors {
        TrustAnchors(
            fingerprints: trust.rootSHA256, certificates: try trust.rootCertificates.map(Configuration.certificate))
    }

    /// Those of app receipts.
    func receiptAnchors() throws -> TrustAnchors {
        TrustAnchors(
            fingerprints: trust.receiptRootSHA256,
            certificates: try trust.rootCertificates.map(Configuration.certificate))
    }

    private static func certificate(_ der: [UInt8]) throws -> Certificate {
        guard let certificate = Certificate(der: der) else {
            throw CommandFailure("trust.root_files: a certificate cannot be read")
        }
        return certificate
    }

    var retentionTimes: RetentionTimes {
        RetentionTimes(
            notifications: retention.notifications, attempts: retention.attempts, events: retention.events,
            emptyCustomers: retention.emptyCustomers == .zero ? nil : retention.emptyCustomers)
    }

    var healthPolicy: HealthPolicy { HealthPolicy(disableAfter: webhooks.disableAfter) }

    /// Customers as apps, backends and consumers get them.
    var subscriberDocument: SubscriberDocument {
        SubscriberDocument(catalogue: catalogue, sandboxRule: sandboxRule)
    }

    var eventBodies: EventBody {
        EventBody(
            catalogue: catalogue, rates: DollarRates(millionths: webhooks.usdRates),
            terms: SellerTerms(
                commissions: Dictionary(apps.map { ($0.id, $0.commission) }) { first, _ in first }, taxes: reports.tax))
    }

    var catalogue: EntitlementCatalogue { EntitlementCatalogue(entitlements) }

    /// What decides about the owners of purchases, of each app and environment.
    var ownerSettings: [OwnerSettingTable.Current] {
        apps.flatMap { app in
            app.environments.map { environment in
                OwnerSettingTable.Current(
                    place: AppScope(app: app.id, environment: environment),
                    behavior: restoreSettings.behavior(app: app.id, environment: environment, override: nil),
                    usesTokens: app.accountTokens == .appUserIDs)
            }
        }
    }

    /// What becomes of purchases that others restore, by app and environment.
    var restoreSettings: RestoreSettings {
        RestoreSettings(
            general: restoreBehavior,
            apps: Dictionary(
                apps.map {
                    ($0.id, .init(behavior: $0.restoreBehavior, sandboxBehavior: $0.sandboxRestoreBehavior))
                }
            ) { first, _ in first })
    }

    var sandboxRule: SandboxRule {
        switch entitlementsFromSandbox {
        case .all: .all
        case .none: .none
        case .customers(let ids): .customers(Set(ids))
        }
    }
}

/// The outgoing side as a service: it starts before the worker that uses it, and the worker stops it.
private struct HTTPClientService: Service {
    let name = "http-client"
    let client: HTTPClient

    func start() { client.start() }
    func drain(until deadline: ContinuousClock.Instant) {}
}
