import Base
import CLI
import Customers
import Daemon
import Glibc
import Schemas

/// `entitled report`.
struct ReportCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "report", "Report subscriptions and revenue of a period.",
        discussion: (["Reads every purchase once, in one snapshot, without blocking other work. The numbers:"]
            + ReportDefinitions.all.map { "\($0.name): \($0.meaning)" }).joined(separator: "\n"),
        examples: [
            "report --from 2026-11-01 --to 2026-12-01", "report --from 30d --by day --json",
            "report --from 2026-01-01 --by month --app demo --csv",
            "report --from last-month --to this-month --by week --time-zone Europe/Vienna",
        ])

    @Option("--from", .moment, "Start of the period, inclusive.") private var from: TimeArgument
    @Option("--to", .moment, "End of the period, exclusive; default: now.") private var to: TimeArgument?
    @Option("--app", .text("ID"), "Limit to this app, by its id in the configuration.") private var app: String?
    @Option("--environment", .environment, "Environment to report; default: Production.")
    private var environment: StoreEnvironment = .production
    @Option(
        "--by", .choice(of: ReportCalendar.Step.self, "STEP"),
        "Split by days, weeks from Monday, or months; default: one total.")
    private var step: ReportCalendar.Step = .total
    @Option(
        "--time-zone", .timeZone,
        "Where days, weeks and months begin, also those of --from and --to; default: reports.time_zone.")
    private var timeZone: TimeZoneName?
    @Flag("--csv", "Print one line per number, for spreadsheets. Texts that begin like formulas get a '.")
    private var isCSV: Bool

    /// More would only wait for the same Postgres.
    private static let mostThreads = 4

    func run(_ context: CommandContext) throws -> Int32 {
        if isCSV, context.json { throw UsageError("--csv and --json cannot be combined") }
        if let remote = context.remote { return try tell(try ask(remote, context), context) }
        let configuration = try context.configuration()
        try check(configuration)
        let question = ReportQuestion(
            app: app, environment: environment, step: step, timeZone: timeZone ?? configuration.reports.timeZone)
        guard let zone = TimeZoneDatabase.zone(question.timeZone) else {
            throw CommandFailure(
                "reports.time_zone is \(question.timeZone.text); it must be \(TimeZoneDatabase.allowed)")
        }
        let database = try DatabaseAccess(configuration)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        let run = ReportRun(
            question, foldSettings: configuration.foldSettings,
            threads: min(ReportCommand.mostThreads, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        let report = try run.run(
            connect: { try database.connect(.api) }, calendar: { try calendar(now: $0, zone) },
            progress: { share, purchases in bar.show(share, "\(purchases) purchases") })
        bar.clear()
        return try tell(report, context)
    }

    private func tell(_ report: Report, _ context: CommandContext) throws -> Int32 {
        if isCSV {
            context.terminal.write(Array(report.csv.utf8))
        } else if context.json {
            context.terminal.document(report.json)
        } else {
            let name = report.question.timeZone
            guard let zone = TimeZoneDatabase.zone(name) else {
                throw CommandFailure(
                    "Days of this report are those of \(name.text), a time zone that this host does not know: install "
                        + "tzdata, or use --json or --csv.")
            }
            context.terminal.print(
                ReportPage(report, in: zone, isBold: context.terminal.isInteractive, on: context.terminal.screen).text)
        }
        return 0
    }

    // MARK: - By the operator API

    /// While a report is being counted.
    private static let patience = Duration.seconds(1800)

    private func ask(_ remote: OperatorClient, _ context: CommandContext) throws -> Report {
        guard timeZone == nil else {
            throw UsageError("--time-zone is for the host: by --url days begin in reports.time_zone of the console")
        }
        let query: [(name: String, value: String?)] = [
            ("from", from.text), ("to", to?.text), ("app", app), ("environment", environment.rawValue),
            ("by", step.rawValue),
        ]
        let deadline = ContinuousClock.now + ReportCommand.patience
        while true {
            do {
                guard let report = Report(json: try remote.json(["report"], query)) else {
                    throw CommandFailure("the answer is not a report")
                }
                return report
            } catch let refusal as OperatorRefusal where refusal.code == "computing" && .now < deadline {
                Pause.wait(.seconds(Int64(clamping: min(30, max(1, refusal.retryAfter ?? 1)))))
            }
        }
    }

    private func check(_ configuration: Configuration) throws {
        guard let id = app else { return }
        let app = try configuration.app(named: id)
        guard app.environments.contains(environment) else {
            throw UsageError(
                "--environment: the app \(app.id) does not accept data of \(environment.rawValue)")
        }
    }

    /// Of the time that has passed by now, in ms since 1970.
    private func calendar(now: Int64, _ zone: LocalZone) throws -> ReportCalendar {
        let from = try self.from.milliseconds(ofOption: "--from", now: now, in: zone)
        let asked = to?.milliseconds(now: now, in: zone) ?? now
        guard from < asked else { throw UsageError("--to must be after --from") }
        guard from >= ReportCalendar.earliest else { throw UsageError("--from must not be before 0001-01-01") }
        guard let calendar = ReportCalendar(from: from, to: min(now, asked), by: step, in: zone) else {
            throw UsageError(
                "--by: the period has more than \(ReportCalendar.limit) parts; choose longer parts or a shorter period")
        }
        return calendar
    }
}

extension ReportCalendar.Step: InputValue {}
