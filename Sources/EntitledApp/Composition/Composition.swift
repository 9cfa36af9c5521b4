import API
import AppStore
import AppStoreAPI
import Base
import Console
import Crypto
import Customers
import Daemon
import Database
import Duties
import Foundation
import HTTP
import Ingest
import Operator
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
    let tracer: Tracer
    /// Nil where it is off.
    let revocation: RevocationServices?
    /// Not opened before a role asks for it.
    let apple: AppleAccesses
    /// How far the database was seen to be.
    let watch: PositionWatch
    /// Of all connections of this process to the primary, which tell each other where it is.
    let sessionWatch: SessionWatch
    /// Told what no waiting mends; ends the process.
    let refused: @Sendable (String) -> Void
    private let clock: any WallClock = SystemClock()

    /// What a process does; `entitled run` does all of it.
    enum Role: String, Sendable, CaseIterable {
        case ingest, worker, api, console
    }

    /// A role as the configuration makes it.
    ///
    /// - Parameter isOptional: whether the process does without it.
    func parts(of role: Role, isOptional: Bool) throws -> RoleParts {
        switch role {
        case .ingest: try ingest()
        case .worker: try worker()
        case .api: try api()
        case .console: isOptional ? try optionalConsole() : try console()
        }
    }

    // MARK: - ingest

    func ingest() throws -> RoleParts {
        let settings = configuration.ingest
        let role = try IngestRole(
            apps: configuration.appRegistry, process(.ingest), verifier: try verifier(revocation?.policyOfAdmission),
            commitTimeout: settings.commitTimeout)
        var listening = HTTPServerConfiguration(
            role: "ingest", listen: settings.listen.description, maxBodyBytes: settings.maxBodyBytes,
            headerTimeout: settings.headerTimeout, bodyTimeout: settings.bodyTimeout,
            idleTimeout: settings.idleTimeout, maxConnections: settings.maxConnections,
            maxConnectionsPerAddress: settings.maxConnectionsPerAddress, identity: try identity(settings.tls))
        listening.answerTimeout = settings.commitTimeout
        return RoleParts(
            listening: RoleParts.Listening(settings: listening, handler: role.handler),
            services: role.services + [try register(.ingest, process(.ingest))], notReady: role.unreadyReasons)
    }

    private func process(_ role: DatabaseRole) -> ProcessContext {
        ProcessContext(clock: clock, logger: logger, metrics: metrics, tracer: tracer, watch: sessionWatch) {
            [database, logger, refused] prepare in
            try database.session(role, logger: logger, check: prepare, refused: refused)
        }
    }

    /// What says in the database by which configuration the role works.
    private func register(
        _ role: Role, _ process: ProcessContext, id: [UInt8] = SecureRandom.bytes(16)
    ) throws -> any Service {
        ProcessRegister(
            id, role: role.rawValue, version: Version.current,
            configuration: ConfigurationKeys.digest(of: configuration),
            cleans: role == .worker, session: try process.session(patience: DatabaseProbe.patience), clock: clock,
            logger: logger)
    }

    private func identity(_ files: TLSFiles?) throws -> TLSIdentity? {
        guard let files else { return nil }
        do {
            return try files.identity()
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    // MARK: - worker

    func worker() throws -> RoleParts {
        let configuration = configuration
        let id = SecureRandom.bytes(16)
        let history = HistoryServices(
            configuration, verifier: try verifier(revocation?.policyOfAdmission), apple: apple)
        let role = try WorkerRole(
            configuration.workerSettings(id: id, history), process(.worker),
            verifier: try verifier(revocation?.policyInside), keys: SealingKeys.reader(configuration, logger: logger),
            prepare: { connection in try SealingKeys.begin(configuration, on: connection) })
        let services =
            [role.sender] + (try duties(of: id, history))
            + [history.transports, role.worker, try register(.worker, process(.worker), id: id)]
        return RoleParts(services: services, notReady: role.unreadyReasons)
    }

    /// What the worker does beside its lanes while it is the leader, in the order in which it drains.
    private func duties(of worker: [UInt8], _ history: HistoryServices) throws -> [any Service] {
        let leadership = Leadership(worker: worker, lease: configuration.worker.lease)
        let process = process(.worker)
        func service(_ duty: sending some Duty) throws -> any Service {
            DutyService(
                duty, session: try process.session(patience: WorkerRole.longestStatement), leadership: leadership,
                logger: logger, metrics: metrics)
        }
        let retention = RetentionRun(
            times: configuration.retentionTimes, clock: clock, logger: logger, metrics: metrics)
        let reconciliation = history.reconciliationDuty(clock: clock, logger: logger, metrics: metrics)
        let accounts = history.accountDuty(logger: logger, metrics: metrics)
        let refunds = refundDuty(history.accesses, history.cancellation)
        let returns = DatabaseReturnDuty(
            watch: watch, places: history.reconciliation?.places ?? [],
            tells: configuration.webhooks.operationsURL != nil,
            isPrivate: configuration.database.isPrivateCluster,
            logger: logger, metrics: metrics)
        let grants = BulkGrantSettings(
            entitlements: Set(configuration.catalogue.products.keys), foldSettings: configuration.foldSettings)
        return [
            try service(returns),
            try service(DiversionDuty(clock: clock, logger: logger, metrics: metrics)),
            try service(RetentionDuty(retention)),
            try reconciliation.map { try service($0) },
            try accounts.map { try service($0) },
            try service(
                JobDuty(
                    worker: worker, kinds: WebhookReplayWork.kinds + BulkWork.kinds(granting: grants), logger: logger)),
            try service(history.jobDuty(of: worker, logger: logger)),
            try service(
                ChangeDuty(
                    work: ChangeWork(
                        entitlements: Set(configuration.catalogue.products.keys),
                        foldSettings: configuration.foldSettings, restoreSettings: configuration.restoreSettings,
                        refundApps: configuration.refundApps,
                        keys: SealingKeys.reader(configuration, logger: logger),
                        endpoints: EndpointRules(
                            apps: configuration.apps.map(\.id), address: configuration.webhookAddress),
                        clock: clock), logger: logger)),
            try service(extensionDuty(history.accesses)),
            try service(history.inquiryDuty(logger: logger)),
            try service(DeletionDuty(erasure: CustomerErasure(foldSettings: configuration.foldSettings))),
            try refunds.map { try service($0) },
            try reportDuty.map { try service($0) },
            try service(ClusterDuty(logger: logger, metrics: metrics)),
        ].compactMap { $0 }
    }

    /// Nil where it is off.
    private var reportDuty: ReportDuty? {
        guard configuration.reports.refresh > .zero else { return nil }
        return ReportDuty(
            ReportRefresh(configuration.reportTerms), interval: configuration.reports.refresh, logger: logger,
            metrics: metrics)
    }

    // MARK: - api, admin

    func api() throws -> RoleParts {
        let (accesses, transports) = apple.use()
        let role = try APIRole(
            APISettings(configuration, logger: logger), process(.api),
            verifier: try verifier(revocation?.policyOfAdmission), apple: accesses.mapValues(\.client),
            replica: replica())
        var settings = APIRole.listener(
            on: configuration.api.listen.description, applyTimeout: configuration.api.applyTimeout)
        settings.maxConnectionsPerAddress = configuration.api.maxConnectionsPerAddress
        return RoleParts(
            listening: RoleParts.Listening(settings: settings, handler: role.handler),
            services: role.services + [transports, try register(.api, process(.api))], notReady: role.unreadyReasons)
    }

    private func replica() -> ReplicaReading? {
        // The process' own: the key takes effect when it starts.
        guard database.hasStandby else { return nil }
        return ReplicaReading(
            lag: configuration.api.readLag, writes: database.recentWrites,
            process: ProcessContext(clock: clock, logger: logger, metrics: metrics, tracer: tracer) {
                [database, logger] prepare in
                guard let session = try database.standbySession(logger: logger, check: prepare) else {
                    throw CommandFailure("database.api_read_url is not set")
                }
                return session
            })
    }

    // MARK: - console

    func console() throws -> RoleParts { try console(refused) }

    /// The same for a process that does without: a taken port, an older schema or a missing URL is a warning.
    func optionalConsole() throws -> RoleParts {
        let refusal = OptionalRefusal(logger: logger)
        var parts = try console { refusal.tell($0) }
        parts.notReady = { [] }
        return parts
    }

    private func console(_ refused: @escaping @Sendable (String) -> Void) throws -> RoleParts {
        let context = ProcessContext(
            clock: clock, logger: logger, metrics: metrics, tracer: tracer, watch: sessionWatch
        ) { [database, logger] prepare in
            try database.session(.console, logger: logger, check: prepare, refused: refused)
        }
        var pages: ConsolePages?
        let role = try ConsoleRole(ConsoleSettings(configuration), context) { parts in
            let made = try ConsolePages(PageSettings(configuration), parts) {
                try context.session(patience: ConsoleRole.patience)
            }
            pages = made
            return made
        }
        let settings = ConsoleRole.listener(on: configuration.console.listen.description)
        return RoleParts(
            listening: RoleParts.Listening(settings: settings, handler: role.handler),
            services: (pages.map { [$0] } ?? []) + role.services + [try register(.console, context)],
            notReady: role.unreadyReasons)
    }

    /// What looks how far the database is, in a process without a worker.
    func positionReader(_ role: DatabaseRole) throws -> any Service {
        PositionReader(
            session: try process(role).session(patience: DatabaseProbe.patience), watch: watch,
            canReport: role != .console, logger: logger)
    }

    /// The listener for those who watch over the process.
    ///
    /// - Parameter notReady: what keeps the process from its work; none: nothing does.
    func admin(inherited: Int32?, notReady: @escaping @Sendable () -> [String]) -> HTTPServer {
        metrics.gauge(
            .buildInfo, 1,
            [
                "version": Version.current, "revision": BuildIdentity.revision ?? "", "build": BuildIdentity.id ?? "",
            ])
        metrics.collect { $0.total(.databaseStatements, Double(PostgresConnection.statements)) }
        var settings = HTTPServerConfiguration(role: "admin", listen: configuration.admin.listen.description)
        settings.inherited = inherited
        return HTTPServer(
            settings, handler: AdminEndpoints(metrics: metrics, notReady: notReady), logger: logger, metrics: metrics)
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
            emptyCustomers: retention.emptyCustomers == .zero ? nil : retention.emptyCustomers,
            audit: retention.audit)
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

    var reportTerms: ReportTerms {
        ReportTerms(
            catalogue: catalogue, rates: eventBodies.rates, seller: eventBodies.terms, foldSettings: foldSettings)
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
