import AppStore
import Base
import Crypto
import Customers
import Daemon
import Database
import HTTP
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

/// A store with its certificates, and an installation that trusts it: the endpoint and any number of workers, as
/// threads of this process, on a database of its own.
final class Installation: Sendable {
    private static let pki = Result { try StorePKI.generate(now: SystemClock().now()) }

    static var signer: NotificationSigner {
        get throws { NotificationSigner(try pki.get()) }
    }

    static var keys: StorePKI { get throws { try pki.get() } }

    /// For an endpoint that only reads.
    static var idleCommitter: NotificationCommitter {
        NotificationCommitter(
            timeout: .seconds(8),
            session: { PostgresSession(PostgresTarget(url: "postgres:///nowhere")) },
            sequence: { SequenceGenerator(clock: SystemClock(), node: 1) }, clock: SystemClock(), logger: .silent,
            metrics: Metrics())
    }

    static let app = StoreApp(environment: "Production")
    static let registered = AppRegistry.App(
        id: "demo", bundleID: app.bundleID, appleAppID: app.appleAppID, environments: [.production, .sandbox])
    static let sandbox = StoreApp()
    /// A moment of the recent past, in milliseconds.
    static let start = SystemClock().now() - 20 * StoreProduct.day

    /// Kept running for as long as this lives.
    private let cluster: TestCluster
    let database: TestDatabase
    let verifier: SignedDataVerifier
    let sealer = SecretSealer(keys: [Redacted([UInt8](repeating: 1, count: 32))])
    let catalogue = EntitlementCatalogue(["pro": ["pro_monthly", "pro_yearly", "pro_lifetime"]])
    private let role: IngestRole
    let log = LogTape()
    /// Which lanes lie together, for the endpoint and the workers.
    let groups: LaneGroups

    /// - Parameters:
    ///   - cluster: the shared one, unless a test stops its Postgres.
    ///   - database: one of the shared cluster that was made already, with this program's schema; nil: a new one.
    ///   - groups: where there are four, transactions are watched that leave their group.
    ///   - sequence: makes the generators of the endpoint.
    init(
        _ cluster: TestCluster? = nil, database made: TestDatabase? = nil, groups: LaneGroups = TestGroups.ofSuites,
        sequence: @escaping @Sendable () -> SequenceGenerator = {
            SequenceGenerator(clock: SystemClock(), node: .random(in: 0...UInt16.max))
        }
    ) throws {
        self.cluster = try cluster ?? TestCluster.shared
        database = try made ?? self.cluster.makeMigratedDatabase()
        let found = try LaneGroups.read(on: database.connect())
        let isDistributed = !found.isOne
        self.groups = isDistributed ? found : groups
        if !isDistributed, !groups.isOne { try database.guardFourGroups() }
        verifier = SignedDataVerifier(
            trust: TrustAnchors(fingerprints: [try Installation.pki.get().root.fingerprint()]))
        let target = database.target(role: "entitled_ingest")
        let process = ProcessContext(clock: SystemClock(), logger: log.logger, metrics: Metrics()) { prepare in
            PostgresSession(target, backOff: .milliseconds(20)...Duration.milliseconds(100), prepare: prepare)
        }
        role = try IngestRole(
            apps: AppRegistry([Installation.registered]), process, verifier: verifier, grouping: LaneGrouping(groups),
            sequence: sequence)
        for service in role.services { try service.start() }
    }

    deinit {
        drain()
        guard !groups.isOne, let crossings = try? database.crossings(), crossings > 0 else { return }
        Issue.record("\(crossings) changes left the group of their transaction")
    }

    // MARK: - What the store sends

    /// The lane that the notification is stored in.
    func lane(of notification: StoreNotification) throws -> Lane { try read(notification).lane }

    /// The notification as it is stored.
    func read(_ notification: StoreNotification) throws -> NewNotification {
        try role.handler.read(try Installation.signer.sign(notification).body).mapError { TestFailure($0.message) }
            .get()
    }

    /// The endpoint's answer to a body.
    func post(_ body: [UInt8]) -> HTTPResponse {
        let answer = Monitor<HTTPResponse?>(nil)
        let responder = HTTPResponder { response in answer.change { $0 = response } }
        role.handler.handle(HTTPRequest(head: HTTPRequestHead(method: "POST", target: "/"), body: body), responder)
        return answer.wait(timeout: .seconds(30)) { $0 } ?? HTTPResponse(status: 0)
    }

    func post(_ notification: StoreNotification) throws -> HTTPResponse {
        post(try Installation.signer.sign(notification).body)
    }

    /// Stores these by several threads at once; every one must be taken.
    func postAll(_ notifications: [StoreNotification]) throws {
        let bodies = try notifications.map { try Installation.signer.sign($0).body }
        let threads = (0..<8).map { part in
            TestThread { [self] in
                stride(from: part, to: bodies.count, by: 8).map { post(bodies[$0]).status }
            }
        }
        let statuses = try threads.flatMap { try $0.value() }
        guard statuses.allSatisfy({ $0 == 200 }) else { throw TestFailure("not all were taken: \(Set(statuses))") }
    }

    /// The endpoint takes nothing more.
    func drain() {
        for service in role.services { service.drain(until: .now + .seconds(5)) }
    }

    // MARK: - Who consumes

