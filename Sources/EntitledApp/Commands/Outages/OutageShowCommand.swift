import Base
import CLI

/// `entitled outages show`.
struct OutageShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an outage, and up to when each app's history was scanned.",
        examples: ["outages show 1", "outages show 1 --json"])

    @Argument(.integer(1...100_000, "N"), "The outage's number in `outages list`, 1 for the newest.") private
        var number: Int

    func run(_ context: CommandContext) throws -> Int32 {
        let outages = try context.operators().all(["outages"]).items
        guard let outage = outages.dropFirst(number - 1).first else {
            throw CommandFailure(
                outages.isEmpty ? "there was no outage" : "there is no outage \(number); there are \(outages.count)")
        }
        guard !context.json else {
            context.terminal.document(outage)
            return 0
        }
        AnswerPage.record(
            [
                ("from", AnswerPage.time(outage, "from", context)),
                ("until", AnswerPage.time(outage, "until", context)),
                ("for", Outages.duration(outage)),
            ], context)
        var table = TextTable(["app", "environment", .time("scanned to"), "covers it"])
        for app in Outages.history(outage) {
            table.add([
                app.cell("app"), app.cell("environment"),
                app.cell("scanned_to").isEmpty ? "never" : app.cell("scanned_to"),
                app["is_covered"]?.boolValue == true ? "yes" : "not yet",
            ])
        }
        context.terminal.print("")
        context.terminal.table(table)
        return 0
    }
}
