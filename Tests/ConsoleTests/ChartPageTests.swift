import Base
import Charts
import Customers
import Database
import Operator
import Postgres
import Subscriptions
import TestSupport
import Testing

@testable import Console

/// A product whose name is something elsewhere.
private let hostile = "=cmd<script>alert(1)</script>,\"\u{202E}x"

@Suite("Pages of charts")
struct ChartPageTests {
    private let console: RunningConsole
    private static let day: Int64 = 86_400_000

    init() throws { console = try RunningConsole() }

    private func browser(_ role: OperatorRole = .finance) throws -> TestBrowser {
        try console.addUser(role.rawValue, role)
        let browser = TestBrowser(console)
        let link = try console.link(for: role.rawValue)
        browser.open(link)
        try browser.submit(link)
        return browser
    }

    /// Subscriptions of two products in two currencies, as a refresh would have them.
    private func refresh() throws {
        let now = RunningConsole.start
        for number in 0..<12 as Range<Int64> {
            let begin = now - (20 + 30 * number) * Self.day
            let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "\(number)")
            var facts = PurchaseFacts()
            for period in 0...min(number, 3) {
                let from = begin + period * 30 * Self.day
                facts.insert(
                    TransactionFact(
                        transactionID: period == 0 ? "\(number)" : "\(number)-\(period)",
                        originalTransactionID: "\(number)",
                        productID: number == 3 ? hostile : "monthly", purchaseDate: from, originalPurchaseDate: begin,
                        expiresDate: from + 30 * Self.day, signedDate: from, kind: "Auto-Renewable Subscription",
                        ownership: "PURCHASED", reason: period == 0 ? "PURCHASE" : "RENEWAL", price: 9_990 + number,
                        currency: number % 3 == 2 ? "JPY" : "EUR", storefront: "AUT", tie: []))
            }
            let purchase = try #require(Purchase(folding: facts, key: key))
            let history = try #require(ReportHistory(of: purchase, facts)).bytes
            try console.database.execute(
                """
                INSERT INTO entitled.report_purchase (lane, app, environment, original_transaction_id, version, updated_ms,
                    stamp, history) VALUES ($1, 'demo', 0, $2, 1, 1, 'x', $3)
                """, [.int2(key.lane.number), .text(key.originalTransactionID), .bytea(history)])
        }
        try console.database.execute("UPDATE entitled.report_refresh SET started_ms = \(now)")
    }

    /// The rows of the page's table, by heading.
    private func rows(_ html: String) throws -> [[String: String]] {
        let table = try #require(html.firstMatch(of: #/(?s)<table>.*?<\/table>/#)).output
        return table.matches(of: #/(?s)<tr><th scope="row".*?<\/tr>/#).map { row in
            var cells: [String: String] = [:]
            for cell in row.output.matches(of: #/data-name="([^"]*)"[^>]*><div>([^<]*)</#) {
                cells[String(cell.output.1)] = String(cell.output.2)
            }
            return cells
        }
    }

    @Test("without a refresh a chart says why there is none, and what to do instead")
    func saysAbsence() throws {
        let browser = try browser()
        #expect(browser.open("/console/charts").text.contains("href=\"/console/charts/mrr-movement\""))
        let page = browser.open("/console/charts/active")
        #expect(page.status == 200)
        #expect(page.text.contains("reports.refresh") && page.text.contains("entitled report"))
        #expect(!page.text.contains("<svg"))
    }

    @Test("the table, the CSV and the answer of the API have the same numbers", arguments: ChartName.allCases)
    func showsNumbers(_ name: ChartName) throws {
        try refresh()
        let browser = try browser()
        let page = browser.open("/console/charts/\(name.rawValue)?currency=EUR")
        #expect(page.status == 200, "\(page.text)")
        #expect(page.text.contains("<svg viewBox=") && page.text.contains("role=\"img\""))
        #expect(!page.text.contains("style=") && !page.text.contains("<script"))
        let link = try #require(page.text.firstMatch(of: #/href="(/console/charts/[a-z-]*/csv[^"]*)"/#)).output.1
        let file = browser.open(String(link).replacing("&amp;", with: "&"))
        #expect(file.status == 200)
        #expect(file.header("content-type") == "text/csv; charset=utf-8")
        #expect(file.header("content-disposition")?.hasPrefix("attachment; filename=\"\(name.rawValue)-20") == true)
        let lines = file.text.split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let heading = try #require(lines.first)
        let rows = try rows(page.text)
        #expect(rows.count == lines.count - 1 && rows.count == 12)
        var compared = 0
        for (row, line) in zip(rows, lines.dropFirst()) {
            #expect(row["month"] == line[0])
            for (place, series) in heading.enumerated().dropFirst(4) {
                guard let label = label(series, of: name), let shown = row[label] else { continue }
                #expect(shown.replacing(",", with: "").replacing(" %", with: "") == line[place], "\(series)")
                compared += 1
            }
        }
        #expect(compared >= 12)
    }

    private func label(_ series: String, of name: ChartName) -> String? {
        let labels = [
            "active": "Active", "paying": "Paying", "at_start": "At start", "new": "New", "at_end": "At end",
            "mrr": "MRR",
            "arr": "ARR", "churned": "Churned", "rate": name == .churn ? "Churn" : "Refund rate", "number": "Number",
            "month_0": "after 0 months", "month_1": "after 1 month", "gross": "Gross", "net": "Net",
            "payments": "Payments",
            "started": "Started",
        ]
        return labels[series] ?? (series == "conversions" ? "Conversions by their day" : nil)
    }

    @Test("what is chosen stays chosen, other currencies are a link away, and texts are texts")
    func keepsFilters() throws {
        try refresh()
        let browser = try browser(.operator)
        let page = browser.open("/console/charts/revenue?by=week&country=AT").text
        #expect(page.contains("<option value=\"week\" selected>week"))
        #expect(page.contains("<option value=\"AT\" selected>AT"))
        #expect(page.contains("href=\"/console/charts/revenue?by=week&amp;country=AT&amp;currency=JPY\""))
        #expect(page.contains("entitled charts show revenue --by week --country AT"))
        #expect(page.contains("/operator/v1/charts/revenue?by=week&amp;country=AT"))
        #expect(page.contains("=cmd&lt;script&gt;") && page.contains("⟨U+202E⟩"))
        let product = PercentEncoding.encode(hostile)
        let narrow = browser.open("/console/charts/active?product=\(product)")
        #expect(narrow.status == 200 && !narrow.text.contains("<script"))
        #expect(try rows(narrow.text).compactMap { $0["Active"] }.contains("1"))
        let yen = browser.open("/console/charts/mrr?currency=JPY").text
        #expect(yen.contains("JPY, Production") && !yen.contains("Shown: "))
    }

    @Test("what cannot be asked for is refused")
    func refuses() throws {
        try refresh()
        let browser = try browser(.read)
        for query in [
            "active?curency=EUR", "active?by=year", "active?from=soon", "active?from=2099-01",
            "active?by=day&from=0001-01-01",
            "active?currency=eur", "active?country=AUT", "retention?by=day", "active/csv?from=2026-01&to=2025-01",
        ] {
            #expect(browser.open("/console/charts/\(query)").status == 400, "\(query)")
        }
        #expect(browser.open("/console/charts/none").status == 404)
        #expect(browser.page?.text.contains("mrr-movement") == true)
        let support = try self.browser(.support)
        for path in ["charts", "charts/active", "charts/none", "charts/active/csv"] {
            #expect(support.open("/console/\(path)").status == 403, "\(path)")
        }
    }
}
