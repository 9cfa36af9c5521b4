import Base
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing
import Worker

@testable import Customers

/// What callers do to ids that name no customer yet, while an account that names these ids is judged: no row is there to be
/// locked, so neither sees what the other one writes.
@Suite struct SettlementRaceTests {
    private static let grace = Duration.seconds(3 * 86_400)
    private static let (token, other) = (
        "ffffffff-0000-4000-8000-000000000001", "ffffffff-0000-4000-8000-000000000002"
    )
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: grace))

    private func key(_ life: SubscriberLife) -> PurchaseKey {
        PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
    }

    /// Lets callers act while an account is judged on a connection of the worker's role that has not written anything yet; what
    /// is left of both must be what the log says.
    ///
    /// - Parameters:
    ///   - judge: judges the account, beside the callers.
    ///   - act: what the callers do.
    private func race(
        on installation: Installation, _ judge: @escaping @Sendable () throws -> Void,
        _ act: (PostgresConnection) throws -> Void
    ) throws {
        let database = installation.database
        try database.execute(
            """
            CREATE FUNCTION public.pause() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$
            """)
        try database.execute(
            """
            CREATE TRIGGER pause BEFORE INSERT ON entitled.app_user_id
            FOR EACH STATEMENT WHEN (current_user = 'entitled_worker') EXECUTE FUNCTION public.pause()
            """)
        let gate = try database.connect()
        let judging = try gate.transaction {
            try gate.query("SELECT pg_advisory_xact_lock(1)")
            let judging = TestThread { try judge() }
            try database.untilBlocked()
            try act(try database.connect(role: "entitled_api"))
            return judging
        }
        try judging.value()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try eventually("accounts are judged again") {
            try database.count("SELECT count(*) FROM entitled.account_due") == 0
        }
        let differences = try installation.differences()
        #expect(differences == [])
        #expect(try installation.heldReasons() == [])
    }

    @Test func `an id that is made and deleted while an account is judged that it joins`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 201)
        #expect(try installation.post(life.start(at: Installation.start).withoutToken).status == 200)
        try installation.untilApplied(1)
        worker.stop()
        let (key, id) = (key(life), "person")
        let (actions, database) = (actions, installation.database)
        try race(on: installation) {
            let connection = try database.connect(role: "entitled_worker")
            let post = PurchasePost(by: id, .purchase, behavior: .transfer, at: Installation.start + StoreProduct.day)
            try connection.transaction {
                let now = try Fence.hold([key.lane], on: connection)
                try FactTable.insert([CustomerActions.fact(post, of: key)], on: connection)
                let claims = try OwnerSettlement.claims(of: [key], on: connection)
                _ = try actions.settlement.settle(claims, by: actions.origin, now: now, on: connection)
            }
        } _: { connection in
            _ = try actions.admit(id, on: connection)
            _ = try actions.delete(id, on: connection)
        }
    }

    /// Apple's clock is ahead of the server's here: what comes later in the log is earlier by its time.
    @Test func `ids that become one customer while an account is judged that names both`() throws {
        let installation = try Installation()
        let start = SystemClock().now() + StoreProduct.day
        var life = SubscriberLife(app: Installation.app, seed: 202)
        life.account.token = Self.token
        let first = life.start(at: start)
        life.account.token = Self.other
        try installation.postAll([first, life.renew(at: start + 30 * StoreProduct.day)])
        try race(on: installation) {
            let worker = try RunningWorker(installation)
            try installation.untilApplied(2)
            worker.stop()
        } _: { connection in
            _ = try actions.admit(Self.token, on: connection)
            _ = try actions.alias(Self.token, Self.other, on: connection)
        }
    }

    // MARK: - Times

    private enum Action: CaseIterable {
        case identify, identifyNew, alias, delete, restoreBehavior, transfer, claim, post, grant, revoke
    }

    /// A customer who has something is held meanwhile, as by an action that is done first.
    @Test(arguments: Action.allCases)
    private func `an action that waited for a customer is later than what it waited for`(_ action: Action) throws {
        let installation = try Installation()
        let database = installation.database
        let worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 203)
        life.account.token = Self.token
        #expect(try installation.post(life.start(at: Installation.start)).status == 200)
        try installation.untilApplied(1)
        worker.stop()
        let key = key(life)
        let anonymous = "$RCAnonymousID:\(String(repeating: "1", count: 32))"
        let maker = try database.connect(role: "entitled_api")
        try CustomerTable.make([anonymous, "person"], now: 1, on: maker)
        _ = try actions.grant("pro", to: Self.token, .lasting(.weekly), on: maker)
        let bought = try #require(try FactTable.load([key], on: maker).first?.transactions.first)
        let settings = RestoreSettings(general: .transfer)
        let first = try database.connect(role: "entitled_worker")
        let actions = actions
        let (thread, released) = try first.transaction {
            _ = try CustomerTable.lock([Self.token, anonymous], on: first)
            let thread = TestThread {
                let connection = try database.connect(role: "entitled_api")
                switch action {
                case .identify: _ = try actions.identify(anonymous, as: Self.token, on: connection)
                case .identifyNew: _ = try actions.identify(anonymous, as: "new", on: connection)
                case .alias: _ = try actions.alias(Self.token, "person", on: connection)
                case .delete: _ = try actions.delete(Self.token, on: connection)
                case .restoreBehavior: _ = try actions.setRestoreBehavior(.keep, of: Self.token, on: connection)
                case .transfer: _ = try actions.transfer(from: Self.token, to: "person", on: connection)
                case .claim: _ = try actions.claim(key, by: "person", settings: settings, on: connection)
                case .post:
                    _ = try actions.post(
                        [CustomerActions.Posted(key: key, transaction: bought, entry: nil)], by: "person",
                        sequence: SequenceGenerator(clock: SystemClock(), node: 1), clock: SystemClock(),
                        terms: CustomerActions.PostTerms(settings: settings), on: connection)
                case .grant: _ = try actions.grant("plus", to: Self.token, .lasting(.weekly), on: connection)
                case .revoke: _ = try actions.revoke("pro", from: Self.token, on: connection)
                }
            }
            try database.untilBlocked()
            return (thread, try first.serverTime())
        }
        try thread.value()
        let latest = try database.count("SELECT at_ms FROM entitled.action ORDER BY seq DESC LIMIT 1")
        #expect(latest >= released)
    }

    @Test func `an action is later than the one before it, though the server's clock went back`() throws {
        let database = try Installation().database
        let connection = try database.connect(role: "entitled_api")
        try CustomerTable.make(["first", "second"], now: 1, on: connection)
        _ = try actions.alias("first", "alias", on: connection)
        try database.execute("UPDATE entitled.action SET at_ms = at_ms + 5000")
        let times = "SELECT at_ms::text FROM entitled.action ORDER BY seq"
        let before = try database.texts(times)
        // Under another id of the same customer.
        _ = try actions.setRestoreBehavior(.keep, of: "alias", on: connection)
        _ = try actions.alias("second", "other", on: connection)
        let after = try database.texts(times).compactMap(Int64.init)
        #expect(after[1] == after[0] + 1 && after[2] < after[0], "\(before) \(after)")
    }

    /// Also where the other id is new: acts that are judged already may be later than this one.
    @Test(arguments: [false, true])
    func `accounts of an anonymous customer are judged again once they log in`(isKnown: Bool) throws {
        let installation = try Installation()
        let database = installation.database
        let worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 204)
        #expect(try installation.post(life.start(at: Installation.start).withoutToken).status == 200)
        try installation.untilApplied(1)
        worker.stop()
        let owner = try #require(try database.texts("SELECT owner FROM entitled.purchase").first)
        let connection = try database.connect(role: "entitled_api")
        if isKnown { try CustomerTable.make(["person"], now: 1, on: connection) }
        try database.execute("DELETE FROM entitled.account_due")
        #expect(try actions.identify(owner, as: "person", on: connection) == !isKnown)
        #expect(try database.count("SELECT count(*) FROM entitled.account_due") == 1)
    }

    /// Two spellings of one UUID that came to be two customers: what is said of one must not reach an account that names the
    /// other, only because both accounts are judged at once.
    @Test func `accounts are judged together as each alone, whatever spelling another one names`() throws {
        let installation = try Installation()
        let database = installation.database
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let (upper, lower) = (Self.token.uppercased(), Self.token)
        var lives = [UInt64(211), 212].map { SubscriberLife(app: Installation.app, seed: $0, withToken: false) }
        try installation.postAll(lives.indices.map { lives[$0].start(at: Installation.start) })
        try installation.untilApplied(2)
        let connection = try database.connect(role: "entitled_worker")
        _ = try actions.claim(key(lives[0]), by: upper, settings: RestoreSettings(general: .transfer), on: connection)
        _ = try actions.claim(
            key(lives[1]), by: "person", settings: RestoreSettings(general: .transfer), on: connection)
        try database.execute(
            "INSERT INTO entitled.customer (original_app_user_id, first_seen_ms) VALUES ($1, 1)", [.text(lower)])
        try database.execute(
            "INSERT INTO entitled.app_user_id (id, original_app_user_id, first_seen_ms) VALUES ($1, $1, 1)",
            [.text(lower)])
        _ = try actions.alias("person", lower, on: connection)
        _ = try actions.transfer(from: "person", to: "receiver", on: connection)
        let owners = {
            try database.texts("SELECT original_transaction_id || ' ' || owner FROM entitled.purchase ORDER BY 1")
        }
        try eventually("accounts are judged") { try database.count("SELECT count(*) FROM entitled.account_due") == 0 }
        let before = try owners()
        #expect(before.filter { $0.hasSuffix("receiver") }.count == 1)
        try database.execute("INSERT INTO entitled.account_due (account) SELECT account FROM entitled.purchase")
        try eventually("both are judged at once") {
            try database.count("SELECT count(*) FROM entitled.account_due") == 0
        }
        #expect(try owners() == before)
        #expect(try installation.differences() == [])
    }
}
