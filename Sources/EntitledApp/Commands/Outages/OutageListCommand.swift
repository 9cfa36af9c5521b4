import Base
import CLI

/// `entitled outages list`.
struct OutageListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List the times in which no notification could be stored, newest first.",
        discussion:
            "Of the last 45 days, gaps of over five minutes, and whether Apple's history of that time was scanned"
            + " for what was missed. --json prints the answer of the operator API.",
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
