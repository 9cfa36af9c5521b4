import Base
import CLI
import Customers
import Subscriptions

/// A report for people: what happened, and the money.
package struct ReportPage {
    private let report: Report
    private let zone: LocalZone
    private let isBold: Bool
    private let screen: Screen?

    /// - Parameters:
    ///   - zone: that of the question.
    ///   - screen: nil for a file or a pipe.
    package init(_ report: Report, in zone: LocalZone = .utc, isBold: Bool = false, on screen: Screen? = nil) {
        self.report = report
        self.zone = zone
        self.isBold = isBold
        self.screen = screen
    }

    package var text: String {
        [head, subscriptions, money, products, sandboxHint, notes].filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var head: String {
        let app = report.question.app.map(Terminal.harmless) ?? "all apps"
        return paragraph(
            "\(app), \(report.question.environment.rawValue), \(zone.clock(report.total.from)) to "
                + "\(zone.clock(report.total.to)) \(report.question.timeZone.text)")
    }

    // MARK: - Subscriptions

    private static let main: [(heading: String, value: @Sendable (Report.Part) -> Int64)] =
        ReportCount.allCases.filter { $0 != .payments }.map { what in
            (what.rawValue, { $0.counts[what] ?? 0 })
        } + ReportGauge.allCases.map { gauge in (gauge.rawValue, { $0.gauges[gauge] ?? 0 }) }

    /// Numbers below each other for one part; a row for each part with what is anywhere more than nothing, for several.
    private var subscriptions: String {
        guard report.parts.count > 1 else {
            var table = TextTable(["subscriptions", .number("number")])
            for (heading, value) in ReportPage.main {
                table.add([ReportPage.words(heading), "\(value(report.total))"])
            }
            return table.text(bold: isBold, on: screen)
        }
        let shown = ReportPage.main.filter { column in
            !column.heading.hasPrefix("churned_") && (report.parts + [report.total]).contains { column.value($0) != 0 }
        }
        guard !shown.isEmpty else { return "no subscriptions and no purchases\n" }
        var table = TextTable(["from"] + shown.map { .number(ReportPage.words($0.heading)) })
        for part in report.parts { table.add([begin(part)] + shown.map { "\($0.value(part))" }) }
        table.add(["total"] + shown.map { "\($0.value(report.total))" })
        return table.text(bold: isBold, on: screen)
    }

    // MARK: - Money

    /// By part and currency, where there are several parts.
    private var money: String {
        guard report.parts.count > 1, !report.total.revenue.isEmpty else { return "" }
        var table = TextTable(["from"] + ReportPage.moneyColumns)
        for part in report.parts + [report.total] {
            let name = part == report.total ? "total" : begin(part)
            for (currency, money) in part.currencies { table.add([name] + ReportPage.cells(currency, money)) }
        }
        return table.text(bold: isBold, on: screen)
    }

    private var products: String {
        guard !report.total.revenue.isEmpty else { return "no money\n" }
        var table = TextTable(["app", "product"] + ReportPage.moneyColumns)
        for (product, money) in report.total.products {
            table.add([product.app, product.productID] + ReportPage.cells(product.currency, money))
        }
        for (currency, money) in report.total.currencies {
            table.add(["total", ""] + ReportPage.cells(currency, money))
        }
        return table.text(bold: isBold, on: screen)
    }

    private static let moneyColumns: [TextTable.Column] = [
        "currency", .number("payments"), .number("gross"), .number("refunds"), .number("refunded"), .number("net"),
        .number("mrr"),
    ]

    private static func cells(_ currency: String?, _ money: ReportMoney) -> [String] {
        func amount(_ milliunits: Int64) -> String {
            currency.map { Money.text(milliunits: milliunits, currency: $0) } ?? "?"
        }
        // Part of a price that was paid for several months.
        let monthly = currency.map { Money.rounded(milliunits: money.monthly, currency: $0) } ?? "?"
        return [
            currency ?? "no price", "\(money.payments)", amount(money.gross), "\(money.refunds)",
            amount(money.refunded), amount(money.net), monthly,
        ]
    }

    /// An installation that is tried out has purchases in the sandbox only, and a report counts none of them by default.
    private var sandboxHint: String {
        guard report.question.environment == .production, ReportPage.main.allSatisfy({ $0.value(report.total) == 0 })
        else { return "" }
        return paragraph("Production has nothing to count; --environment Sandbox counts the purchases of the sandbox.")
    }

    private var notes: String {
        paragraph("gross: \(ReportDefinitions.gross)") + paragraph("mrr: \(ReportDefinitions.mrr)")
            + paragraph("`entitled report --help` defines every number.")
    }

    private func paragraph(_ text: String) -> String {
        (screen.map { text.lines(ofWidth: $0.columns).joined(separator: "\n") } ?? text) + "\n"
    }

    private func begin(_ part: Report.Part) -> String {
        let time = zone.clock(part.from)
        return time.hasSuffix(" 00:00:00") ? String(time.prefix(10)) : time
    }

    private static func words(_ name: String) -> String { String(name.map { $0 == "_" ? " " : $0 }) }
}
