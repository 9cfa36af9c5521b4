import Base
import Customers
import Foundation
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

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
                on: try installation.database.connect(role: "entitled_api"), progress: { _, _ in }, write: { _ in }) == 0)
    }

    @Test func `what begins like a formula is neutralised for spreadsheets, and left alone for programs`() {
        #expect(CSVTable.line(["=cmd()", "-1", "x"]) == "'=cmd(),'-1,x\r\n")
        #expect(CSVTable.line(["=cmd()", "-1", "x"], isRaw: true) == "=cmd(),-1,x\r\n")
        worker.stop()
    }
}
