import Base
import CLI
import Customers
import Subscriptions

/// A report for people: what happened, and the money.
package struct ReportPage {
    private let report: Report
    private let isBold: Bool

    package init(_ report: Report, isBold: Bool = false) {
        self.report = report
        self.isBold = isBold
    }

    package var text: String {
        [head, subscriptions, money, products, notes].filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var head: String {
        let app = report.question.app.map(Terminal.harmless) ?? "all apps"
        return "\(app), \(report.question.environment.rawValue), \(DisplayText.time(report.total.from)) to "
            + "\(DisplayText.time(report.total.to)) UTC\n"
    }

    // MARK: - Subscriptions

    private static let main: [(heading: String, value: @Sendable (Report.Part) -> Int64)] =
        ReportCount.allCases.filter { $0 != .payments }.map { what in
            (what.rawValue, { $0.counts[what] ?? 0 })
        } + ReportGauge.allCases.map { gauge in (gauge.rawValue, { $0.gauges[gauge] ?? 0 }) }

    /// Numbers below each other for one part; a row for each part with what is anywhere more than nothing, for several.
    private var subscriptions: String {
        guard report.parts.count > 1 else {
            var table = TextTable(["subscriptions", "number"])
            for (heading, value) in ReportPage.main {
                table.add([ReportPage.words(heading), "\(value(report.total))"])
            }
            return table.text(bold: isBold)
        }
        let shown = ReportPage.main.filter { column in
            !column.heading.hasPrefix("churned_") && (report.parts + [report.total]).contains { column.value($0) != 0 }
        }
        guard !shown.isEmpty else { return "no subscriptions and no purchases\n" }
        var table = TextTable(["from"] + shown.map { ReportPage.words($0.heading) })
        for part in report.parts { table.add([ReportPage.begin(part)] + shown.map { "\($0.value(part))" }) }
        table.add(["total"] + shown.map { "\($0.value(report.total))" })
        return table.text(bold: isBold)
    }

    // MARK: - Money

    /// By part and currency, where there are several parts.
    private var money: String {
        guard report.parts.count > 1, !report.total.revenue.isEmpty else { return "" }
        var table = TextTable(["from", "currency", "payments", "gross", "refunds", "refunded", "net", "mrr"])
        for part in report.parts + [report.total] {
            let name = part == report.total ? "total" : ReportPage.begin(part)
            for (currency, money) in part.currencies { table.add([name] + ReportPage.cells(currency, money)) }
        }
        return table.text(bold: isBold)
    }

    private var products: String {
        guard !report.total.revenue.isEmpty else { return "no money\n" }
        var table = TextTable(
            ["app", "product", "currency", "payments", "gross", "refunds", "refunded", "net", "mrr"])
        for (product, money) in report.total.products {
            table.add([product.app, product.productID] + ReportPage.cells(product.currency, money))
        }
        for (currency, money) in report.total.currencies {
            table.add(["total", ""] + ReportPage.cells(currency, money))
        }
        return table.text(bold: isBold)
    }

    private static func cells(_ currency: String?, _ money: ReportMoney) -> [String] {
        func amount(_ milliunits: Int64) -> String { currency == nil ? "?" : Money.text(milliunits: milliunits) }
        return [
            currency ?? "no price", "\(money.payments)", amount(money.gross), "\(money.refunds)",
            amount(money.refunded), amount(money.net), amount(money.monthly),
        ]
    }

    private var notes: String {
        "gross: \(ReportDefinitions.gross)\nmrr: \(ReportDefinitions.mrr)\n"
            + "`entitled report --help` defines every number.\n"
    }

    private static func begin(_ part: Report.Part) -> String {
        let time = DisplayText.time(part.from)
        return time.hasSuffix(" 00:00:00") ? String(time.prefix(10)) : time
    }

    private static func words(_ name: String) -> String { String(name.map { $0 == "_" ? " " : $0 }) }
}
