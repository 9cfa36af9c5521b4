import Base
import Charts
import Customers
import Database
import HTTP
import Markup
import Operator

/// Charts: a drawing, what its numbers are, and all of them, as a table and as CSV.
enum ChartPages {
    static let routes = [
        ConsoleRoute("GET", "/charts") { call in .page(try list(call)) },
        ConsoleRoute("GET", "/charts/NAME") { call in .page(try chart(call)) },
        ConsoleRoute("GET", "/charts/NAME/csv") { call in try csv(call) },
    ]

    private static func list(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let list = try call.ask { try $0.charts() }
        return Page("Charts", section: .charts, command: "charts list", api: call.api("charts")) {
            Tag.h1 { "Charts" }
            Tag.p(.classes(.lead)) {
                "Subscriptions and money over time, as entitled report counts them, at the last refresh of the tables of "
                "reports."
            }
            Tag.div(.classes(.cards)) {
                for chart in list.items {
                    Tag.section(.classes(.card)) {
                        Tag.h2 { Node.link(to: ConsolePath.chart(chart.name)) { chart.name.title } }
                        Tag.p { chart.name.summary }
                    }
                }
            }
        }
    }

    private static func question(_ call: PageCall) throws(DeskError) -> ChartQuestion {
        try call.question(ChartQuestion.self, of: "chart")
    }

    private static func csv(_ call: PageCall) throws -> PageAnswer {
        let answer = try call.ask { try $0.chart(call.parameter("NAME"), try question(call)) }
        let days = [answer.scope.calendar.from, answer.scope.calendar.to].map { Timestamp.text($0).prefix(10) }
        if let viewer = call.viewer {
            try DeskExport.note(
                "charts/\(answer.name.rawValue)", rows: nil, filters: "", by: call.asking(viewer), on: call.connection)
        }
        return .file(
            "\(answer.name.rawValue)-\(days.joined(separator: "-")).csv", type: "text/csv; charset=utf-8",
            Array(answer.csv.utf8))
    }

    // MARK: - One

    private static func chart(_ call: PageCall) throws -> Page {
        guard let name = ChartName(rawValue: call.parameter("NAME")) else {
            // The desk says which there are, to whom it may.
            _ = try call.ask { try $0.chart(call.parameter("NAME"), try question(call)) }
            throw DeskError.notFound("There is no such chart.")
        }
        let answer: ChartAnswer
        do {
            answer = try call.ask { try $0.chart(name.rawValue, try question(call)) }
        } catch let error as DeskError where error.status == 503 || error.code == "not_computed" {
            var waiting = page(name, nil, status: error.status == 503 ? 503 : 200, retryAfter: error.retryAfter, call) {
                Tag.div(.classes(.notice, .warn), .role(.status)) {
                    Tag.p { Node.untrusted(error.message) }
                    if error.status == 503 {
                        Tag.p {
                            Node.link(to: PageParts.again(ConsolePath.chart(name), call)) { "Load the chart again" }
                        }
                    }
                }
            }
            // It comes by itself once it is counted.
            if error.status == 503 { waiting.refresh = error.retryAfter }
            return waiting
        }
        let table = answer.chart.tables.first
        return page(name, answer, call) {
            about(answer, call)
            if let table {
                currencies(answer, table, call)
                if let drawing = ChartDrawing(answer.chart, table, subject: subject(answer, table)).node {
                    Tag.div(.classes(.plot), .focusable, .role(.region), .spoken("Drawing")) { drawing }
                }
                Tag.p(.classes(.more)) {
                    Tag.a(.classes(.button), .href(file(answer, call))) { "All numbers as CSV" }
                }
                numbers(answer, table, subject(answer, table))
            } else {
                PageParts.empty("Nothing was paid in this time.")
            }
            Tag.h2 { "What the numbers are" }
            PageParts.facts(name.definitions.map { (name: $0.name, value: Node?.some(.text($0.meaning))) })
        }
    }

    private static func page(
        _ name: ChartName, _ answer: ChartAnswer?, status: Int = 200, retryAfter: Int? = nil, _ call: PageCall,
        @MarkupBuilder content: () -> [Node]
    ) -> Page {
        let words = [
            "from": "--from", "to": "--to", "by": "--by", "product": "--product", "country": "--country",
            "currency": "--currency", "environment": "--environment",
        ]
        return Page(
            name.title, status: status, section: .charts, retryAfter: retryAfter,
            command: call.command("charts show \(name.rawValue)", words), api: call.api("charts", name.rawValue)
        ) {
            PageParts.path(.charts, call)
            Tag.h1 { name.title }
            Tag.p(.classes(.lead)) { name.summary }
            filters(name, answer, call)
            content()
        }
    }

    private static func filters(_ name: ChartName, _ answer: ChartAnswer?, _ call: PageCall) -> Node {
        /// What there is to choose, with what was chosen.
        func choices(_ name: String, _ found: [String]?) -> [String] {
            let asked = call.query[name].map { [$0] } ?? []
            return (found ?? []) + asked.filter { !$0.isEmpty && found?.contains($0) != true }
        }
        var filters: [PageParts.Filter] = [.init("from", "From", .from), .init("to", "To", .to)]
        if name != .retention {
            filters.append(.init("by", "By", .by, .choice(["day", "week"], none: ChartQuestion.Step.month.rawValue)))
        }
        filters.append(.init("product", "Product", .product, .choice(choices("product", answer?.products))))
        filters.append(.init("country", "Country", .country, .choice(choices("country", answer?.countries))))
        filters.append(.init("currency", "Currency", .currency, .choice(choices("currency", answer?.currencies))))
        filters.append(.init("environment", "Environment", .environment, .choice(["Sandbox"], none: "Production")))
        return PageParts.filters(filters, of: ConsolePath.chart(name), call)
    }

