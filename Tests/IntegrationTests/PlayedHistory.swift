import AppStore
import AppStoreAPI
import Base
import Crypto
import Daemon
import Database
import Duties
import HTTP
import Ingest
import Postgres
import Subscriptions
import TestSupport

@testable import StoreSimulator

/// Apple's history of one app, and those who read it.
final class PlayedHistory: Sendable {
    let place: AppScope
    let reader: HistoryReader
    let log = LogTape()
    let metrics = Metrics()
    private let service: StoreService
    private let http: HTTPClient
    private let installation: Installation

    init(
        _ installation: Installation, _ notifications: [StoreNotification], app: StoreApp = Installation.app,
        faults: [StoreFault] = []
    ) throws {
        self.installation = installation
        let environment: StoreEnvironment = app.isSandbox ? .sandbox : .production
        place = AppScope(app: "demo", environment: environment)
        var settings = StoreSettings()
        settings.app = app
        settings.faults = faults
        service = try StoreService(
            settings, Installation.keys, token: .generate(bundleID: app.bundleID),
            notifications: notifications.sorted { $0.signedDate < $1.signedDate })
        try service.start()
        let subject = ServerAPIApp(
            id: "demo", bundleID: app.bundleID, appleAppID: app.appleAppID, environments: [environment],
            baseURLs: [environment: service.baseURL])
        http = try HTTPClient(
            configuration: ServerAPIClient.configuration(for: subject), logger: .silent, metrics: Metrics())
        http.start()
        let client = ServerAPIClient(
            app: subject,
            keys: [
                try ServerAPIKey(
                    issuerID: service.token.issuerID, keyID: service.token.keyID, pem: service.token.key.pem())
            ], http: http, verifier: installation.verifier, retries: ServerAPIRetryPolicy(base: .milliseconds(10)),
            logger: .silent, metrics: Metrics())
        reader = HistoryReader(
            client: client,
            admission: NotificationAdmission(
                apps: AppRegistry([Installation.registered]), verifier: installation.verifier,
                dictionaries: HeaderDictionaries()))
    }

    deinit {
        service.stop()
        http.stop()
    }

    /// Requests so far, by their status.
    var calls: [Int] { service.state.read { $0.calls.map(\.status) } }

    /// The same, where the path contains this.
    func calls(of path: String) -> [Int] {
        service.state.read { state in state.calls.filter { $0.target.contains(path) }.map(\.status) }
    }

    func clearFaults() { service.clearFaults() }

    func add(_ fault: StoreFault) { service.add(fault) }

    private func session() -> PostgresSession {
        PostgresSession(
            installation.database.target(role: "entitled_worker"),
            backOff: .milliseconds(20)...Duration.milliseconds(100))
    }

    /// Compares, as a service of the worker's process does, until the body is done.
    func reconciling<Result>(
        as worker: [UInt8], statusCallsPerHour: Int64 = 0, _ body: () throws -> Result
    ) throws -> Result {
        let duty = ReconciliationDuty(
            ReconciliationDutyConfiguration(
                interval: .seconds(3600), clock: SystemClock(), duties: [(place, reader)],
                statusCallsPerHour: statusCallsPerHour,
                foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400))),
            cancellation: Cancellation(), logger: log.logger, metrics: metrics)
        let reconciler = DutyService(
            duty, session: session(), leadership: Leadership(worker: worker, lease: .seconds(10)), logger: log.logger,
            metrics: Metrics())
        reconciler.start()
        defer { reconciler.drain(until: .now + .seconds(10)) }
        return try body()
    }

    /// Asks about accounts that wait for Apple, as a service of the worker's process does, until the body is done.
    ///
    /// - Parameters:
    ///   - mostTransactions: of one turn.
    ///   - rest: between two runs.
    func lookingThrough<Result>(
        as worker: [UInt8], mostTransactions: Int = 500, rest: Duration = .milliseconds(20), _ body: () throws -> Result
    ) throws -> Result {
        let admission = TransactionAdmission(
            apps: AppRegistry([Installation.registered]), verifier: installation.verifier,
            dictionaries: HeaderDictionaries())
        let duty = AccountLookDuty(
            lookups: [
                (place, AccountLookup(client: reader.client, admission: admission, mostTransactions: mostTransactions))
            ],
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), cancellation: Cancellation(),
            rest: rest, logger: log.logger, metrics: metrics)
        let service = DutyService(
            duty, session: session(), leadership: Leadership(worker: worker, lease: .seconds(10)), logger: log.logger,
            metrics: Metrics())
        service.start()
        defer { service.drain(until: .now + .seconds(10)) }
        return try body()
    }

    /// Whether everything was looked through once.
    func isCovered() throws -> Bool {
        try installation.database.count(
            "SELECT count(*) FROM entitled.history_look WHERE whole_ms IS NOT NULL AND cursor = '{}'") == 1
    }

    /// What somebody asks for, done to its end.
    ///
    /// - Parameter token: goes on after this page of the first window, as Apple named it once.
    func replay(sendsEvents: Bool = false, days: Int64 = 25, after token: String? = nil) throws -> Job {
        let connection = try installation.database.connect(role: "entitled_worker")
        let now = SystemClock().now()
        let replay = HistoryReplay(
            HistoryFilter(place), from: now - days * StoreProduct.day, until: now, sendsEvents: sendsEvents)
        let job = try JobTable.open(
            replay.request(from: "\(days)d", until: "0s", rate: nil, madeBy: "a test"), on: connection
        ).job
        if let token {
            let words = HistoryScan(replay.question, from: replay.from, until: replay.until).words + [token]
            _ = try connection.query(
                "UPDATE entitled.job SET cursor = $2 WHERE id = $1", [.int8(job.id), .texts(words)])
        }
        let reader = reader
        return try JobDriver(job.id, kinds: [HistoryReplayWork.kind { _ in reader }]).attend(
            on: connection, rest: { _ in }, isEnough: { _, _ in false })
    }
}
