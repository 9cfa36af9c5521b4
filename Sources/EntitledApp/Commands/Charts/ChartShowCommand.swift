import Base
import CLI
import Charts
import Customers
import Daemon
import Database
import Operator
import Schemas
import Subscriptions

/// `entitled charts show`.
struct ChartShowCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "show", "Show the numbers of a chart, as entitled report counts them.",
        discussion:
            "Counts from the tables of reports, at their last refresh: reports.refresh must be on. Days begin in"
            + " reports.time_zone. Charts of money have a table for each currency. `entitled charts list` names the charts; the"
            + " web console draws them, and defines every number below.",
        examples: [
            "charts show mrr-movement --from 2026-01", "charts show active --by day --from 30d --product pro_monthly",
            "charts show revenue --currency EUR --csv",
        ])

    @Argument(.choice(of: ChartName.self, "NAME"), "The chart; `entitled charts list` says what each shows.")
    private var name: ChartName
    @Option(
        "--from", .moment,
        "Start of the period, inclusive; default: some 30 days, 26 weeks or 12 months before the end.")
    private var from: TimeArgument?
    @Option("--to", .moment, "End, exclusive; default, and at most: the last refresh.") private var to: TimeArgument?
    @Option("--by", .choice(of: ChartQuestion.Step.self, "STEP"), "Length of the parts; default: month.")
    private var step: ChartQuestion.Step?
    @Option("--product", .text("ID"), "Only this product.") private var product: String?
    @Option("--country", .text("CODE"), "Only this storefront, such as AT.") private var country: String?
    @Option("--currency", .text("CODE"), "Only this currency, such as EUR.") private var currency: String?
    @Option("--environment", .environment, "Environment; default: Production.")
    private var environment: StoreEnvironment = .production
    @Flag("--csv", "Print the rows for spreadsheets. Texts that begin like formulas get a '.") private var isCSV: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        if isCSV, context.json { throw UsageError("--csv and --json cannot be combined") }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        let answer: ChartAnswer
        do {
            let question = try ChartQuestion(
                from: from, to: to, by: step,
                filter: ReportFilter(productID: product, currency: currency, country: country), environment: environment
            )
            answer = try DatabaseDesk.ask(
                DeskSettings(configuration), for: Viewer(user: "", role: .operator), now: SystemClock().now(),
                on: connection
            ) { try $0.chart(name.rawValue, question) }
        } catch let error as DeskError {
            throw CommandFailure(error.message)
        }
        if isCSV {
            context.terminal.write(Array(answer.csv.utf8))
        } else if context.json {
            context.terminal.document(answer.json)
        } else {
            show(answer, context)
        }
        return 0
    }

    private func show(_ answer: ChartAnswer, _ context: CommandContext) {
        context.terminal.print(
            "\(answer.name.title), \(answer.scope.environment.rawValue), by \(answer.scope.step.rawValue), days of"
                + " \(answer.zone), as known at \(context.terminal.time(answer.scope.freshness.refreshed))")
        if answer.scope.freshness.failed > 0 {
            context.terminal.print(
                "\(answer.scope.freshness.failed) purchases are missing or counted as they were: the last refresh failed"
                    + " for them")
        }
        for table in answer.chart.tables {
            let money = answer.name.isMoney ? "\n\(table.currency.map(Terminal.harmless) ?? "without a price")" : ""
            context.terminal.print(money)
            context.terminal.table(ChartShowCommand.table(answer.chart, table))
        }
        if answer.chart.tables.isEmpty { context.terminal.print("\nnothing was paid in this time") }
    }

    /// Without the columns of which every number is zero.
    private static func table(_ chart: Chart, _ numbers: Chart.Table) -> TextTable {
        let used = chart.series.indices.filter { place in
            numbers.rows.contains { $0.values[place].map { $0 != 0 } ?? false }
        }
        let shown = used.isEmpty ? Array(chart.series.indices) : used
        var table = TextTable(
            ["from"] + shown.map { .number(String(chart.series[$0].name.map { $0 == "_" ? " " : $0 })) })
        for row in numbers.rows {
            table.add(
                [row.label]
                    + shown.map { place in
                        row.values[place].map {
                            Chart.text($0, chart.series[place].unit, currency: numbers.currency)
                        } ?? ""
                    })
        }
        return table
    }
}

extension ChartQuestion.Step: InputValue {}
extension ChartName: InputValue {}
