import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// The views of analysts over lives that were played: what they say is what the program says in other ways.
@Suite struct ReportViewTests {
    private static let foldSettings = FoldSettings(defaultGrace: .seconds(3 * 86_400))
    private static let now = SystemClock().now() / 1000 * 1000
    private static let begin = now - 800 * StoreProduct.day

    private static func terms(_ rates: [String: Int64] = ["EUR": 1_100_000]) -> ReportTerms {
        ReportTerms(
            catalogue: EntitlementCatalogue(["pro": ["pro_monthly", "pro_yearly", "pro_lifetime"]]),
            rates: DollarRates(millionths: rates), seller: SellerTerms(taxes: ["DE": Share(millionths: 159_700)]),
            foldSettings: foldSettings)
    }

    /// Lives of every kind in several currencies, a family member, a tester, and a customer with a grant.
    private func furnished() throws -> Installation {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var notifications = Scenario.everyKind.notifications(
            app: Installation.app, seed: 31, number: 0, until: Self.now)
        for number in 1...4 as ClosedRange<UInt64> {
            notifications += Scenario.year.notifications(
                app: Installation.app, seed: 31, number: number, until: Self.now)
            notifications += Scenario.mixed.notifications(
                app: Installation.app, seed: 32, number: number, until: Self.now)
        }
        var member = SubscriberLife(app: Installation.app, seed: 33, isFamilyMember: true)
        notifications.append(member.start(at: Installation.start))
        var tester = SubscriberLife(app: Installation.sandbox, seed: 34)
        notifications.append(tester.start(at: Installation.start))
        let once = Dictionary(notifications.map { ($0.uuid, $0) }) { first, _ in first }
        try installation.postAll(Array(once.values))
        try installation.untilApplied(Int64(once.count))
        _ = try actions.grant(
            "pro", to: "bob", .lasting(.weekly), on: try installation.database.connect(role: "entitled_api"))
        return installation
    }

