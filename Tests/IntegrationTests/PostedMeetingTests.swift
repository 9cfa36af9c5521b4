import AppStore
import Base
import Customers
import Database
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// What apps post, where it meets what is done with customers.
@Suite struct PostedMeetingTests {
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))

    private func started(_ seed: UInt64, token: String? = nil) -> StoreNotification {
        var life = SubscriberLife(app: Installation.app, seed: seed, withToken: false)
        life.account.token = token
        return life.start(at: SystemClock().now() - StoreProduct.day)
    }

    private func key(_ notification: StoreNotification) throws -> PurchaseKey {
        PurchaseKey(
            app: "demo", environment: .production,
            originalTransactionID: try #require(notification.transaction?["originalTransactionId"]?.stringValue))
    }

    private func erasure(_ id: Int64, on connection: PostgresConnection) throws {
        let erasure = CustomerErasure(foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), patience: .zero)
        while try erasure.step(id, on: connection) == .more {}
    }

    private func owners(_ installation: Installation) throws -> [String] {
        try installation.database.texts("SELECT owner FROM entitled.purchase ORDER BY 1")
    }

    // MARK: - What came with it

    @Test func `the first event has the attributes that came with the purchase`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        let bench = try PostingFixture(installation)
        let jws = try PostingFixture.jws(started(600))
        let attribute = JSON.object(["value": .string("a@b.c"), "updated_at_ms": .int(SystemClock().now())])
        // Whoever writes attributes waits; whoever reads them does not.
        let holder = try installation.database.connect()
        try holder.execute(script: "BEGIN; LOCK TABLE entitled.customer_attribute IN EXCLUSIVE MODE")
        let post = TestThread { bench.post(jws, by: "user-1", ["attributes": .object(["$email": attribute])]) }
        try installation.database.untilBlocked()
        #expect(try installation.database.count("SELECT count(*) FROM entitled.notification") == 0)
        try holder.execute(script: "COMMIT")
        #expect(try post.value().status == 200)
        let event = try JSON(parsing: try #require(try consumer.wait(1).first).body)["event"]
        #expect(event?["subscriber_attributes"]?["$email"]?["value"] == .string("a@b.c"))
    }

    @Test func `a price that the app says later is shown at once`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let jws = try PostingFixture.jws(started(601)) { $0.with("price", nil).with("currency", nil) }
        func price(_ answer: HTTPCall) -> JSON? { answer.json.subscriber?["subscriptions"]?["pro_monthly"]?["price"] }
        #expect(price(bench.post(jws, by: "user-1"))?["currency"] != .string("EUR"))
        let more: KeyValuePairs<String, JSON?> = ["price": .string("9.99"), "currency": .string("EUR")]
        for _ in 0..<2 {
            #expect(
                price(bench.post(jws, by: "user-1", more))
                    == .object(["amount": .double(9.99), "currency": .string("EUR")]))
        }
        #expect(price(bench.post(jws, by: "user-1"))?["currency"] == .string("EUR"))
    }

    // MARK: - Who is first

    private static let orders: [[NotificationSource]] = [
        [.store, .history, .posted], [.store, .posted, .history], [.history, .store, .posted],
        [.history, .posted, .store], [.posted, .store, .history], [.posted, .history, .store],
    ]

    @Test func `whoever brings a purchase first, it is told once`() throws {
        let installation = try Installation()
        let registry = AppRegistry([Installation.registered])
        let admission = NotificationAdmission(
            apps: registry, verifier: installation.verifier, dictionaries: HeaderDictionaries())
        let other = TransactionAdmission(
            apps: registry, verifier: installation.verifier, dictionaries: HeaderDictionaries())
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let connection = try installation.database.connect(role: "entitled_worker")
        let sequence = SequenceGenerator(clock: SystemClock(), node: 77)
        var inserter = NotificationInserter(sequence: sequence, clock: SystemClock())
        let notifications = Self.orders.indices.map { started(700 + UInt64($0)) }
        for round in 0..<3 {
            for (order, notification) in zip(Self.orders, notifications) {
                if order[round] == .posted {
                    let admitted = try other.admit(try PostingFixture.jws(notification), of: "demo").get()
                    let fact = try #require(TransactionFact(admitted.payload, tie: admitted.jws.payload))
                    let item = CustomerActions.Posted(
                        key: try key(notification), transaction: fact, entry: admitted.entry)
                    _ = try actions.post(
                        [item], by: "user-1", sequence: sequence, clock: SystemClock(),
                        terms: CustomerActions.PostTerms(settings: RestoreSettings(general: .transfer)), on: connection)
                } else {
                    let body = try JSON(parsing: Installation.signer.sign(notification).body)
                    let jws = try #require(body["signedPayload"]?.stringValue)
                    let entry = try admission.admit(Array(jws.utf8), from: order[round]).get()
                    _ = try inserter.insert([entry], on: connection)
                }
            }
            try eventually("everything is applied") {
                try installation.database.count("SELECT count(*) FROM entitled.pending") == 0
            }
        }
        #expect(
            try installation.database.texts("SELECT DISTINCT type FROM entitled.event") == ["INITIAL_PURCHASE"])
        #expect(
            try installation.database.count("SELECT count(*) FROM entitled.event") == Int64(notifications.count))
        #expect(try installation.heldReasons() == [])
        try installation.expectNoDifferences()
    }

    // MARK: - Deleted

    @Test(arguments: DeletionPolicy.allCases, [true, false])
    func `who is deleted before their purchase is applied does not come back by it`(
        _ policy: DeletionPolicy, isSweptFirst: Bool
    ) throws {
        let installation = try Installation()
        let bench = try PostingFixture(installation, patience: .milliseconds(100))
        #expect(bench.post(try PostingFixture.jws(started(602)), by: "user-1").status == 503)
        let connection = try installation.database.connect(role: "entitled_worker")
        let deletion = try actions.delete("user-1", policy: policy, on: connection)
        if isSweptFirst { try erasure(deletion.id, on: connection) }
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.untilApplied(1)
        try erasure(deletion.id, on: connection)
        #expect(try owners(installation).allSatisfy(Owner.isAnonymous))
        #expect(try CustomerTable.known(["user-1"], on: connection).isEmpty)
        #expect(try DatabaseScan(installation.database).places(of: ["user-1"]) == [:])
        try installation.expectNoDifferences()
    }

    @Test(arguments: DeletionPolicy.allCases, [nil, "dddddddd-1111-4111-8111-00000000cafe"])
    func `who was deleted gets their purchase again by posting it again`(
        _ policy: DeletionPolicy, token: String?
    ) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let id = token ?? "user-1"
        let jws = try PostingFixture.jws(started(603, token: token))
        #expect(bench.post(jws, by: id).status == 200)
        let connection = try installation.database.connect(role: "entitled_worker")
        try erasure(try actions.delete(id, policy: policy, on: connection).id, on: connection)
        #expect(try CustomerTable.known([id], on: connection).isEmpty)
        // Under the same id, then under one that a device made anew.
        for poster in [id, "$RCAnonymousID:77777777777777777777777777777777"] {
            let answer = bench.post(jws, by: poster)
            #expect(answer.status == 200)
            #expect(answer.json.subscriber?["entitlements"]?["pro"] != nil, "\(poster)")
        }
        #expect(try installation.database.count("SELECT count(*) FROM entitled.pending") == 0)
        #expect(try installation.heldReasons() == [])
        try installation.expectNoDifferences()
    }

    @Test func `what somebody unknown restored before it was erased stays with them`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let jws = try PostingFixture.jws(started(605))
        #expect(bench.post(jws, by: "user-1").status == 200)
        let connection = try installation.database.connect(role: "entitled_worker")
        let deletion = try actions.delete("user-1", policy: .erase, on: connection)
        let device = "$RCAnonymousID:88888888888888888888888888888888"
        #expect(bench.post(jws, by: device).status == 200)
        try erasure(deletion.id, on: connection)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.purchase") == 1)
        #expect(try CustomerTable.known([device], on: connection).contains(device))
        try installation.expectNoDifferences()
    }

    @Test func `what somebody gets again before the erasure stays theirs`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let bench = try PostingFixture(installation)
        let notification = started(604)
        let jws = try PostingFixture.jws(notification)
        #expect(bench.post(jws, by: "user-1").status == 200)
        let connection = try installation.database.connect(role: "entitled_worker")
        let deletion = try actions.delete("user-1", on: connection)
        // A named customer in between: from them it is moved, not joined.
        #expect(bench.post(jws, by: "user-2").status == 200)
        #expect(bench.post(jws, by: "user-1").status == 200)
        try erasure(deletion.id, on: connection)
        #expect(try owners(installation) == ["user-1"])
        #expect(bench.post(jws, by: "user-1").json.subscriber?["entitlements"]?["pro"] != nil)
        try installation.expectNoDifferences()
    }
}
