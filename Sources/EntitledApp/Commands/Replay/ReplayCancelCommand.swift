import Base
import CLI
import Database
import Duties
import Postgres
import Schemas

/// `entitled replay cancel`.
struct ReplayCancelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "cancel", "Cancel a replay; queued deliveries are still sent.", examples: ["replay cancel 1"])

    @Argument(ReplayJobPage.id) private var id: Int64

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        guard let job = try JobTable.cancel(id, on: connection) else {
            guard let job = try JobTable.find(id, on: connection) else {
                throw ReplayJobPage.noSuch(id)
            }
            throw CommandFailure("replay \(job.id) has ended already: \(job.state.rawValue)")
        }
        ReplayJobPage.show(job, context)
        return 0
    }
}
