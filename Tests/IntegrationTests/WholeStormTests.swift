import AppStore
import Base
import Customers
import Daemon
import Database
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Everything that apps, backends, operators, the store and time do with some customers, at once: what is left is what the
/// log says.
@Suite struct WholeStormTests {
    /// Numbers that differ by thread and come again with the same seed.
    private struct Dice {
        var state: UInt64

        mutating func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(sides))
        }

        mutating func pick<Value>(_ values: [Value]) throws -> Value {
            try #require(values.isEmpty ? nil : values[roll(values.count)])
        }
    }

    private static let seed: UInt64 = 97
    private static let grace = Duration.seconds(3 * 86_400)
    private static let tokens = (0..<4).map { "cccccccc-0000-4000-8000-00000000000\($0)" }
    private static let family =
        tokens + [tokens[0].uppercased()] + (0..<5).map { "person-\($0)" }
        + (0..<5).map { "$RCAnonymousID:\(String(repeating: "\($0)", count: 32))" }
    private static let threads = 10
    private static let calls = 36

    /// What a family buys; notifications of half of it come, and all of it is posted.
    private struct Household: Sendable {
        var notifications: [StoreNotification] = []
        var posted: [CustomerActions.Posted] = []
        var keys: [PurchaseKey] = []

        init(_ verifier: SignedDataVerifier) throws {
            let admission = TransactionAdmission(
                apps: AppRegistry([Installation.registered]), verifier: verifier, dictionaries: HeaderDictionaries())
            let now = SystemClock().now()
            for number in UInt64(0)..<14 {
                var life = SubscriberLife(app: Installation.app, seed: WholeStormTests.seed, number: number)
                life.account.token = number % 3 == 0 ? nil : WholeStormTests.tokens[Int(number) % 4]
                let start = now - Int64(20 + number * 4) * StoreProduct.day
                var news = [life.start(at: start)]
                if number % 4 != 3 { news.append(life.autoRenewOff(at: start + StoreProduct.day)) }
                if number % 4 == 1 { news.append(life.autoRenewOn(at: start + 2 * StoreProduct.day)) }
                if number % 5 == 2 { news.append(life.refund(at: start + 3 * StoreProduct.day)) }
                if number % 4 == 3 { news.append(life.renew(at: start + 30 * StoreProduct.day)) }
                if number % 2 == 0 { notifications += news }
                keys.append(
                    PurchaseKey(
                        app: "demo", environment: .production, originalTransactionID: life.latest.originalID))
                for notification in news where notification.transaction != nil {
                    let jws = try PostingFixture.jws(notification)
                    guard case .success(let admitted) = admission.admit(jws, of: "demo"),
                        let fact = TransactionFact(admitted.payload, tie: admitted.jws.payload),
                        let key = keys.last
                    else { throw TestFailure("a transaction was not taken") }
                    let context = TransactionContext(
                        transactionID: fact.transactionID, offering: "offering-\(number)", at: 0)
                    posted.append(
                        CustomerActions.Posted(
                            key: key, transaction: fact, entry: admitted.entry,
                            context: number % 3 == 1 ? context : nil))
                }
            }
        }
    }

    /// Somebody who calls, with a connection of the api.
    private struct Caller {
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: WholeStormTests.grace)
        )
        let reader = SubscriberQuery(foldSettings: FoldSettings(defaultGrace: WholeStormTests.grace))
        let household: Household
        let connection: PostgresConnection
        let sequence = SequenceGenerator(clock: SystemClock(), node: .random(in: 0...UInt16.max))
        var dice: Dice

        /// - Throws: what must not come through.
        mutating func call() throws {
            do {
                try act()
            } catch CustomerActions.Rejection.restore {
                // The owner keeps it.
            } catch CustomerActions.Rejection.unknown, CustomerActions.Rejection.notTheirs {
                // Deleted, or not bought yet, or somebody else's by now.
            } catch CustomerActions.Rejection.grantStays, CustomerActions.Rejection.persons {
                // Granted things do not move, and apps join no persons.
            } catch CustomerActions.Rejection.busy {
                // Overtaken again and again: told to come again.
            } catch CustomerActions.Rejection.ungrantable {
                // The moment passed before the customer could be held.
            }
        }

        private mutating func act() throws {
            let (id, other) = (try dice.pick(WholeStormTests.family), try dice.pick(WholeStormTests.family))
            let behavior = try dice.pick(RestoreBehavior.allCases)
            let settings = RestoreSettings(general: behavior)
            switch dice.roll(22) {
            case 0...6:
                _ = try actions.post(
                    [try dice.pick(household.posted)], by: id, sequence: sequence, clock: SystemClock(),
                    terms: CustomerActions.PostTerms(
                        settings: settings, source: try dice.pick(PurchasePost.Source.allCases)), on: connection)
            case 7...9: _ = try actions.identify(id, as: other, on: connection)
            case 10: _ = try actions.alias(id, other, joinsPersons: dice.roll(2) == 0, on: connection)
            case 11, 12:
                _ = try actions.claim(try dice.pick(household.keys), by: id, settings: settings, on: connection)
            case 13: _ = try actions.transfer(from: id, to: other, on: connection)
            case 14, 15:
                let end = SystemClock().now() + Int64(1 + dice.roll(4000))
                let term: GrantTerm =
                    dice.roll(2) == 0 ? .until(end) : .lasting(try dice.pick(GrantDuration.allCases))
                _ = try actions.grant("pro", to: id, term, on: connection)
            case 16: _ = try actions.revoke("pro", from: id, on: connection)
            case 17: _ = try actions.delete(id, policy: try dice.pick(DeletionPolicy.allCases), on: connection)
            case 18:
                try actions.admit(id, on: connection)
                _ = try actions.setRestoreBehavior(dice.roll(3) == 0 ? nil : behavior, of: id, on: connection)
            case 19:
                let value = JSON.object(["value": .string("v"), "updated_at_ms": .int(Int64(dice.roll(50)))])
                _ = try actions.setAttributes(.object(["k": value]), of: id, on: connection)
            default:
                let found = try reader.find([id, other], on: connection)
                try SnapshotTable.write(found.flatMap { $0?.made ?? [] }, on: connection)
            }
        }
    }

    @Test func `what is left of everything at once is what the log says`() throws {
        let installation = try Installation()
        let workers = try (0..<2).map { _ in try RunningWorker(installation, lease: .seconds(4)) }
        defer { for worker in workers { worker.stop() } }
        let database = installation.database
        let household = try Household(installation.verifier)
        let store = TestThread { try installation.postAll(household.notifications) }
        let isOver = Monitor(false)
        let sweepers = (0..<2).map { _ in
            TestThread {
                let connection = try database.connect(role: "entitled_worker")
                let erasure = CustomerErasure(foldSettings: FoldSettings(defaultGrace: Self.grace), patience: .zero)
                while true {
                    let wasOver = isOver.read { $0 }
                    while try erasure.step(on: connection) {}
                    if wasOver { return }
                }
            }
        }
        let callers = (0..<Self.threads).map { number in
            TestThread {
                var caller = Caller(
                    household: household, connection: try database.connect(role: "entitled_api"),
                    dice: Dice(state: (Self.seed &+ UInt64(number)) &* 0x9e37_79b9_7f4a_7c15))
                for _ in 0..<Self.calls { try caller.call() }
            }
        }
        for caller in callers { try caller.value(timeout: .seconds(120)) }
        try store.value(timeout: .seconds(60))
        isOver.change { $0 = true }
        for sweeper in sweepers { try sweeper.value(timeout: .seconds(60)) }
        try eventually(timeout: .seconds(60), "everything is applied, and every timer of grants was looked at") {
            try database.count(
                """
                SELECT (SELECT count(*) FROM entitled.pending) + (SELECT count(*) FROM entitled.purchase
                    WHERE app = '$promotional' AND wake_ms <= extract(epoch FROM clock_timestamp()) * 1000 + 4000)
                """) == 0
        }
        #expect(try installation.heldReasons() == [])
        let differences = try installation.settledDifferences()
        #expect(differences == [])
        try expectWhole(database)
        try expectSnapshotsFit(installation)
    }

    private func expectWhole(_ database: TestDatabase) throws {
        let nothing = [
            "ids of nobody": """
            SELECT count(*) FROM entitled.app_user_id a WHERE NOT EXISTS (
                SELECT 1 FROM entitled.customer c WHERE c.original_app_user_id = a.original_app_user_id)
            """,
            "customers without their id": """
            SELECT count(*) FROM entitled.customer c WHERE NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id a WHERE a.id = c.original_app_user_id
                    AND a.original_app_user_id = a.id)
            """,
            "purchases of nobody": """
            SELECT count(*) FROM entitled.purchase p WHERE NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id a WHERE a.id = p.owner)
            """,
            "attributes of nobody": """
            SELECT count(*) FROM entitled.customer_attribute s WHERE NOT EXISTS (
                SELECT 1 FROM entitled.app_user_id a WHERE a.id = s.app_user_id)
            """,
            "purchases told twice": """
            SELECT count(*) FROM (SELECT 1 FROM entitled.event WHERE type = 'INITIAL_PURCHASE'
                GROUP BY app, original_transaction_id HAVING count(*) > 1
                    AND original_transaction_id IS NOT NULL) AS twice
            """,
            "deletions that are not done": "SELECT count(*) FROM entitled.deletion WHERE state <> 'done'",
        ]
        for (name, count) in nothing { #expect(try database.count(count) == 0, "\(name)") }
    }

    /// Whatever is kept for readers is what the facts say now.
    private func expectSnapshotsFit(_ installation: Installation) throws {
        let connection = try installation.database.connect(role: "entitled_api")
        let ids = try installation.database.texts("SELECT id FROM entitled.app_user_id")
        let reader = SubscriberQuery(foldSettings: FoldSettings(defaultGrace: Self.grace))
        for found in try reader.find(ids, on: connection) {
            let found = try #require(found)
            let keys = found.snapshots.map(\.key)
            let fresh = zip(keys, try FactTable.load(keys, on: connection)).compactMap { key, facts in
                Purchase(folding: facts, key: key, foldSettings: FoldSettings(defaultGrace: Self.grace)).map(
                    PurchaseSnapshot.init)
            }
            #expect(found.snapshots == fresh)
        }
    }
}