    private var actions: CustomerActions {
        CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: Self.foldSettings)
    }

    private func refresh(_ installation: Installation, _ terms: ReportTerms = terms()) throws {
        try ReportRefresh(terms, pageSize: 3).all(on: try installation.database.connect(role: "entitled_worker"))
    }

    private func analyst(_ installation: Installation) throws -> PostgresConnection {
        try installation.database.connect(role: "entitled_analyst")
    }

    private func report(_ installation: Installation, _ from: Int64, _ to: Int64) throws -> Report.Part {
        let database = installation.database
        return try ReportRun(
            ReportQuestion(app: nil, environment: .production, step: .total), foldSettings: Self.foldSettings,
            threads: 2
        ).run(
            connect: { try database.connect(role: "entitled_api") },
            calendar: { _ in try #require(ReportCalendar(from: from, to: to, by: .total)) }, progress: { _, _ in }
        ).total
    }

    // MARK: - Money

    private static let selectSums = """
        SELECT currency,
            coalesce(sum(price_milliunits) FILTER (
                WHERE purchased_at >= to_timestamp($1 / 1000) AND purchased_at < to_timestamp($2 / 1000)), 0)::int8 AS gross,
            coalesce(sum(refunded_milliunits) FILTER (
                WHERE refunded_at >= to_timestamp($1 / 1000) AND refunded_at < to_timestamp($2 / 1000)), 0)::int8 AS refunded
        FROM entitled_reports.transactions WHERE NOT is_sandbox AND store = 'app_store' AND price_milliunits <> 0
        GROUP BY currency ORDER BY currency
        """

    /// The last currency has transactions without a price, and no sums.
    private func sums(_ part: Report.Part) -> [String] {
        part.currencies.filter { $0.money.gross != 0 || $0.money.refunded != 0 }.compactMap { currency, money in
            currency.map { "\($0) \(money.gross) \(money.refunded)" }
        }
    }

    @Test(arguments: [(0, 800), (200, 500), (793, 800)])
    func `sums of transactions are those of the report of the same time`(days: (Int64, Int64)) throws {
        let installation = try furnished()
        try refresh(installation)
        let (from, to) = (Self.begin + days.0 * StoreProduct.day, Self.begin + days.1 * StoreProduct.day)
        let wanted = sums(try report(installation, from, to))
        let rows = try analyst(installation).query(Self.selectSums, [.int8(from), .int8(to)])
        let found = try rows.filter { try $0.int("gross") != 0 || $0.int("refunded") != 0 }.map {
            "\(try $0.text("currency")) \(try $0.int("gross")) \(try $0.int("refunded"))"
        }
        #expect(found == wanted)
        #expect(days.0 > 0 || wanted.count >= 2)
        #expect(days.0 > 0 || wanted.contains { !$0.hasSuffix(" 0") }, "nothing was refunded")
    }

    /// The report's amounts in thousandths of a dollar, of the currencies that have a rate.
    private func dollars(_ part: Report.Part, _ amount: (ReportMoney) -> Int64) -> Int64 {
        part.currencies.reduce(0) { sum, entry in
            let rates = DollarRates(millionths: ["EUR": 1_100_000])
            return sum + (entry.currency.flatMap { rates.milliunits(amount(entry.money), of: $0) } ?? 0)
        }
    }

    @Test(arguments: [650, 770, 799])
    func `the overview is that of the report at the same instant`(day: Int64) throws {
        let installation = try furnished()
        let api = try installation.database.connect(role: "entitled_api")
        let now = Self.begin + day * StoreProduct.day
        #expect(try ReportOverview.read(now: now, on: api) == nil, "nothing was refreshed")
        try refresh(installation)
        let shown = try #require(try ReportOverview.read(now: now, on: api))
        let part = try report(installation, now - ReportOverview.window, now + 1)
        #expect(shown.subscriptions == (part.gauges[.paying] ?? 0) + (part.gauges[.inGrace] ?? 0))
        #expect(shown.trials == part.gauges[.inTrial])
        // Each payment is converted by itself, and cut off.
        let payments = (part.counts[.payments] ?? 0) + (part.counts[.refunds] ?? 0) + shown.subscriptions
        #expect(abs(shown.revenue - dollars(part) { $0.net }) <= payments)
        #expect(abs(shown.monthly - dollars(part) { $0.monthly }) <= payments)
        #expect(shown.newCustomers > 0 && shown.activeCustomers >= shown.newCustomers)
        guard day == 799 else { return }
        #expect(shown.subscriptions > 0 && shown.monthly > 0 && shown.revenue != 0)
        #expect(shown.unconverted > 0, "some have a currency without a rate")
    }

    private static let selectWrong = """
        SELECT count(*) FROM entitled_reports.transactions
        WHERE price <> price_milliunits / 1000.0 OR refunded <> refunded_milliunits / 1000.0 OR net <> price - refunded
            OR abs(commission - net * commission_share) > 0.000001 OR abs(tax - net * tax_share) > 0.000001
            OR abs(net - commission - tax - proceeds) > 0.000003
            OR (currency = 'USD') AND price_usd IS DISTINCT FROM price
            OR (currency = 'EUR') AND price_usd IS DISTINCT FROM trunc(price * 1.1, 3)
            OR (currency NOT IN ('USD', 'EUR')) AND price <> 0 AND price_usd IS NOT NULL
            OR (price IS NULL) <> (net IS NULL) OR (price IS NULL) <> (proceeds IS NULL)
        """

    @Test func `amounts fit together, families and grants cost nothing, and testers are marked`() throws {
        let installation = try furnished()
        try refresh(installation)
        let connection = try analyst(installation)
        func count(_ condition: String) throws -> Int64 {
            try connection.query("SELECT count(*) FROM entitled_reports.transactions WHERE \(condition)").one().int(0)
        }
        #expect(try connection.query(Self.selectWrong).one().int(0) == 0)
        #expect(try count("price > 0 AND currency = 'EUR' AND tax > 0") > 0)
        #expect(try count("is_family_share") > 0)
        #expect(try count("is_family_share AND price IS DISTINCT FROM 0") == 0)
        #expect(try count("is_sandbox") == 1)
        #expect(try count("refunded > 0 AND refunded_at IS NOT NULL") > 0)
        #expect(try count("period_type = 'TRIAL' AND price = 0") > 0 && count("is_trial_conversion") > 0)
        #expect(
            try count(
                "store = 'promotional' AND app IS NULL AND customer_id = 'bob' AND product_type IS NULL AND price = 0"
                    + " AND proceeds = 0 AND period_type = 'PROMOTIONAL' AND access_ends_at > now()") == 1)
        #expect(try count("store = 'promotional'") == 1)
        let transactions = try installation.database.count(
            "SELECT count(DISTINCT (transaction_id, is_sandbox)) FROM entitled_reports.transactions")
        #expect(try count("true") == transactions)
    }

    // MARK: - Access

    @Test func `entitlements are those of the customers' documents`() throws {
        let installation = try furnished()
        try refresh(installation)
        let api = try installation.database.connect(role: "entitled_api")
        var wanted: Set<String> = []
        for id in try installation.database.texts("SELECT original_app_user_id FROM entitled.customer") {
            let found = try #require(
                try CustomerQuery.find(anyID: id, foldSettings: Self.foldSettings, on: api))
            let profile = CustomerProfile(
                originalAppUserID: id, appUserIDs: found.customer.appUserIDs, firstSeen: 1, lastSeen: 1)
            let now = SystemClock().now()
            let document = SubscriberDocument(catalogue: installation.catalogue).json(
                customer: profile, purchases: found.purchases, now: now)
            for entry in document["subscriber"]?["entitlements"]?.members ?? [] {
                let end = entry.value["expires_date"]?.stringValue.flatMap(Timestamp.parse)
                if end.map({ $0 > now }) ?? true { wanted.insert("\(id) \(entry.name)") }
            }
        }
        let connection = try analyst(installation)
        let found = try connection.query(
            "SELECT DISTINCT customer_id || ' ' || entitlement FROM entitled_reports.entitlements_now"
        ).map { try $0.text(0) }
        #expect(Set(found) == wanted)
        #expect(wanted.contains("bob pro") && wanted.count > 2)
        let tested = "SELECT count(*) FROM entitled_reports.entitlements_now WHERE is_sandbox"
        #expect(try connection.query(tested).one().int(0) == 1)
        // Time alone ends them, without a refresh.
        try installation.database.execute("UPDATE entitled.report_entitlement SET expires_ms = 1")
        #expect(try connection.query("SELECT count(*) FROM entitled_reports.entitlements_now").one().int(0) == 0)
    }

    @Test func `customers, subscriptions and events are those of the tables, without a refresh`() throws {
        let installation = try furnished()
        let (database, connection) = (installation.database, try analyst(installation))
        func count(_ sql: String) throws -> Int64 { try connection.query("SELECT count(*) FROM \(sql)").one().int(0) }
        let customers = try database.count("SELECT count(*) FROM entitled.customer")
        #expect(try count("entitled_reports.customers WHERE customer_id = ANY(app_user_ids)") == customers)
        let subscriptions = try database.count(
            "SELECT count(DISTINCT (app, environment, original_transaction_id)) FROM entitled.purchase p"
                + " JOIN entitled.product USING (product_id, app, environment)"
                + " WHERE kind = 'Auto-Renewable Subscription'")
        #expect(try count("entitled_reports.subscriptions") == subscriptions && subscriptions > 5)
        #expect(
            try count("entitled_reports.subscriptions s JOIN entitled_reports.customers USING (customer_id)")
                == subscriptions)
        let events = try database.count("SELECT count(*) FROM entitled.event")
        #expect(try count("entitled_reports.events") == events && events > 20)
        #expect(try count("entitled_reports.events WHERE customer_id = 'bob' AND app IS NULL") == 1)
        #expect(try count("entitled_reports.transactions") == 0)
        #expect(try count("entitled_reports.freshness WHERE refreshed_at IS NULL") == 1)
        // Reports leave out what a family shares.
        try refresh(installation)
        let active = try report(installation, Self.begin, SystemClock().now()).gauges[.active]
        let bought = """
            entitled_reports.subscriptions s WHERE has_access AND NOT is_sandbox AND NOT EXISTS (
                SELECT FROM entitled_reports.transactions t WHERE t.is_family_share AND t.access_ends_at > now()
                    AND t.original_transaction_id = s.original_transaction_id)
            """
        let found = try count(bought)
        #expect(found == active && found > 1)
    }

    // MARK: - Refreshing

    private func versions(_ installation: Installation) throws -> Set<String> {
        Set(
            try installation.database.texts(
                "SELECT 'transaction ' || xmin || ' ' || transaction_id FROM entitled.report_transaction UNION ALL"
                    + " SELECT 'purchase ' || xmin || ' ' || original_transaction_id FROM entitled.report_purchase"))
    }

    @Test func `a refresh writes what changed, and nothing else`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var lives = (0..<3 as Range<UInt64>).map { SubscriberLife(app: Installation.app, seed: 35, number: $0) }
        for place in lives.indices { try installation.postAll([lives[place].start(at: Installation.start)]) }
        try installation.untilApplied(3)
        try refresh(installation)
        let first = try versions(installation)
        #expect(first.count == 6)
        let before = try installation.database.count("SELECT started_ms FROM entitled.report_refresh")
        try refresh(installation)
        #expect(try versions(installation) == first)
        #expect(try installation.database.count("SELECT started_ms FROM entitled.report_refresh") > before)
        try installation.postAll([lives[0].renew(at: lives[0].expires)])
        try installation.untilApplied(4)
        try refresh(installation)
        let second = try versions(installation)
        #expect(second.count == 7)
        // The transaction that stays is not written again.
        #expect(second.intersection(first).count == 5)
        // Other rates make other rows of the same purchases.
        try refresh(installation, Self.terms(["EUR": 1_200_000]))
        #expect(try versions(installation).count == 7)
        let stamps = "SELECT count(DISTINCT stamp) FROM entitled.report_purchase"
        #expect(try installation.database.count(stamps) == 1)
        #expect(Self.terms().stamp != Self.terms(["EUR": 1_200_000]).stamp)
    }

    @Test func `a purchase that is gone takes its rows with it, and one that changed meanwhile waits`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 36)
        try installation.postAll([life.start(at: Installation.start)])
        try installation.untilApplied(1)
        let connection = try installation.database.connect(role: "entitled_worker")
        let key = PurchaseKey(
            app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        let due = try #require(
            try ReportTable.due(in: key.lane, after: nil, stamp: "x", atMost: 9, on: connection).first)
        try installation.database.execute("UPDATE entitled.purchase SET version = version + 1")
        let written = try ReportTable.write(
            [ReportTable.Content(due: due, transactions: [], entitlements: [])], stamp: "x", on: connection)
        #expect(written.isEmpty)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.report_purchase") == 0)
        try refresh(installation)
        let rows = """
            SELECT (SELECT count(*) FROM entitled.report_purchase) + (SELECT count(*) FROM entitled.report_transaction)
                + (SELECT count(*) FROM entitled.report_entitlement)
            """
        #expect(try installation.database.count(rows) == 3)
        try installation.database.execute("DELETE FROM entitled.purchase")
        let view = "SELECT count(*) FROM entitled_reports.transactions"
        #expect(try analyst(installation).query(view).one().int(0) == 0)
        try refresh(installation)
        #expect(try installation.database.count(rows) == 0)
    }

    @Test func `a purchase whose rows cannot be made keeps no other one from the views`() throws {
        let installation = try furnished()
        let database = installation.database
        let all = try database.count("SELECT count(*) FROM entitled.purchase")
        let broken = try #require(
            try database.texts("SELECT original_transaction_id FROM entitled.purchase ORDER BY lane LIMIT 1").first)
        try database.execute(
            """
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'a value that does not fit' USING ERRCODE = 'numeric_value_out_of_range'; END $$
            """)
        try database.execute(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON entitled.report_transaction FOR EACH ROW
            WHEN (NEW.original_transaction_id = '\(broken)') EXECUTE FUNCTION public.refuse()
            """)
        let worker = try database.connect(role: "entitled_worker")
        let fresh = "SELECT concat_ws(' ', refreshed_at IS NOT NULL, failed_purchases) FROM entitled_reports.freshness"
        let failures = try ReportRefresh(Self.terms(), pageSize: 1000).all(on: worker)
        #expect(failures.map(\.key.originalTransactionID) == [broken])
        #expect(try database.count("SELECT count(*) FROM entitled.report_purchase") == all - 1)
        #expect(try database.texts(fresh) == ["t 1"])
        try database.execute("DROP TRIGGER refuse ON entitled.report_transaction")
        #expect(try ReportRefresh(Self.terms(), pageSize: 1000).all(on: worker).isEmpty)
        #expect(try database.count("SELECT count(*) FROM entitled.report_purchase") == all)
        #expect(try database.texts(fresh) == ["t 0"])
    }

    @Test func `a refresh in which every purchase failed makes nothing fresh`() throws {
        let installation = try furnished()
        let database = installation.database
        let all = try database.count("SELECT count(*) FROM entitled.purchase")
        func refuse(_ code: String) throws {
            try database.execute(
                """
                CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '\(code)'; END $$
                """)
        }
        try refuse("22003")
        try database.execute(
            """
            CREATE TRIGGER refuse BEFORE INSERT ON entitled.report_purchase FOR EACH ROW EXECUTE FUNCTION public.refuse()
            """)
        let worker = try database.connect(role: "entitled_worker")
        let fresh = "SELECT concat_ws(' ', refreshed_at IS NOT NULL, failed_purchases) FROM entitled_reports.freshness"
        #expect(try Int64(ReportRefresh(Self.terms()).all(on: worker).count) == all)
        #expect(try database.texts(fresh) == ["f \(all)"])
        // What says nothing about a purchase is no purchase's failure.
        for code in ["42501", "42703", "XX000", "0A000", "F0000", "P0001"] {
            try refuse(code)
            let error = #expect(throws: PostgresError.self) { try ReportRefresh(Self.terms()).all(on: worker) }
            #expect(error?.sqlstate == code)
        }
        #expect(try database.texts(fresh) == ["f \(all)"])
    }

    /// Ten thousand facts of a purchase, and ten thousand transactions of one.
    @Test func `long histories are refreshed, and a renewal of one writes its row alone`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 37)
        try installation.postAll([life.start(at: Installation.start)])
        try installation.untilApplied(1)
        worker.stop()
        try installation.database.execute(
            """
            INSERT INTO entitled.fact (lane, app, environment, original_transaction_id, digest, kind, signed_ms, seq,
                header, payload, signature, source)
            SELECT lane, app, environment, original_transaction_id, gen_random_uuid(), kind, signed_ms, seq, header,
                payload, signature, source FROM entitled.fact, generate_series(1, 3400)
            """)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.fact") > 10_000)
        try refresh(installation)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.report_transaction") == 1)

        let connection = try installation.database.connect(role: "entitled_worker")
        let key = PurchaseKey(
            app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        let due = try #require(
            try ReportTable.due(in: key.lane, after: nil, stamp: "x", atMost: 9, on: connection).first)
        func write(_ last: Int64) throws {
            let rows = (0..<10_000).map { number in
                ReportTransaction(
                    id: "\(number)", productID: "a\"b\\c\u{1}\0d", productType: nil, periodType: .normal,
                    purchased: Int64(number), expires: nil, accessEnds: nil, refundedAt: nil, renewalNumber: number,
                    offerType: nil, offerID: nil, country: nil, currency: nil, price: number == 9_999 ? last : 1,
                    refunded: 0, commission: .none, tax: .none, dollars: nil, netDollars: nil,
                    isTrialConversion: false, isFamilyShare: false, isUpgraded: false)
            }
            _ = try ReportTable.write(
                [ReportTable.Content(due: due, transactions: rows, entitlements: [])], stamp: "x", on: connection)
        }
        try write(1)
        let first = try versions(installation)
        #expect(first.count == 10_001)
        let began = ContinuousClock.now
        try write(2)
        // Each row against each other would be a hundred million comparisons.
        #expect(ContinuousClock.now - began < .seconds(10))
        #expect(try versions(installation).intersection(first).count == 9_999)
        #expect(
            try installation.database.texts(
                "SELECT DISTINCT product_id FROM entitled.report_transaction") == ["a\"b\\c\u{1}d"])
    }

    // MARK: - Deleted customers

    @Test(arguments: DeletionPolicy.allCases)
    func `a deleted customer is in no view`(policy: DeletionPolicy) throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        func texts() throws -> String {
            let connection = try scene.installation.database.connect(role: "entitled_analyst")
            return try ["customers", "subscriptions", "transactions", "events", "entitlements_now"].flatMap { view in
                try connection.query("SELECT v::text FROM entitled_reports.\(view) v").map { try $0.text(0) }
            }.joined(separator: "\n").lowercased()
        }
        #expect(try texts().contains(PlantedCustomer.name.lowercased()))
        #expect(try texts().contains(scene.first.latest.originalID))
        try scene.delete(policy)
        let left = try texts()
        for needle in scene.needles { #expect(!left.contains(needle.lowercased()), "\(needle)") }
        let transactions = try scene.installation.database.count(
            "SELECT count(*) FROM entitled_reports.transactions WHERE original_transaction_id = $1",
            [.text(scene.first.latest.originalID)])
        #expect((transactions > 0) == (policy == .pseudonymise))
    }
}
