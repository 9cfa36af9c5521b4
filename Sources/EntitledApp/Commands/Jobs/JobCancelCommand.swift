import CLI
import Database
import Postgres
import Schemas

/// `entitled jobs cancel`.
struct JobCancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "cancel", "Cancel a job; queued deliveries are still sent.",
        discussion: "A change of several steps that an operator asked for is cancelled in the console.",
        examples: ["jobs cancel 12"])

    @OptionGroup private var job: JobArgument

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        if try JobTable.cancel(job.number, on: connection) == nil {
            guard let found = try JobTable.find(job.number, on: connection) else {
                throw CommandFailure("there is no job \(job.number); see: entitled jobs list")
            }
            throw CommandFailure(
                ChangeKind(rawValue: found.kind) == nil
                    ? "job \(job.number) has ended already: \(found.state.rawValue)"
                    : "job \(job.number) is a change that an operator asked for: cancel it in the console")
        }
        try JobPage.show(try LocalOperator(configuration).get(["jobs", String(job.number)], []), context)
        return 0
    }
}