    private static func about(_ answer: ChartAnswer, _ call: PageCall) -> Node {
        .group([
            Tag.p(.classes(.lead)) {
                "\(span(answer)), by \(answer.scope.step.rawValue), days of \(answer.zone). As known "
                call.clock.time(answer.scope.freshness.refreshed)
                "; numbers of past days change with what is heard late."
            },
            answer.scope.freshness.failed == 0
                ? .none
                : Tag.div(.classes(.notice, .warn)) {
                    Tag.p {
                        "\(PageParts.grouped(answer.scope.freshness.failed)) purchases are missing, or counted as they were: "
                        "the last refresh failed for them, and the workers' log names them."
                    }
                },
        ])
    }

    private static func span(_ answer: ChartAnswer) -> String {
        guard let table = answer.chart.tables.first, let first = table.rows.first, let last = table.rows.last else {
            return "\(Timestamp.text(answer.scope.calendar.from)) to \(Timestamp.text(answer.scope.calendar.to))"
        }
        return "\(first.label) to \(last.label)"
    }

    private static func subject(_ answer: ChartAnswer, _ table: Chart.Table) -> String {
        let filter = answer.scope.filter
        let parts = [
            answer.name.isMoney ? table.currency ?? "without a price" : nil, filter.productID, filter.country,
            answer.scope.environment.rawValue, span(answer),
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    /// The other currencies of a chart of money: each has a table of its own.
    private static func currencies(_ answer: ChartAnswer, _ table: Chart.Table, _ call: PageCall) -> Node {
        guard answer.chart.tables.count > 1 else { return .none }
        let path = PageParts.again(ConsolePath.chart(answer.name), call)
        let unpriced = answer.chart.tables.contains { $0.currency == nil }
        return Tag.div(.classes(.chips)) {
            Tag.span(.classes(.quiet)) { "Shown: \(table.currency ?? "without a price"). Others:" }
            for other in answer.chart.tables.dropFirst() {
                if let currency = other.currency {
                    Tag.a(.classes(.chip), .href(path.with("currency", currency))) { Node.shown(currency) }
                }
            }
            if unpriced, table.currency != nil {
                Tag.span(.classes(.quiet)) { "payments without a price, which are in the CSV of all currencies" }
            }
        }
    }

    /// The CSV of the same question.
    private static func file(_ answer: ChartAnswer, _ call: PageCall) -> LocalPath {
        PageParts.again(ConsolePath.chart(answer.name).appending("csv"), call)
    }

    // MARK: - The table

    /// Columns of which every number is zero are left out, and named.
    private static func numbers(_ answer: ChartAnswer, _ table: Chart.Table, _ subject: String) -> Node {
        let series = answer.chart.series
        let isUsed = series.indices.map { place in
            table.rows.contains { $0.values[place].map { $0 != 0 } ?? false }
        }
        let used = isUsed.contains(true) ? series.indices.filter { isUsed[$0] } : Array(series.indices)
        let left = series.indices.filter { !used.contains($0) }.map { series[$0].label }
        return .group([
            Tag.div(.classes(.wide), .focusable, .role(.region), .spoken("All numbers")) {
                Tag.table {
                    Tag.caption { Node.shown(subject) }
                    Tag.thead {
                        Tag.tr {
                            Tag.th(.scope(.column)) {
                                answer.chart.form == .heat ? "month" : answer.scope.step.rawValue
                            }
                            for place in used {
                                Tag.th(.scope(.column), .classes(.number)) { series[place].label }
                            }
                        }
                    }
                    Tag.tbody {
                        for row in table.rows {
                            Tag.tr {
                                Tag.th(.scope(.row), .cellName(answer.scope.step.rawValue)) { Tag.div { row.label } }
                                for place in used {
                                    cell(row.values[place], series[place], table.currency)
                                }
                            }
                        }
                    }
                }
            },
            left.isEmpty
                ? .none : Tag.p(.classes(.quiet)) { "Left out, because all is 0: \(left.joined(separator: ", "))." },
        ])
    }

    private static func cell(_ value: Int64?, _ series: Chart.Series, _ currency: String?) -> Node {
        guard let value else { return Tag.td(.classes(.number)) }
        return Tag.td(.cellName(series.label), .classes(.number)) {
            Tag.div { shown(value, series.unit, currency) }
        }
    }

    /// `1,234.50`: what CSV has, with its digits in groups.
    static func shown(_ value: Int64, _ unit: Chart.Unit, _ currency: String?) -> String {
        let text = Chart.text(value, unit, currency: currency)
        let parts = text.split(separator: ".", maxSplits: 1)
        let whole = parts.first.flatMap { Int64($0) }.map(PageParts.grouped) ?? text
        let isBelowOne = text.hasPrefix("-0")
        let fraction = parts.count > 1 ? ".\(parts[1])" : ""
        return "\(isBelowOne ? "-" : "")\(whole)\(fraction)\(unit == .percent ? " %" : "")"
    }
}

extension ConsolePath {
    static func chart(_ name: ChartName) -> LocalPath { LocalPath("console", "charts", name.rawValue) }
}
