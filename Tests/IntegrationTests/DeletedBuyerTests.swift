import Base
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Purchases whose first buyer was deleted, and that another customer had by then.
@Suite struct DeletedBuyerTests {
    private static let grace = Duration.seconds(3 * 86_400)
    private static let buyer = "ffffffff-0000-4000-8000-000000000001"
    private static let owners = "SELECT owner FROM entitled.purchase ORDER BY 1"
    private let installation: Installation
    private let worker: RunningWorker
    private let actions = CustomerActions(
        origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: grace))
    private var life = SubscriberLife(app: Installation.app, seed: 205)

    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        life.account.token = Self.buyer
    }

    private func key(_ life: SubscriberLife) -> PurchaseKey {
        PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
    }

    private func apply(_ notification: StoreNotification) throws {
        let count = try installation.database.count("SELECT count(*) FROM entitled.notification_key")
        #expect(try installation.post(notification).status == 200)
        try installation.untilApplied(count + 1)
    }

    /// - Parameter id: of the customer to whom all purchases belong.
    private func expect(_ id: String, _ count: Int = 1) throws {
        let owners = try installation.database.texts(Self.owners)
        #expect(owners.count == count)
        let connection = try installation.database.connect(role: "entitled_api")
        let roots = try CustomerTable.roots(of: [id] + owners, on: connection)
        #expect(roots.allSatisfy { $0 != nil && $0 == roots[0] }, "\(owners)")
        let differences = try installation.settledDifferences()
        #expect(differences == [])
    }

    @Test(arguments: [1, 2])
    mutating func `a purchase stays with the customer to whom it went before`(deletions: Int) throws {
        defer { worker.stop() }
        try apply(life.start(at: Installation.start))
        let connection = try installation.database.connect(role: "entitled_api")
        _ = try actions.claim(
            key(life), by: "person", settings: RestoreSettings(general: .transfer), on: connection)
        try expect("person")
        for _ in 0..<deletions {
            _ = try actions.admit(Self.buyer, on: connection)
            _ = try actions.delete(Self.buyer, on: connection)
        }
        try expect("person")
        try apply(life.autoRenewOff(at: Installation.start + StoreProduct.day))
        try expect("person")
    }

    @Test mutating func `a purchase that is heard of late belongs to whom its account went to before`() throws {
        defer { worker.stop() }
        try apply(life.start(at: Installation.start))
        let connection = try installation.database.connect(role: "entitled_api")
        var other = SubscriberLife(app: Installation.app, seed: 205, number: 1)
        other.account = life.account
        let late = other.start(at: Installation.start + StoreProduct.day)
        _ = try actions.claim(
            key(life), by: "person", settings: RestoreSettings(general: .transfer), on: connection)
        _ = try actions.delete(Self.buyer, on: connection)
        try apply(late)
        try expect("person", 2)
    }

    @Test mutating func `a purchase of a deleted customer goes to the customer who restores it`() throws {
        defer { worker.stop() }
        try apply(life.start(at: Installation.start))
        let connection = try installation.database.connect(role: "entitled_api")
        _ = try actions.delete(Self.buyer, on: connection)
        try apply(life.autoRenewOff(at: Installation.start + StoreProduct.day))
        _ = try actions.claim(
            key(life), by: "person", settings: RestoreSettings(general: .keep), on: connection)
        try expect("person")
        try apply(life.autoRenewOn(at: Installation.start + 2 * StoreProduct.day))
        try expect("person")
    }

    /// The worker has looked for deletions by then, and waits for the Apple account.
    @Test mutating func `a customer who is deleted while their purchase is being applied`() throws {
        defer { worker.stop() }
        let database = installation.database
        let connection = try database.connect(role: "entitled_api")
        _ = try actions.admit(Self.buyer, on: connection)
        let other = try database.connect()
        let begun = life.start(at: Installation.start)
        try other.transaction {
            try other.query("LOCK TABLE entitled.account IN EXCLUSIVE MODE")
            #expect(try installation.post(begun).status == 200)
            try database.untilBlocked()
            _ = try actions.delete(Self.buyer, on: connection)
        }
        try installation.untilApplied(1)
        // What Apple signed over the token is not kept.
        #expect(try database.count("SELECT count(*) FROM entitled.notification") == 0)
        let operating = try database.connect(role: "entitled_worker")
        let erasure = CustomerErasure(foldSettings: FoldSettings(defaultGrace: Self.grace), patience: .zero)
        for _ in 0..<2 {
            while try erasure.step(on: operating) {}
            let differences = try installation.settledDifferences()
            #expect(differences == [])
            _ = try actions.admit(Self.buyer, on: connection)
            _ = try actions.delete(Self.buyer, on: connection)
        }
    }

    /// The deleted customer had posted it, and the names in a post are pseudonyms after the erasure.
    @Test(arguments: [false, true])
    mutating func `a restored purchase of a deleted customer is the restorer's, before the erasure and after it`(
        isSwept: Bool
    ) throws {
        defer { worker.stop() }
        try apply(life.start(at: Installation.start).withoutToken)
        let connection = try installation.database.connect(role: "entitled_api")
        let keep = RestoreSettings(general: .keep)
        _ = try actions.claim(key(life), by: "first", settings: keep, on: connection)
        _ = try actions.setRestoreBehavior(.keep, of: "first", on: connection)
        _ = try actions.delete("first", on: connection)
        if isSwept {
            let operating = try installation.database.connect(role: "entitled_worker")
            let erasure = CustomerErasure(foldSettings: FoldSettings(defaultGrace: Self.grace), patience: .zero)
            while try erasure.step(on: operating) {}
        }
        let before = try installation.settledDifferences()
        #expect(before == [])
        _ = try actions.claim(key(life), by: "person", settings: keep, on: connection)
        try expect("person")
    }

    /// An entry of the log names customers of two deletions, whose sweeps wait for the same lane.
    @Test mutating func `sweeps of two deletions at once leave neither name in the log`() throws {
        let database = installation.database
        do {
            defer { worker.stop() }
            try apply(life.start(at: Installation.start))
        }
        let connection = try database.connect(role: "entitled_api")
        _ = try actions.transfer(from: Self.buyer, to: "second", on: connection)
        let deletions = try [Self.buyer, "second"].map { try actions.delete($0, on: connection).id }
        let erasure = CustomerErasure(foldSettings: FoldSettings(defaultGrace: Self.grace), patience: .zero)
        let holder = try database.connect()
        let sweeps = try holder.transaction {
            try holder.query("SELECT FROM entitled.lane ORDER BY lane FOR UPDATE")
            let sweeps = deletions.map { deletion in
                TestThread { _ = try erasure.step(deletion, on: try database.connect(role: "entitled_worker")) }
            }
            try database.untilBlocked(2)
            return sweeps
        }
        for erasure in sweeps { try erasure.value() }
        let named = try database.count(
            "SELECT count(*) FROM entitled.action WHERE ARRAY[app_user_id, other] && $1::text[]",
            [.texts([Self.buyer, "second"])])
        #expect(named == 0)
    }
}
