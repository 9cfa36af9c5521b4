import Base
import CLI

/// The gaps of the last 45 days in which no notification could be stored, numbered from the newest.
private enum Outages {
    static func history(_ outage: JSON) -> [JSON] { outage["history"]?.arrayValue ?? [] }

    static func duration(_ outage: JSON) -> String {
        outage["seconds"]?.intValue.map { RelativeTime.text($0.multipliedReportingOverflow(by: 1000).partialValue) }
            ?? ""
    }

    /// Which apps' history of that time was scanned.
    static func coverage(_ outage: JSON) -> String {
        let open = history(outage).filter { $0["is_covered"]?.boolValue != true }
        guard !open.isEmpty else { return history(outage).isEmpty ? "no app" : "scanned" }
        return "not yet for " + open.map { "\($0.cell("app")) \($0.cell("environment"))" }.joined(separator: ", ")
    }
}

/// `entitled outages list`.
struct OutageListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List the times in which no notification could be stored, newest first.",
        discussion:
            "Covers gaps of over five minutes in the last 45 days, and says whether Apple's history of that time was"
            + " scanned for missed notifications. --json prints the answer of the operator API.",
        examples: ["outages list", "outages list --json"])

    func run(_ context: CommandContext) throws -> Int32 {
        let list = try context.operators().all(["outages"])
        var table = TextTable([.key("n"), .time("from"), .time("until"), .number("for"), .prose("Apple's history")])
        for (place, outage) in list.items.enumerated() {
            table.add([
                String(place + 1), outage.cell("from"), outage.cell("until"), Outages.duration(outage),
                Outages.coverage(outage),
            ])
        }
        AnswerPage.show(list, table, empty: "no outages", context)
        return 0
    }
}

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
