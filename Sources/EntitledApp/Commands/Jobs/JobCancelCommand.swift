import CLI
import Database
import Postgres
import Schemas

/// `entitled jobs cancel`.
struct JobCancelCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "cancel", "Cancel a job; queued deliveries are still sent.",
        discussion: "A change of one step cannot be cancelled: it ends by itself. \(ChangeOptions.help)",
        examples: ["jobs cancel 12", "jobs cancel 12 --url https://console.example.com --reason 'ticket 77'"])

    @OptionGroup private var job: JobArgument
    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            return try change.ask(remote, ["jobs", String(job.number), "cancel"], context)
        }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
        let isCancelled =
            try JobTable.cancel(job.number, on: connection) != nil
            || connection.transaction { try ChangeTable.cancel(job.number, by: actor, on: connection) != nil }
        guard isCancelled else {
            guard let found = try JobTable.find(job.number, on: connection) else {
                throw CommandFailure("there is no job \(job.number); see `entitled jobs list`")
            }
            throw CommandFailure(
                found.state == .running
                    ? "job \(job.number) is a change of one step, which ends by itself"
                    : "job \(job.number) has ended already: \(found.state.rawValue)")
        }
        try JobPage.show(try LocalOperator(configuration).get(["jobs", String(job.number)], []), context)
        return 0
    }
}
