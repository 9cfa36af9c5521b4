import Base
import CLI
import Operator

/// `entitled outages show`.
struct OutageShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an outage: up to when each app's history was scanned, what was found, and what became of it.",
        discussion:
            "Withheld are events about the purchases of what was found that no endpoint had, although one takes them: events about"
            + " what is older than seven days are stored and not sent. --send-withheld sends each endpoint those that it lacks, by a"
            + " job for each endpoint, on the host or with --url. --json prints the answer of the operator API, and with --send-withheld"
            + " the jobs.",
        examples: [
            "outages show 1", "outages show 1 --json", "outages show 1 --send-withheld --yes",
        ])

    @Argument(.integer(1...100_000, "N"), "The outage's number in `outages list`, 1 for the newest.") private
        var number: Int
    @Flag("--send-withheld", "Send each endpoint the events that it lacks.") private var sendsWithheld: Bool
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
        let lacking = OutageShowCommand.lacking(outage)
        defer { OutageShowCommand.tellUncounted(outage, context) }
        guard !lacking.isEmpty else { return }
        var endpoints = TextTable([.key("endpoint"), .number("lacks")])
        for endpoint in lacking { endpoints.add([endpoint.cell("endpoint"), OutageShowCommand.count(endpoint)]) }
        context.terminal.print("")
        context.terminal.table(endpoints)
    }

    private static func lacking(_ outage: JSON) -> [JSON] { outage["lacking"]?.arrayValue ?? [] }

    private static func tellUncounted(_ outage: JSON, _ context: CommandContext) {
        guard let count = outage["uncounted_endpoints"]?.intValue, count > 0 else { return }
        context.terminal.printError("there are \(count) more endpoints, which were not counted")
    }

    private static func count(_ endpoint: JSON) -> String {
        endpoint.cell("events") + (endpoint["is_complete"]?.boolValue == true ? "" : " or more")
    }

    // MARK: - Sending

    private func send(_ outage: JSON, _ context: CommandContext) throws -> Int32 {
        let lacking = OutageShowCommand.lacking(outage)
        OutageShowCommand.tellUncounted(outage, context)
        guard !lacking.isEmpty else {
            guard !context.json else {
                context.terminal.document(.object(["jobs": .array([])]))
                return ExitStatus.done
            }
            context.terminal.print("no endpoint lacks an event about what was found")
            return ExitStatus.done
        }
        let reason = try change.reason(context, standard: "entitled outages show --send-withheld")
        try confirmation.ask("Send what was withheld?", context) {
            lacking.map { "\($0.cell("endpoint"))  \(OutageShowCommand.count($0))" }
        }
        let asker = try JobAsker(context)
        var jobs: [(job: Int64, answer: JSON)] = []
        for endpoint in lacking {
            let filter = RemoteReplay.members([
                ("endpoint", endpoint.cell("endpoint")), ("mode", "missing"), ("outage", outage.cell("number")),
            ])
            do {
                jobs.append(try asker.ask(.replayWebhooks, filter, reason: reason))
            } catch {
                let left = lacking.count - jobs.count
                context.terminal.printError(
                    "\(jobs.count) \(jobs.count == 1 ? "job was" : "jobs were") asked for, \(left)"
                        + " \(left == 1 ? "was" : "were") not, from that of \(endpoint.cell("endpoint")) on")
                throw error
            }
            if !context.json, let job = jobs.last?.job {
                context.terminal.print("job \(job) sends to \(endpoint.cell("endpoint"))")
            }
        }
        guard !context.json else {
            context.terminal.document(.object(["jobs": .array(jobs.map(\.answer))]))
            return ExitStatus.done
        }
        return try jobs.map { try change.tell($0.job, $0.answer, of: asker.source, context) }.max() ?? ExitStatus.done
    }
}
