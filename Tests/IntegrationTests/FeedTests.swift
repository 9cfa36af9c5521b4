import Base
import Database
import Duties
import Foundation
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@testable import Customers

/// Exports for analysts.
@Suite struct FeedTests {
    private static let day = StoreProduct.day

    private let installation: Installation
    private let worker: RunningWorker
    private let life: SubscriberLife

    /// A subscriber of two periods, with attributes.
    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        let now = SystemClock().now()
        var life = SubscriberLife(app: Installation.app, seed: 78, number: 0)
        _ = life.start(lasts: 5 * Self.day, at: now - 8 * Self.day)
        _ = life.renew(at: now - 3 * Self.day)
        self.life = life
        let bench = try ImportFixture(installation, try PlayedHistory(installation, life.notifications))
        _ = try bench.run([
            "app_user_id,original_transaction_id,attributes.$email,attributes.team",
            "user-0,\(life.latest.originalID),a@b.c,blue",
        ])
        try bench.untilApplied()
    }

    private var terms: TransactionRow.Terms {
        TransactionRow.Terms(
            catalogue: EntitlementCatalogue(["pro": [life.latest.productID]]), rates: DollarRates(),
            seller: SellerTerms(), showsAttributes: true)
    }

    private func transactions(_ changed: Range<Int64>) throws -> [[String: String]] {
        let feed = TransactionFeed(
            app: "demo", changed: changed, terms: terms,
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        var rows: [[String]] = []
        let count = try feed.run(
            on: try installation.database.connect(role: "entitled_api"), progress: { _, _ in }, write: { rows += $0 })
        #expect(count == Int64(rows.count))
        return rows.map { Dictionary(uniqueKeysWithValues: zip(TransactionRow.columns, $0)) }
    }

    @Test func `each transaction is a row in RevenueCat's columns, with money and ends`() throws {
        defer { worker.stop() }
        let rows = try transactions(0..<Int64.max).sorted { $0["renewal_number"] ?? "" < $1["renewal_number"] ?? "" }
        try #require(rows.count == 2)
        #expect(TransactionRow.columns.count == 44 && rows.allSatisfy { $0.count == 44 })
        for (row, period) in zip(rows, life.periods) {
            #expect(row["store_transaction_id"] == period.id)
            #expect(row["original_store_transaction_id"] == life.latest.originalID)
            #expect(row["rc_original_app_user_id"] == "user-0" && row["store"] == "app_store")
            #expect(row["is_sandbox"] == "false" && row["is_auto_renewable"] == "true")
            #expect(row["entitlement_identifiers"] == #"["pro"]"# && row["ownership_type"] == "PURCHASED")
            let price = Money.text(milliunits: period.price)
            #expect(row["price_in_purchased_currency"] == price && row["purchase_price_in_purchased_currency"] == price)
            #expect(row["commission_percentage"] == "0.3" && row["takehome_percentage"] == "0.7")
            #expect(row["start_time"]?.wholeMatch(of: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/) != nil)
            #expect(row["effective_end_time"] == row["end_time"] && row["refunded_at"] == "")
            #expect(row["reserved_subscriber_attributes"]?.contains(#""value":"a@b.c""#) ?? false)
            #expect(row["custom_subscriber_attributes"]?.contains("$email") == false)
        }
        #expect(rows.map { $0["renewal_number"] } == ["1", "2"])
    }

    /// RevenueCat's names and order, which readers of its exports rely on ("Data Export Version 5").
    @Test func `the columns are those of RevenueCat's version 5`() {
        worker.stop()
        let names = """
            rc_original_app_user_id rc_last_seen_app_user_id_alias country country_source product_identifier \
            product_display_name product_duration start_time end_time grace_period_end_time effective_end_time store \
            is_auto_renewable is_trial_period is_in_intro_offer_period is_sandbox price_in_usd purchase_price_in_usd \
            takehome_percentage tax_percentage commission_percentage store_transaction_id original_store_transaction_id \
            refunded_at unsubscribe_detected_at billing_issues_detected_at purchased_currency \
            price_in_purchased_currency purchase_price_in_purchased_currency entitlement_identifiers renewal_number \
            is_trial_conversion presented_offering ownership_type reserved_subscriber_attributes \
            custom_subscriber_attributes platform experiment_id experiment_variant updated_at offer offer_type \
            first_seen_time auto_resume_time
            """
        #expect(TransactionRow.columns.joined(separator: " ") == names)
    }

    /// What the dbt package TasmanAnalytics/tasman-dbt-revenuecat reads (its models/core/revenuecat_subscription_transactions
    /// and integration_tests/seeds, read at commit 494cf6d), as its types are in Postgres. It reads `_file_name` too, which is
    /// the loader's: ten digits in it are the time of the export.
    private static let warehouse: [(type: String, columns: String)] = [
        (
            "text NOT NULL",
            """
            rc_original_app_user_id rc_last_seen_app_user_id_alias product_identifier store store_transaction_id \
            original_store_transaction_id ownership_type
            """
        ),
        (
            "text",
            """
            country country_source purchased_currency presented_offering platform product_display_name product_duration \
            experiment_id experiment_variant offer offer_type
            """
        ),
        ("timestamp NOT NULL", "start_time updated_at first_seen_time"),
        (
            "timestamp",
            """
            end_time grace_period_end_time effective_end_time refunded_at unsubscribe_detected_at \
            billing_issues_detected_at auto_resume_time
            """
        ),
        (
            "boolean NOT NULL",
            "is_auto_renewable is_trial_period is_in_intro_offer_period is_sandbox is_trial_conversion"
        ),
        ("float8 NOT NULL", "takehome_percentage tax_percentage commission_percentage"),
        (
            "float8",
            "price_in_usd purchase_price_in_usd price_in_purchased_currency purchase_price_in_purchased_currency"
        ),
        ("int NOT NULL", "renewal_number"),
        ("json", "entitlement_identifiers reserved_subscriber_attributes custom_subscriber_attributes"),
    ]

    /// Loaded as a warehouse loads RevenueCat's files: empty fields are null.
    @Test func `a dbt package for RevenueCat's exports finds all that it reads, and joins no row away`() throws {
        worker.stop()
        let (other, applier, _) = try furnished()
        applier.stop()
        let connection = try other.database.connect()
        let types = Dictionary(
            uniqueKeysWithValues: Self.warehouse.flatMap { type, columns in
                columns.split(separator: " ").map { (String($0), type) }
            })
        #expect(Set(types.keys) == Set(TransactionRow.columns))
        let columns = try TransactionRow.columns.map { "\($0) \(try #require(types[$0]))" }
        _ = try connection.query("CREATE TEMP TABLE transactions (\(columns.joined(separator: ", ")))")
        let places = TransactionRow.columns.enumerated().map { place, name in
            let type = types[name]?.split(separator: " ").first ?? ""
            return "NULLIF($\(place + 1), '')::\(type)"
        }
        let rows = try everything(nil, in: other)
        for row in rows {
            _ = try connection.query(
                "INSERT INTO transactions SELECT \(places.joined(separator: ", "))", row.map { .text($0) })
        }
        func count(_ condition: String) throws -> Int64 {
            try connection.query("SELECT count(*) AS count FROM transactions WHERE \(condition)").one().int("count")
        }
        #expect(try count("true") == Int64(rows.count))
        // One row is the newest of a transaction: by these two it is known.
        let distinct = "SELECT count(DISTINCT (store_transaction_id, updated_at)) AS count FROM transactions"
        #expect(try connection.query(distinct).one().int("count") == Int64(rows.count))
        // Its counts by day are joined by product, country and platform: a row without one of them is in none.
        #expect(try count("store = 'app_store' AND (country IS NULL OR platform IS NULL)") == 0)
        #expect(try count("store = 'promotional' AND platform IS NOT NULL") == 0)
        // Its monthly revenue is of the time between start and end where no duration is there, and only where access ends.
        #expect(try count("is_auto_renewable AND (end_time IS NULL OR effective_end_time IS NULL)") == 0)
        #expect(try count("product_duration IS NOT NULL") == 0)
        // What it takes for new revenue, refunds and ends.
        #expect(try count("store_transaction_id = original_store_transaction_id") > 0)
        #expect(try count("is_trial_conversion AND renewal_number > 1") > 0 && count("refunded_at IS NOT NULL") > 0)
        #expect(try count("refunded_at IS NOT NULL AND price_in_purchased_currency > 0") == 0)
        #expect(
            try count("json_array_length(entitlement_identifiers) > 0") > 0
                && count("tax_percentage + commission_percentage > 1") == 0)
    }

    @Test func `only purchases that changed in the time are exported`() throws {
        defer { worker.stop() }
        #expect(try transactions(0..<1000).isEmpty)
        let changed = try installation.database.count("SELECT updated_ms FROM entitled.purchase")
        #expect(try transactions(changed..<changed + 1).count == 2)
    }

    @Test func `an export compares with the records that it was made of`() throws {
        defer { worker.stop() }
        // The import reads what the export writes.
        var lines = [CSVTable.line(TransactionRow.columns)]
        let feed = TransactionFeed(app: nil, changed: 0..<Int64.max, terms: terms, foldSettings: FoldSettings())
        _ = try feed.run(
            on: try installation.database.connect(role: "entitled_api"), progress: { _, _ in },
            write: { lines += $0.map { CSVTable.line($0) } })
        let bench = try ImportFixture(installation, try PlayedHistory(installation, life.notifications))
        let done = try bench.run(lines.map { String($0.dropLast()) })
        #expect(done.counts.numbers == [2, 0, 0, 0, 2, 0], "\(bench.refusedRows)")
    }

    @Test func `customers are rows with all their ids`() throws {
        defer { worker.stop() }
        var rows: [[String]] = []
        let feed = CustomerFeed(seen: 0..<Int64.max, showsAttributes: false)
        let count = try feed.run(
            on: try installation.database.connect(role: "entitled_api"), progress: { _, _ in }, write: { rows += $0 })
        #expect(count == 1 && rows.first?.count == CustomerFeed.columns.count)
        #expect(rows.first?.first == "user-0" && rows.first?[4] == #"["user-0"]"# && rows.first?.last == "")
        #expect(
            try CustomerFeed(seen: 0..<1, showsAttributes: false).run(
                on: try installation.database.connect(role: "entitled_api"), progress: { _, _ in }, write: { _ in })
                == 0)
    }

    // MARK: - Beside the other ways

    /// Amounts as exports spell them, in milliunits.
    private func milliunits(_ text: String) throws -> Int64 {
        let parts = text.split(separator: ".")
        let fraction = parts.count > 1 ? String(parts[1]) : ""
        let padded = fraction + String(repeating: "0", count: 3 - fraction.count)
        return try #require(Int64(parts[0])) * 1000 + (try #require(Int64(padded)))
    }

    /// Lives of every kind, also of a tester and with a grant; what is exported of them, all or of production.
    private func everything(
        _ environment: StoreEnvironment?, in other: Installation
    ) throws -> [[String]] {
        let feed = TransactionFeed(
            app: nil, environment: environment, changed: 0..<Int64.max,
            terms: TransactionRow.Terms(
                catalogue: other.catalogue, rates: DollarRates(), seller: SellerTerms(), showsAttributes: false),
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        var rows: [[String]] = []
        _ = try feed.run(
            on: try other.database.connect(role: "entitled_api"), progress: { _, _ in }, write: { rows += $0 })
        return rows
    }

    private func furnished() throws -> (Installation, RunningWorker, [StoreNotification]) {
        let other = try Installation()
        let worker = try RunningWorker(other)
        let now = SystemClock().now()
        var notifications =
            Scenario.everyKind.notifications(
                app: Installation.app, seed: 41, number: 0, until: now)
        for number in 1...4 as ClosedRange<UInt64> {
            notifications += Scenario.mixed.notifications(app: Installation.app, seed: 42, number: number, until: now)
        }
        var tester = SubscriberLife(app: Installation.sandbox, seed: 43)
        notifications.append(tester.start(at: Installation.start))
        let once = Dictionary(notifications.map { ($0.uuid, $0) }) { first, _ in first }
        try other.postAll(Array(once.values))
        try other.untilApplied(Int64(once.count))
        _ = try CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400))
        ).grant("pro", to: "bob", .lasting(.weekly), on: try other.database.connect(role: "entitled_api"))
        return (other, worker, Array(once.values))
    }

    @Test func `sums of an export are those of the report of the same time`() throws {
        worker.stop()
        let (other, applier, _) = try furnished()
        applier.stop()
        let rows = try everything(.production, in: other).map {
            Dictionary(uniqueKeysWithValues: zip(TransactionRow.columns, $0))
        }
        #expect(rows.allSatisfy { $0["is_sandbox"] == "false" })
        #expect(try everything(nil, in: other).count == rows.count + 1)
        let to = SystemClock().now() / 1000 * 1000
        for from in [to - 800 * Self.day, to - 200 * Self.day] {
            let report = try ReportRun(
                ReportQuestion(app: nil, environment: .production, step: .total),
                foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), threads: 2
            ).run(
                connect: { try other.database.connect(role: "entitled_api") },
                calendar: { _ in try #require(ReportCalendar(from: from, to: to, by: .total)) }, progress: { _, _ in })
            var gross: [String: Int64] = [:]
            let beginning = FeedTime.text(from)
            for row in rows where row["start_time"] ?? "" >= beginning {
                guard let price = row["purchase_price_in_purchased_currency"], !price.isEmpty, price != "0" else {
                    continue
                }
                gross[row["purchased_currency"] ?? "", default: 0] += try milliunits(price)
            }
            let wanted = report.total.currencies.filter { $0.currency != nil && $0.money.gross != 0 }
            #expect(gross == Dictionary(uniqueKeysWithValues: wanted.map { ($0.currency ?? "", $0.money.gross) }))
            #expect(gross.count >= 2)
        }
        // Net of refunds over all time.
        var net: [String: Int64] = [:]
        for row in rows {
            guard let price = row["price_in_purchased_currency"], !price.isEmpty, row["purchased_currency"] != "" else {
                continue
            }
            net[row["purchased_currency"] ?? "", default: 0] += try milliunits(price)
        }
        let whole = try ReportRun(
            ReportQuestion(app: nil, environment: .production, step: .total),
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), threads: 1
        ).run(
            connect: { try other.database.connect(role: "entitled_api") },
            calendar: { now in try #require(ReportCalendar(from: now - 2000 * Self.day, to: now, by: .total)) },
            progress: { _, _ in })
        let wanted = whole.total.currencies.filter { $0.currency != nil && $0.money.net != 0 }
        #expect(
            net.filter { $0.value != 0 }
                == Dictionary(uniqueKeysWithValues: wanted.map { ($0.currency ?? "", $0.money.net) }))
        #expect(whole.total.currencies.contains { $0.money.refunded > 0 })
    }

    @Test func `an export of everything agrees with the records, and an import has nothing to do`() throws {
        worker.stop()
        let (other, applier, notifications) = try furnished()
        defer { applier.stop() }
        let lines =
            ([TransactionRow.columns] + (try everything(nil, in: other))).map {
                String(CSVTable.line($0, isRaw: true).dropLast())
            }
        let bench = try ImportFixture(other, try PlayedHistory(other, notifications))
        var differences: [ExportDifference] = []
        let count = try ExportComparison(
            try bench.file(lines), app: "demo", environments: [.production, .sandbox], catalogue: other.catalogue,
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), tolerance: 1000
        ).run(
            on: try other.database.connect(role: "entitled_api"), progress: { _, _ in },
            unreadable: { Issue.record("line \($0): \($1)") }, found: { differences += $0 })
        #expect(differences.map(\.fields) == [])
        #expect(count.agrees && count.rows == lines.count - 1 && count.otherStores == 1 && count.same > 20)
        // Apple of this test knows production alone.
        let production =
            ([TransactionRow.columns] + (try everything(.production, in: other))).map {
                String(CSVTable.line($0, isRaw: true).dropLast())
            }
        let counted = try bench.count(production)
        #expect(counted.reasons == [])
        // Rows, imported, unknown, refused, already there, of other stores.
        let numbers = counted.counts.numbers
        #expect(numbers[0] == Int64(production.count - 1) && numbers[5] == 1)
        #expect(numbers[1] + numbers[4] == numbers[0] - 1 && numbers[2] == 0 && numbers[3] == 0)
    }

    @Test func `what begins like a formula is neutralised for spreadsheets, and left alone for programs`() {
        #expect(CSVTable.line(["=cmd()", "-1", "x"]) == "'=cmd(),'-1,x\r\n")
        // Where the comma is the decimal sign, a spreadsheet would split these.
        #expect(CSVTable.line(["x;=1+1", "x\t=1+1"], isRaw: true) == "\"x;=1+1\",\"x\t=1+1\"\r\n")
        #expect(CSVTable.line(["=cmd()", "-1", "x"], isRaw: true) == "=cmd(),-1,x\r\n")
        worker.stop()
    }
}
