import AppStore
import AppStoreAPI
import Base
import Daemon
import Database
import Duties
import Ingest
import Postgres

/// Apple's notification history for every app with a key: who reads it, and who compares it with ours.
struct HistoryServices: Sendable {
    /// Ends what waits for Apple when the process ends.
    let cancellation = Cancellation()
    private let configuration: Configuration
    /// By app.
    let accesses: [String: ServerAPIAccess]
    /// Ends the use of the accesses; drains after all services that use them.
    let transports: any Service
    private let admission: NotificationAdmission
    private let transactionAdmission: TransactionAdmission

    /// - Parameter verifier: as the store's endpoint has it.
    init(_ configuration: Configuration, verifier: SignedDataVerifier, apple: AppleAccesses) {
        self.configuration = configuration
        admission = NotificationAdmission(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        transactionAdmission = TransactionAdmission(
            apps: configuration.appRegistry, verifier: verifier, dictionaries: HeaderDictionaries())
        (accesses, transports) = apple.use()
    }

    private func reader(_ app: String) -> HistoryReader? {
        accesses[app].map { HistoryReader(client: $0.client, admission: admission) }
    }

    /// Drives requested jobs that no process drives.
    func jobDuty(of worker: [UInt8], logger: Logger) -> HistoryJobDuty {
        HistoryJobDuty(
            worker: worker, kinds: HistoryReplayWork.kinds(reader, cancellation: cancellation),
            cancellation: cancellation, logger: logger)
    }

    /// Nil where reconciliation is off.
    var reconciliation: (places: Set<AppScope>, interval: Duration)? {
        guard configuration.reconcile.isEnabled, !accesses.isEmpty else { return nil }
        return (Set(duties.map(\.place)), configuration.reconcile.interval)
    }

    private var duties: [(place: AppScope, reader: HistoryReader)] {
        configuration.apps.flatMap { app in
            app.environments.compactMap { environment in
                reader(app.id).map { (AppScope(app: app.id, environment: environment), $0) }
            }
        }
    }

    /// Asks about accounts of which something was posted, whether or not reconciliation is on. Nil where no app has a key.
    func accountDuty(logger: Logger, metrics: Metrics) -> AccountLookDuty? {
        guard !accesses.isEmpty else { return nil }
        let lookups = configuration.apps.flatMap { app in
            app.environments.compactMap { environment in
                accesses[app.id].map {
                    (
                        place: AppScope(app: app.id, environment: environment),
                        lookup: AccountLookup(client: $0.client, admission: transactionAdmission)
                    )
                }
            }
        }
        return AccountLookDuty(
            lookups: lookups, foldSettings: configuration.foldSettings, cancellation: cancellation, logger: logger,
            metrics: metrics)
    }

    /// Asks Apple what operators ask for.
    func inquiryDuty(logger: Logger) -> InquiryDuty {
        InquiryDuty(
            lookups: accesses.mapValues {
                AccountLookup(
                    client: $0.client, admission: transactionAdmission,
                    mostTransactions: InquiryDuty.mostTransactions)
            }, cancellation: cancellation, logger: logger)
    }

    /// Nil where reconciliation is off.
    func reconciliationDuty(clock: any WallClock, logger: Logger, metrics: Metrics) -> ReconciliationDuty? {
        guard reconciliation != nil else { return nil }
        return ReconciliationDuty(
            ReconciliationDutyConfiguration(
                interval: configuration.reconcile.interval, clock: clock, duties: duties,
                statusCallsPerHour: configuration.reconcile.statusCallsPerHour,
                foldSettings: configuration.foldSettings),
            cancellation: cancellation, logger: logger, metrics: metrics)
    }
}

extension Configuration {
    /// The apps whose notifications are taken.
    var appRegistry: AppRegistry {
        AppRegistry(
            apps.map { app in
                AppRegistry.App(
                    id: app.id, bundleID: app.bundleID, appleAppID: app.appleAppID, environments: app.environments)
            })
    }
}
