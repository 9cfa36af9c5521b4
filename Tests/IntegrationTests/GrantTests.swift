import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Grants on a real Postgres, beside a worker.
@Suite struct GrantTests {
    /// An installation with a worker, a consumer, and a connection as the api has it.
    private final class Scene {
        let installation: Installation
        let worker: RunningWorker
        let consumer: Consumer
        let connection: PostgresConnection
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester", reason: "a test"),
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))

        init(role: String = "entitled_api") throws {
            installation = try Installation()
            consumer = try Consumer()
            _ = try installation.addEndpoint(consumer)
            worker = try RunningWorker(installation)
            connection = try installation.database.connect(role: role)
        }

        func end() {
            worker.stop()
            consumer.stop()
        }

        func customer(_ id: String) throws -> CustomerQuery.Found? {
            try CustomerQuery.find(anyID: id, foldSettings: FoldSettings(), on: connection)
        }

        func types(_ count: Int) throws -> [String] { try consumer.wait(count).map(\.type).sorted() }

        func events() throws -> [String] {
            try installation.database.texts("SELECT type FROM entitled.event ORDER BY type")
        }

        func kinds() throws -> [String] {
            try installation.database.texts("SELECT kind FROM entitled.action ORDER BY seq")
        }
    }

    // MARK: - Giving

    @Test func `a grant makes the customer, its record and its event at once, and again changes nothing`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let first = try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection)
        #expect(first.isNew)
        let event = try #require(try scene.consumer.wait(1).first)
        #expect(first.events == [event.id])
        #expect(event.type == "NON_RENEWING_PURCHASE")
        #expect(event.event?["app_id"] == nil)
        #expect(event.event?["app_user_id"] == .string("bob"))
        #expect(event.event?["entitlement_ids"] == .strings(["pro"]))
        #expect(event.event?["expiration_at_ms"]?.intValue == first.grant.start + 7 * StoreProduct.day)
        #expect(event.event?["original_transaction_id"] == .string(first.grant.id))
        let again = try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection)
        #expect(!again.isNew && again.events.isEmpty && again.grant == first.grant)
        #expect(try scene.kinds() == ["grant"])
        #expect(try scene.events() == ["NON_RENEWING_PURCHASE"])
        let found = try #require(try scene.customer("bob"))
        #expect(found.purchases.map(\.key) == [first.grant.key])
        #expect(try scene.customer(first.grant.id)?.customer.originalAppUserID == "bob")
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.product") == 0)
        try scene.installation.expectNoDifferences()
        let told = try TimelineQuery.timeline(
            of: found.purchases.map(\.key), appUserIDs: found.customer.appUserIDs, patience: StoreProduct.day,
            foldSettings: FoldSettings(), now: SystemClock().now(), on: scene.connection
        ).entries
        #expect(
            told.map(\.title) == [
                "pro was granted to bob until \(Timestamp.text(first.grant.end ?? 0)), by tester: a test"
            ])
        #expect(told.flatMap(\.events).map(\.id) == first.events)
    }

    @Test func `another term or entitlement is another grant, and after two hours the same is too`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let now = SystemClock().now()
        let terms: [GrantTerm] = [
            .lasting(.weekly), .lasting(.monthly), .until(now + StoreProduct.day), .until(now + 2 * StoreProduct.day),
        ]
        for term in terms {
            #expect(try scene.actions.grant("pro", to: "bob", term, on: scene.connection).isNew)
        }
        #expect(try scene.actions.grant("basic", to: "bob", .lasting(.weekly), on: scene.connection).isNew)
        #expect(try scene.actions.grant("pro", to: "eve", .lasting(.weekly), on: scene.connection).isNew)
        #expect(try scene.events().count == 6)
        try scene.installation.expectNoDifferences()
    }

    @Test func `what cannot be granted, or to nobody, leaves nothing behind`() throws {
        let scene = try Scene()
        defer { scene.end() }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try scene.actions.grant("pro", to: "bob", .until(1), on: scene.connection)
        }
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try scene.actions.grant("pro", to: "null", .lasting(.daily), on: scene.connection)
        }
        #expect(throws: CustomerActions.Rejection.unknown("bob")) {
            _ = try scene.actions.revoke("pro", from: "bob", on: scene.connection)
        }
        #expect(try scene.kinds() == [])
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.customer") == 0)
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.fact") == 0)
    }

    @Test func `who wants the events of one app gets no grants, and who wants grants gets them`() throws {
        let scene = try Scene(role: "entitled_worker")
        defer { scene.end() }
        let consumers = try [["demo"], [Grant.app]].map { apps in
            let consumer = try Consumer()
            _ = try EndpointTable.add(
                url: consumer.url(), authorization: nil, environments: [], events: [], apps: apps,
                sealer: scene.installation.sealer, now: SystemClock().now(), on: scene.connection)
            return consumer
        }
        defer { for consumer in consumers { consumer.stop() } }
        _ = try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection)
        #expect(try consumers[1].wait(1).map(\.type) == ["NON_RENEWING_PURCHASE"])
        try scene.installation.untilDeliveries(2, .delivered)
        #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.delivery") == 2)
        #expect(consumers[0].requests.isEmpty)
    }

    // MARK: - Ending

    @Test func `the end is told by the worker when it comes, once, and at once after it`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let end = SystemClock().now() + 1500
        let given = try scene.actions.grant("pro", to: "bob", .until(end), on: scene.connection)
        let event = try #require(try scene.consumer.wait(2).last?.event)
        #expect(event["type"] == .string("EXPIRATION"))
        #expect(event["expiration_reason"] == .string("UNSUBSCRIBE"))
        #expect(event["original_transaction_id"] == .string(given.grant.id))
        #expect(event["expiration_at_ms"] == .int(end))
        #expect(event["event_timestamp_ms"]?.intValue ?? 0 >= end)
        let database = scene.installation.database
        #expect(try database.count("SELECT count(*) FROM entitled.purchase WHERE wake_ms IS NOT NULL") == 0)
        try scene.installation.expectNoDifferences()
        // What is over cannot be taken back.
        #expect(try scene.actions.revoke("pro", from: "bob", on: scene.connection).grants.isEmpty)
        #expect(try scene.kinds() == ["grant"])
    }

    @Test func `a revocation takes back all that runs of one entitlement, once`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let connection = scene.connection
        let taken = [
            try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: connection),
            try scene.actions.grant("pro", to: "bob", .lasting(.lifetime), on: connection),
        ]
        let kept = try scene.actions.grant("basic", to: "bob", .lasting(.weekly), on: connection)
        let revocation = try scene.actions.revoke("pro", from: "bob", on: connection)
        #expect(Set(revocation.grants.map(\.id)) == Set(taken.map(\.grant.id)))
        #expect(revocation.events.count == 4)
        #expect(
            try scene.types(7)
                == Array(repeating: "CANCELLATION", count: 2) + Array(repeating: "EXPIRATION", count: 2)
                + Array(repeating: "NON_RENEWING_PURCHASE", count: 3))
        for event in scene.consumer.requests.compactMap(\.event) where event["type"] == .string("CANCELLATION") {
            #expect(event["cancel_reason"] == .string("DEVELOPER_INITIATED"))
            #expect(event["expiration_at_ms"] == .integer(revocation.grants.first?.revoked))
        }
        #expect(try scene.actions.revoke("pro", from: "bob", on: connection).grants.isEmpty)
        #expect(try scene.kinds() == ["grant", "grant", "grant", "revoke"])
        let now = SystemClock().now() + 1000
        let running = try #require(try scene.customer("bob")).purchases.filter { $0.hasAccess(at: now) }
        #expect(running.map(\.key) == [kept.grant.key])
        // Given again it is another grant.
        #expect(try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: connection).isNew)
        try scene.installation.expectNoDifferences()
    }

    // MARK: - What else is done with customers

    @Test func `a grant follows its customer through an alias, and any id finds it`() throws {
        let scene = try Scene(role: "entitled_worker")
        defer { scene.end() }
        let anonymous = Owner.anonymousPrefix + String(repeating: "a", count: 32)
        _ = try scene.actions.grant("pro", to: anonymous, .lasting(.weekly), on: scene.connection)
        _ = try scene.actions.alias(anonymous, "bob", on: scene.connection)
        #expect(try !scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection).isNew)
        let revocation = try scene.actions.revoke("pro", from: "bob", on: scene.connection)
        #expect(revocation.grants.count == 1)
        #expect(try scene.consumer.wait(3).last?.event?["app_user_id"] == .string("bob"))
        try scene.installation.expectNoDifferences()
    }

    @Test func `a grant stays when purchases are transferred or restored`() throws {
        let scene = try Scene(role: "entitled_worker")
        defer { scene.end() }
        var life = SubscriberLife(app: Installation.app, seed: 70, number: 1)
        let token = "aaaaaaaa-0000-4000-8000-000000000070"
        life.account.token = token
        try scene.installation.postAll([life.start(at: Installation.start)])
        try scene.installation.untilApplied(1)
        let given = try scene.actions.grant("pro", to: token, .lasting(.weekly), on: scene.connection).grant
        let bought = PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        let stays = CustomerActions.Rejection.grantStays(given.id)
        #expect(throws: stays) {
            _ = try scene.actions.transfer(from: token, to: "heir", only: [given.id], on: scene.connection)
        }
        #expect(throws: stays) {
            _ = try scene.actions.claim(
                given.key, by: "heir", settings: RestoreSettings(general: .transfer), on: scene.connection)
        }
        #expect(try scene.actions.transfer(from: token, to: "heir", on: scene.connection).purchases == [bought])
        guard
            case .moved(let moved) = try scene.actions.claim(
                bought, by: token, settings: RestoreSettings(general: .transfer), on: scene.connection)
        else {
            Issue.record("not moved")
            return
        }
        #expect(moved.purchases == [bought])
        guard
            case .moved = try scene.actions.claim(
                bought, by: "heir", settings: RestoreSettings(general: .transfer), on: scene.connection)
        else {
            Issue.record("not moved")
            return
        }
        #expect(try scene.customer(token)?.purchases.map(\.key) == [given.key])
        #expect(try scene.customer("heir")?.purchases.map(\.key) == [bought])
        try scene.installation.expectNoDifferences()
    }

    @Test func `a grant ends with its customer, without a word`() throws {
        let scene = try Scene(role: "entitled_worker")
        defer { scene.end() }
        let given = try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection).grant
        _ = try scene.consumer.wait(1)
        #expect(try scene.actions.delete("bob", on: scene.connection).purchases == [given.key])
        let database = scene.installation.database
        #expect(try scene.customer("bob") == nil)
        let facts = try #require(try FactTable.load([given.key], on: scene.connection).first)
        let purchase = try #require(Purchase(folding: facts, key: given.key))
        #expect(!purchase.hasAccess(at: SystemClock().now() + 1000))
        #expect(try database.count("SELECT count(*) FROM entitled.purchase WHERE wake_ms IS NOT NULL") == 0)
        #expect(try scene.events() == ["NON_RENEWING_PURCHASE"])
        try scene.installation.expectNoDifferences()
        let unclaimed = try PurchaseQuery.list(
            isUnclaimed: true, app: nil, environment: nil, atMost: 10, foldSettings: FoldSettings(),
            on: scene.connection)
        #expect(unclaimed.isEmpty)
        // Whoever comes with the id again is somebody new, who was granted nothing.
        #expect(try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection).isNew)
    }

    @Test func `records that were lost come back from the log`() throws {
        let scene = try Scene()
        let given = try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection).grant
        _ = try scene.actions.grant("pro", to: "eve", .lasting(.lifetime), on: scene.connection)
        _ = try scene.actions.revoke("pro", from: "eve", on: scene.connection)
        scene.end()
        let database = scene.installation.database
        let before = try scene.installation.purchaseRows()
        try database.execute(
            """
            TRUNCATE entitled.purchase, entitled.purchase_identifier, entitled.customer, entitled.app_user_id,
                entitled.customer_note
            """)
        let totals = try RecordRebuild(
            patience: .seconds(86_400), foldSettings: FoldSettings(defaultGrace: .seconds(1)), isDry: false
        ).run(
            on: try database.connect(role: "entitled_worker"), progress: { _ in }, found: { _ in })
        #expect(totals.differences > 0)
        #expect(try scene.installation.purchaseRows() == before)
        #expect(try scene.customer("bob")?.purchases.map(\.key) == [given.key])
        #expect(
            try database.count("SELECT wake_ms FROM entitled.purchase WHERE owner = 'bob'") == given.end)
        try scene.installation.expectNoDifferences()
    }

    @Test func `a lost fact of a grant is a difference`() throws {
        let scene = try Scene()
        defer { scene.end() }
        _ = try scene.actions.grant("pro", to: "bob", .lasting(.weekly), on: scene.connection)
        try scene.installation.database.execute("DELETE FROM entitled.fact WHERE kind = 6")
        #expect(try scene.installation.differences().count == 1)
    }

    // MARK: - At the same time

    @Test func `the same grant by many at once is given once, and taken back by many at once once`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let (database, actions) = (scene.installation.database, scene.actions)
        let givers = (0..<12).map { _ in
            TestThread {
                try actions.grant(
                    "pro", to: "bob", .lasting(.weekly), on: try database.connect(role: "entitled_api")
                ).isNew
            }
        }
        #expect(try givers.map { try $0.value() }.filter(\.self).count == 1)
        let takers = (0..<12).map { _ in
            TestThread {
                try actions.revoke("pro", from: "bob", on: try database.connect(role: "entitled_api")).grants.count
            }
        }
        #expect(try takers.map { try $0.value() }.reduce(0, +) == 1)
        #expect(try scene.kinds() == ["grant", "revoke"])
        #expect(try scene.types(3) == ["CANCELLATION", "EXPIRATION", "NON_RENEWING_PURCHASE"])
        try scene.installation.expectNoDifferences()
    }

    @Test func `grants, revocations, merges and deletions at once end in what the log says`() throws {
        let scene = try Scene(role: "entitled_worker")
        defer { scene.end() }
        let (database, actions) = (scene.installation.database, scene.actions)
        let durations = GrantDuration.allCases
        let threads = (0..<8).map { number in
            TestThread {
                let connection = try database.connect(role: "entitled_worker")
                for round in 0..<10 {
                    let id = "user-\((number + round) % 4)"
                    do {
                        switch (number + round) % 5 {
                        case 0, 1:
                            _ = try actions.grant(
                                "pro", to: id, .lasting(durations[(number * 3 + round) % durations.count]),
                                on: connection)
                        case 2: _ = try actions.revoke("pro", from: id, on: connection)
                        case 3: _ = try actions.alias(id, "alias-\(number)-\(round)", on: connection)
                        default: _ = try actions.delete(id, on: connection)
                        }
                    } catch CustomerActions.Rejection.unknown {
                        // Deleted, or nobody gave them anything yet.
                    }
                }
            }
        }
        for thread in threads { try thread.value() }
        try scene.installation.expectNoDifferences()
        let ownerless = try database.count(
            """
            SELECT count(*) FROM entitled.purchase p
            WHERE NOT EXISTS (SELECT 1 FROM entitled.app_user_id a WHERE a.id = p.owner)
            """)
        #expect(ownerless == 0)
        // Nothing runs of whom nobody is.
        let anonymous = try database.count(
            """
            SELECT count(*) FROM entitled.purchase p
            WHERE starts_with(p.owner, '$RCAnonymousID:') AND p.revoked_ms IS NULL
                AND (p.access_ends_ms IS NULL OR p.access_ends_ms > 1)
            """)
        #expect(anonymous == 0)
    }

    // MARK: - Who may not

    @Test func `the public role can put no grant into the log`() throws {
        let installation = try Installation()
        let connection = try installation.database.connect(role: "entitled_ingest")
        let row = FactRow(
            Grant(
                id: String(repeating: "a", count: 32), entitlement: "pro", product: "rc_promo_pro_lifetime", start: 1,
                end: nil, at: 1, action: 1))
        let error = #expect(throws: PostgresError.self) {
            try FactTable.insert(
                [FactTable.New(key: Grant.key(String(repeating: "a", count: 32)), seq: 1, fact: row)], on: connection)
        }
        #expect(error?.sqlstate == "42501")
    }

    /// Whoever could make Apple sign a type and members of their choice would have a purchase of the app, and no grant.
    @Test func `a notification with the members of a grant is a purchase like another`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 71, number: 1)
        try installation.postAll([life.start(at: Installation.start).asGrant])
        try installation.untilApplied(1)
        let database = installation.database
        #expect(try database.texts("SELECT app FROM entitled.purchase") == ["demo"])
        #expect(try database.count("SELECT count(*) FROM entitled.fact WHERE kind = 6") == 0)
        let found = try CustomerQuery.find(
            anyID: life.latest.originalID, foldSettings: FoldSettings(), on: try database.connect(role: "entitled_api"))
        #expect(found?.purchases.map(\.latest.type) == [.normal])
    }
}

extension StoreNotification {
    /// The same with a transaction that says all that a grant says.
    fileprivate var asGrant: StoreNotification {
        var changed = self
        if case .data(let fields, let transaction, let renewal, let status) = content {
            let members = transaction?.members?.filter { $0.name != "type" } ?? []
            let more = JSON.object([
                "type": .string("Promotional"), "entitlement": .string("pro"), "id": .string("1"),
                "product": .string("rc_promo_pro_lifetime"), "start": .int(1), "at": .int(1), "action": .int(1),
            ])
            changed.content = .data(
                fields, transaction: .object(members + (more.members ?? [])), renewal: renewal, status: status)
        }
        return changed
    }
}
