import Base
import CLI
import Database
import Duties
import Postgres
import Schemas

/// `entitled replay show`.
struct ReplayShowCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a replay's progress.", examples: ["replay show 1", "replay show 1 --watch 2s"])

    @Argument(ReplayJobPage.id) private var id: Int64

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        guard let job = try JobTable.find(id, on: connection) else {
            throw ReplayJobPage.noSuch(id)
        }
        ReplayJobPage.show(job, context)
        return 0
    }
}
