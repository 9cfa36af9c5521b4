import Base
import CLI
import Database
import Duties
import Operator
import Postgres
import Schemas

/// `entitled replay list`.
struct ReplayListCommand: ReadingCommand {
    static let configuration = CommandConfiguration("list", "List replays, newest first.", examples: ["replay list"])

    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let jobs = try JobTable.list(atMost: limit, on: connection)
        if context.json {
            context.terminal.document(.object(["replays": .array(jobs.map(\.json))]))
            return 0
        }
        guard !jobs.isEmpty else {
            context.terminal.print("no replays yet; see `entitled replay webhooks --help`")
            return 0
        }
        var table = TextTable([
            .key("id"), .time("made"), "kind", "state", .number("done"), .number("queued"), .prose("about"),
        ])
        for job in jobs {
            table.add([
                String(job.id), Timestamp.text(job.created), job.kind, job.state.rawValue,
                "\(Int(job.fraction * 100)) %", String(job.counts.queued), Terminal.harmless(ReplayJobPage.about(job)),
            ])
        }
        context.terminal.table(table)
        return 0
    }
}