    func addEndpoint(
        _ consumer: Consumer, path: String = "/hooks", events: [String] = [], ordering: Ordering = .none
    ) throws -> (id: String, secret: String) {
        let added = try EndpointTable.add(
            url: consumer.url(path), authorization: "Bearer consumer", environments: [], events: events, apps: [],
            ordering: ordering, sealer: sealer, now: SystemClock().now(),
            on: try database.connect(role: "entitled_worker"))
        return (added.id, added.secret.text)
    }

    // MARK: - What is known

    /// Waits until so many were stored and nothing is left to apply. What names somebody who was deleted is not kept, but
    /// its key is.
    func untilApplied(_ count: Int64, timeout: Duration = .seconds(30)) throws {
        let connection = try database.connect()
        try eventually(timeout: timeout, "\(count) notifications are applied") {
            try connection.query(
                """
                SELECT $1 IN ((SELECT count(*) FROM entitled.notification),
                        (SELECT count(*) FROM entitled.notification_key))
                    AND NOT EXISTS (SELECT 1 FROM entitled.pending)
                """, [.int8(count)]
            ).one().bool(0)
        }
    }

    /// Waits for so many deliveries in this state.
    func untilDeliveries(_ count: Int64, _ state: DeliveryState, timeout: Duration = .seconds(20)) throws {
        let connection = try database.connect()
        try eventually(timeout: timeout, "\(count) deliveries are \(state.name)") {
            try connection.query(
                "SELECT count(*) FROM entitled.delivery WHERE state = $1", [.int2(state.rawValue)]
            ).one().int(0) == count
        }
    }

    /// What is known of a customer at this moment, without what tells when it became known.
    func document(of anyID: String, now: Int64) throws -> String {
        let connection = try database.connect(role: "entitled_api")
        guard let found = try CustomerQuery.find(anyID: anyID, foldSettings: FoldSettings(), on: connection) else {
            return "nobody"
        }
        let profile = CustomerProfile(
            originalAppUserID: found.customer.originalAppUserID, appUserIDs: found.customer.appUserIDs.sorted(),
            firstSeen: 1, lastSeen: 2)
        let document = SubscriberDocument(
            catalogue: catalogue
        ).json(customer: profile, purchases: found.purchases, now: now)
        let summary = PurchaseSummary(catalogue: catalogue).json(found.purchases, of: profile, now: now)
        return document.text + "\n" + summary.text
    }

    /// The rows of all purchases, without what tells when and how often they were written.
    func purchaseRows() throws -> [String] {
        try database.texts(
            """
            SELECT (to_jsonb(p) - 'version' - 'updated_ms' - 'wake_ms' - 'told_owner')::text FROM entitled.purchase p ORDER BY 1
            """)
    }

    /// What the records say otherwise than the log.
    func differences() throws -> [String] {
        var lines: [String] = []
        let totals = try RecordRebuild(
            patience: .seconds(86_400), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), isDry: true
        ).run(
            on: try database.connect(role: "entitled_api"), progress: { _ in },
            found: { lines.append($0.line) })
        guard totals.differences == lines.count else { throw TestFailure("not all differences were told") }
        return lines
    }

    /// Expects that the records say what the log says.
    func expectNoDifferences(
        _ comment: Comment? = nil, at location: SourceLocation = #_sourceLocation
    ) throws {
        let found = try settledDifferences()
        #expect(found == [], comment, sourceLocation: location)
    }

    /// Waits until no account is to be judged again. Some worker has to be running.
    func untilJudged(timeout: Duration = .seconds(120)) throws {
        try eventually(timeout: timeout, "accounts are judged again") {
            try database.count("SELECT count(*) FROM entitled.account_due") == 0
        }
    }

    /// The same once workers, if there are any, are through with accounts that they judge again. A lease that lapsed just now
    /// is one of a slow machine.
    func settledDifferences() throws -> [String] {
        try eventually("accounts are judged again") {
            try database.count(
                """
                SELECT count(*) FROM entitled.account_due
                WHERE EXISTS (SELECT 1 FROM entitled.lane WHERE lease_until > clock_timestamp() - interval '10 s')
                """) == 0
        }
        return try differences()
    }

    /// A product that the database refuses from now on, so that everything else of its transaction fails with it.
    func refusedProduct() throws -> StoreProduct {
        try database.execute(
            """
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'data_exception'; END $$
            """)
        try database.execute(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON entitled.purchase FOR EACH ROW
            WHEN (NEW.product_id = 'refused') EXECUTE FUNCTION public.refuse()
            """)
        return StoreProduct(id: "refused", price: 1, period: StoreProduct.day)
    }

    func heldReasons() throws -> [String] {
        try database.texts("SELECT reason FROM entitled.held_notification ORDER BY 1")
    }
}

extension StoreNotification {
    /// The same with neither transaction nor renewal info naming an account.
    var withoutToken: StoreNotification {
        func stripped(_ payload: JSON) -> JSON {
            .object((payload.members ?? []).filter { $0.name != "appAccountToken" })
        }
        var changed = self
        if case .data(let fields, let transaction, let renewal, let status) = content {
            changed.content = .data(
                fields, transaction: transaction.map(stripped), renewal: renewal.map(stripped), status: status)
        }
        return changed
    }
}
