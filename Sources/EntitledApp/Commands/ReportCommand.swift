import Base
import CLI
import Customers
import Glibc
import Schemas

/// `entitled report`.
struct ReportCommand: Command {
    static let declaration = ReportOptions.declaration
    private let options: ReportOptions

    /// More would only wait for the same Postgres.
    private static let mostThreads = 4

    init(_ parsed: ParsedArguments) throws {
        options = try ReportOptions(parsed)
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if options.isCSV, context.json { throw UsageError("--csv and --json are two outputs: take one") }
        let configuration = try context.configuration()
        try check(configuration)
        let database = try DatabaseAccess(configuration)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        let run = ReportRun(
            options.question, foldSettings: configuration.foldSettings,
            threads: min(ReportCommand.mostThreads, max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
        let report = try run.run(
            connect: { try database.connect(.api) }, calendar: calendar,
            progress: { share, purchases in bar.show(share, "\(purchases) purchases") })
        bar.clear()
        if options.isCSV {
            context.terminal.write(Array(report.csv.utf8))
        } else if context.json {
            context.terminal.document(report.json)
        } else {
            context.terminal.print(
                ReportPage(report, isBold: context.terminal.isInteractive, on: context.terminal.screen).text)
        }
        return 0
    }

    private func check(_ configuration: Configuration) throws {
        guard let id = options.question.app else { return }
        let app = try configuration.app(named: id)
        guard app.environments.contains(options.question.environment) else {
            throw UsageError(
                "--environment: the app \(app.id) does not take data of \(options.question.environment.rawValue)")
        }
    }

    /// Of the time that has passed by now, in ms since 1970.
    private func calendar(now: Int64) throws -> ReportCalendar {
        let from = try options.from.milliseconds(ofOption: "--from", now: now)
        let asked = options.to?.milliseconds(now: now) ?? now
        guard from < asked else { throw UsageError("--to must be after --from") }
        guard let calendar = ReportCalendar(from: from, to: min(now, asked), by: options.question.step) else {
            throw UsageError(
                "--by: the time has more than \(ReportCalendar.limit) parts; take longer ones, or less time")
        }
        return calendar
    }
}
