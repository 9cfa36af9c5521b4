import Base
import CLI
import Operator

/// `entitled outages show`.
struct OutageShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an outage: up to when each app's history was scanned, what was found, and what became of it.",
        discussion:
            "Withheld are events of that time that an endpoint takes and never had: events about what is older than seven days are"
            + " stored and not sent. --send-withheld sends them, as `replay webhooks --missing` does, by a job for each"
            + " endpoint, on the host or with --url. --json prints the answer of the operator API, and with --send-withheld"
            + " the jobs.",
        examples: [
            "outages show 1", "outages show 1 --json", "outages show 1 --send-withheld --yes",
        ])

    @Argument(.integer(1...100_000, "N"), "The outage's number in `outages list`, 1 for the newest.") private
        var number: Int
    @Flag("--send-withheld", "Send events of that time that endpoints never had.") private var sendsWithheld: Bool
    @OptionGroup private var confirmation: Confirmation
    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if !sendsWithheld { try change.checkUnused() }
        let source = try context.operators()
        let outages = try source.all(["outages"]).items
        guard let listed = outages.dropFirst(number - 1).first else {
            throw CommandFailure(
                outages.isEmpty ? "there was no outage" : "there is no outage \(number); there are \(outages.count)")
        }
        let bytes = try source.get(["outages", listed.cell("number")], [])
        let outage = try JSON(ordered: bytes)
        guard !sendsWithheld else { return try send(outage, context) }
        guard !context.json else {
            try context.document(bytes)
            return ExitStatus.done
        }
        show(outage, context)
        return ExitStatus.done
    }

    private func show(_ outage: JSON, _ context: CommandContext) {
        let events = outage["events"] ?? .null
        let found = outage["found"]?.arrayValue ?? []
        AnswerPage.record(
            [
                ("from", AnswerPage.time(outage, "from", context)),
                ("until", AnswerPage.time(outage, "until", context)),
                ("for", Outages.duration(outage)),
                (
                    "found",
                    "\(found.count)\(outage["is_cut"]?.boolValue == true ? " or more" : ""), \(outage.cell("applied")) applied"
                ),
                ("events", "\(events.cell("sent")) sent, \(events.cell("withheld")) withheld"),
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
        let withheld = OutageShowCommand.withheld(outage)
        guard !withheld.isEmpty else { return }
        var endpoints = TextTable([.key("endpoint"), .number("withheld")])
        for endpoint in withheld { endpoints.add([endpoint.cell("endpoint"), OutageShowCommand.count(endpoint)]) }
        context.terminal.print("")
        context.terminal.table(endpoints)
    }

    private static func withheld(_ outage: JSON) -> [JSON] { outage["withheld"]?.arrayValue ?? [] }

    private static func count(_ endpoint: JSON) -> String {
        endpoint.cell("events") + (endpoint["is_complete"]?.boolValue == true ? "" : " or more")
    }

    // MARK: - Sending

    private func send(_ outage: JSON, _ context: CommandContext) throws -> Int32 {
        let withheld = OutageShowCommand.withheld(outage)
        guard !withheld.isEmpty else {
            guard !context.json else {
                context.terminal.document(.object(["jobs": .array([])]))
                return ExitStatus.done
            }
            context.terminal.print("no endpoint lacks an event of that time")
            return ExitStatus.done
        }
        let reason = try change.reason(context, standard: "entitled outages show --send-withheld")
        try confirmation.ask("Send what was withheld?", context) {
            withheld.map { "\($0.cell("endpoint"))  \(OutageShowCommand.count($0))" }
        }
        let asker = try JobAsker(context)
        let jobs = try withheld.map { endpoint in
            try asker.ask(
                .replayWebhooks,
                [
                    JSON.Member(name: "endpoint", value: .string(endpoint.cell("endpoint"))),
                    JSON.Member(name: "mode", value: .string("missing")),
                    JSON.Member(name: "since", value: .string(outage["time"]?.cell("since") ?? "")),
                    JSON.Member(name: "until", value: .string(outage["time"]?.cell("until") ?? "")),
                ], reason: reason)
        }
        guard !context.json else {
            context.terminal.document(.object(["jobs": .array(jobs.map(\.answer))]))
            return ExitStatus.done
        }
        return try jobs.map { try change.tell($0.job, $0.answer, of: asker.source, context) }.max() ?? ExitStatus.done
    }
}
