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
        guard let job = try JobTable.find(id, on: connection) else { throw ReplayJobPage.noSuch(id) }
        let cancelled: Job?
        switch ChangeKind(rawValue: job.kind) {
        case nil: cancelled = try JobTable.cancel(id, on: connection)
        case let kind? where kind.isReplay:
            let actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
            cancelled = try connection.transaction {
                try ChangeTable.cancel(id, by: actor, on: connection).flatMap { _ in
                    try JobTable.find(id, on: connection)
                }
            }
        default: throw ReplayJobPage.noSuch(id)
        }
        guard let cancelled else {
            throw CommandFailure("replay \(id) has ended already: \(job.state.rawValue)")
        }
        ReplayJobPage.show(cancelled, context)
        return 0
    }
}
