import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@Suite struct RebuildTests {
    /// Lives of every kind, applied, with some of what people do.
    private func furnished(_ lives: UInt64 = 4) throws -> Installation {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let now = SystemClock().now()
        var notifications = Scenario.everyKind.notifications(app: Installation.app, seed: 9, number: 0, until: now)
        for number in 1...lives {
            notifications += Scenario.year.notifications(app: Installation.app, seed: 9, number: number, until: now)
        }
        // One without a token first: an alias that was not given. Its owner is seen before all others, so that it is the
        // original id of the customer whom an action joins it with.
        var life = SubscriberLife(app: Installation.app, seed: 10)
        let first = life.start(at: Installation.start).withoutToken
        try installation.postAll([first])
        try installation.untilApplied(1)
        try installation.postAll(notifications)
        notifications.append(first)
        try installation.untilApplied(Int64(Set(notifications.map(\.uuid)).count))
        try installation.postAll([life.autoRenewOff(at: Installation.start + 3_600_000)])
        try installation.untilApplied(Int64(Set(notifications.map(\.uuid)).count) + 1)
        let connection = try installation.database.connect(role: "entitled_worker")
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(259_200)))
        let ids = try installation.database.texts(
            """
            SELECT DISTINCT a.id FROM entitled.app_user_id a JOIN entitled.purchase p ON p.owner = a.id
            WHERE a.id = a.original_app_user_id ORDER BY 1 LIMIT 4
            """)
        try #require(ids.count == 4)
        _ = try actions.alias(ids[0], ids[1], on: connection)
        _ = try actions.alias(ids[0], "user-new", on: connection)
        _ = try actions.transfer(from: ids[2], to: "user-other", on: connection)
        _ = try actions.delete(ids[3], on: connection)
        return installation
    }

    private func rebuild(
        _ installation: Installation, pageSize: Int = 3, progress: (RecordRebuild.Progress) -> Void = { _ in }
    ) throws -> RebuildTotals {
        try RecordRebuild(
            patience: .seconds(86_400), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), isDry: false,
            pageSize: pageSize
        ).run(
            on: try installation.database.connect(role: "entitled_worker"),
            progress: progress, found: { _ in })
    }

    /// Everything that a rebuild is about.
    private func records(_ installation: Installation) throws -> [String] {
        try installation.purchaseRows()
            + (try installation.database.texts(
                """
                SELECT to_jsonb(x)::text FROM entitled.purchase_identifier x
                UNION ALL SELECT to_jsonb(x)::text FROM entitled.customer x
                UNION ALL SELECT to_jsonb(x)::text FROM entitled.app_user_id x
                UNION ALL SELECT (to_jsonb(x) - 'first_seen_ms')::text FROM entitled.product x ORDER BY 1
                """))
    }

    @Test func `what live workers and people made is what the log says`() throws {
        let installation = try furnished()
        try installation.expectNoDifferences()
        let before = try records(installation)
        let totals = try rebuild(installation)
        #expect(totals.differences == 0)
        #expect(totals.purchases == (try installation.database.count("SELECT count(*) FROM entitled.purchase")))
        #expect(totals.customers == (try installation.database.count("SELECT count(*) FROM entitled.customer")))
        #expect(try records(installation) == before)
    }

    /// Each is a kind of damage.
    @Test(arguments: [
        "UPDATE entitled.purchase SET product_id = 'nonsense'",
        "UPDATE entitled.purchase SET owner = 'nobody at all'",
        "UPDATE entitled.purchase SET access_ends_ms = 1, will_renew = NOT will_renew",
        "UPDATE entitled.purchase SET revoked_ms = 5, grace_ends_ms = 6",
        "DELETE FROM entitled.purchase",
        "DELETE FROM entitled.purchase_identifier",
        "DELETE FROM entitled.customer",
        "UPDATE entitled.app_user_id SET original_app_user_id = id",
        // An original id that is one of a customer's ids stays, so this is one that was an original id before.
        "UPDATE entitled.app_user_id SET original_app_user_id = (SELECT min(original_app_user_id) FROM entitled.app_user_id)",
        """
        INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id, will_renew,
            version, updated_ms) VALUES (\(Lane(app: "demo", environment: .production, subject: "forged").number), 'demo', 0, 'forged', 'forger', 'pro_monthly', true, 1, 1)
        """,
        "INSERT INTO entitled.customer VALUES ('nobody', 1)",
    ])
    func `damage is found, mended and told to nobody`(damage: String) throws {
        let installation = try furnished(2)
        let events = try installation.database.count("SELECT count(*) FROM entitled.event")
        let documents = try documents(installation)
        let before = try records(installation)
        try installation.database.execute(damage)
        let found = try installation.differences()
        #expect(!found.isEmpty)
        #expect(try installation.differences() == found, "a dry run changes nothing")
        let totals = try rebuild(installation)
        #expect(totals.differences > 0)
        try installation.expectNoDifferences()
        #expect(Set(try records(installation)).symmetricDifference(before).sorted() == [])
        #expect(try self.documents(installation) == documents)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") == events)
    }

    @Test func `ids that were lost come back as the log has them`() throws {
        let installation = try furnished(2)
        let groups =
            "SELECT string_agg(id, ' ' ORDER BY id) FROM entitled.app_user_id GROUP BY original_app_user_id ORDER BY 1"
        let named = try installation.database.texts(groups)
        try installation.database.execute("DELETE FROM entitled.app_user_id")
        try installation.database.execute("DELETE FROM entitled.customer")
        #expect(try !installation.differences().isEmpty)
        _ = try rebuild(installation)
        try installation.expectNoDifferences()
        // Who had nothing and was named by no action is gone with the table.
        let restored = try installation.database.texts(groups)
        #expect(Set(named).isSuperset(of: restored))
        let owners =
            "SELECT count(*) FROM entitled.purchase p LEFT JOIN entitled.app_user_id a ON a.id = p.owner WHERE a.id IS NULL"
        #expect(try installation.database.count(owners) == 0)
        #expect(restored.contains { $0.contains("user-new") && $0.split(separator: " ").count == 3 })
    }

    private func documents(_ installation: Installation) throws -> [String] {
        let now = SystemClock().now() / 86_400_000 * 86_400_000
        return try installation.database.texts("SELECT original_transaction_id FROM entitled.purchase ORDER BY 1").map {
            try installation.document(of: $0, now: now)
        }
    }

    @Test func `a rebuild whose process died goes on where it was`() throws {
        let installation = try furnished(2)
        try installation.database.execute("UPDATE entitled.purchase SET product_id = 'nonsense'")
        var pages = 0
        let database = installation.database
        #expect(throws: PostgresError.self) {
            _ = try rebuild(installation) { _ in
                pages += 1
                guard pages == 150 else { return }
                // All but this connection, as a kill would.
                _ = try? database.count(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename = 'entitled'
                    """)
            }
        }
        var resumed: [Bool] = []
        var fractions: [Double] = []
        let totals = try rebuild(installation) { progress in
            resumed.append(progress.isResumed)
            fractions.append(progress.fraction)
        }
        #expect(resumed.first == true)
        #expect(try #require(fractions.first) > 0.4)
        #expect(fractions == fractions.sorted())
        let purchases = try installation.database.count("SELECT count(*) FROM entitled.purchase")
        #expect(totals.purchases == purchases)
        #expect(totals.differences == purchases)
        try installation.expectNoDifferences()
        // The next one is a new one.
        let again = try rebuild(installation) { #expect(!$0.isResumed) }
        #expect(again.differences == 0)
    }

    @Test func `it runs beside workers that apply, and both are right`() throws {
        let installation = try Installation()
        let workers = try (0..<2).map { _ in try RunningWorker(installation, lease: .seconds(2)) }
        defer { for worker in workers { worker.stop() } }
        let now = SystemClock().now()
        let notifications = (UInt64(0)..<12).flatMap {
            Scenario.year.notifications(app: Installation.app, seed: 12, number: $0, until: now)
        }
        let poster = TestThread { try installation.postAll(notifications) }
        var rounds = 0
        repeat {
            let totals = try rebuild(installation, pageSize: 50)
            #expect(totals.differences == 0)
            try installation.expectNoDifferences()
            rounds += 1
        } while try installation.database.count("SELECT count(*) FROM entitled.notification")
            < Int64(notifications.count)
        try poster.value()
        try installation.untilApplied(Int64(notifications.count))
        #expect(rounds > 0)
        try installation.expectNoDifferences()
        #expect(try installation.heldReasons() == [])
    }

    @Test func `only timers to come are armed again, and one that is due stays due`() throws {
        let installation = try Installation()
        let now = SystemClock().now()
        let day = StoreProduct.day
        var lives = (UInt64(0)..<2).map { SubscriberLife(app: Installation.sandbox, seed: 13, number: $0) }
        let worker = try RunningWorker(installation)
        try installation.postAll([
            lives[0].start(lasts: 10 * day, at: now - 2 * day), lives[1].start(lasts: 10 * day, at: now - 40 * day),
        ])
        try installation.untilApplied(2)
        worker.stop()
        let (future, past) = (lives[0].latest.originalID, lives[1].latest.originalID)
        func wakes() throws -> [String] {
            try installation.database.texts(
                """
                SELECT original_transaction_id || CASE WHEN wake_ms IS NULL THEN ' none'
                    WHEN wake_ms > $1 THEN ' future' ELSE ' due' END FROM entitled.purchase ORDER BY 1
                """, [.int8(now)])
        }
        let expected = ["\(future) future", "\(past) none"].sorted()
        #expect(try wakes() == expected)
        try installation.database.execute("DELETE FROM entitled.purchase")
        _ = try rebuild(installation)
        #expect(try wakes() == expected)
        try installation.database.execute(
            "UPDATE entitled.purchase SET wake_ms = $1, product_id = 'x' WHERE original_transaction_id = $2",
            [.int8(now - 5), .text(past)])
        _ = try rebuild(installation)
        #expect(try wakes() == ["\(future) future", "\(past) due"].sorted())
    }
}
