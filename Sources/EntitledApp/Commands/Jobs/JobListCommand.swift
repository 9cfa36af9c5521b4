import Base
import CLI
import Database

/// `entitled jobs list`.
struct JobListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List jobs, newest first: replays, imports and the changes that operators requested.",
        discussion: "--json prints the answer of the operator API.",
        examples: ["jobs list --state running", "jobs list --json"])

    @Option("--state", .choice(of: Job.State.self, "STATE"), "Only jobs in this state.") private var state: Job.State?
    @OptionGroup private var part: CursorOptions

    func run(_ context: CommandContext) throws -> Int32 {
        let list = try context.operators().list(
            ["jobs"], [("state", state?.rawValue)], after: part.after, limit: part.limit)
        var table = TextTable([
            .key("n"), .time("made"), "kind", "state", .number("done"), .number("queued"), "by", .prose("about"),
        ])
        for job in list.items {
            table.add([
                job.cell("id"), job.cell("created_at"), job.cell("kind"), job.cell("state"), AnswerPage.percent(job),
                job.cell("queued"), job.cell("made_by"), job.cell("request"),
            ])
        }
        AnswerPage.show(list, table, empty: "no jobs", isFirst: part.after == nil, context)
        return 0
    }
}

extension Job.State: InputValue {}
