import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints show`.
struct EndpointShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an endpoint, its health, and when it would be disabled.", discussion: AnsweredEndpoint.help,
        examples: ["endpoints show ID"])

    @Argument(EndpointCommands.id) private var id: String

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            try AnsweredEndpoint.show(try remote.get(["endpoints", id], []), context)
            return 0
        }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        try EndpointCommands.show(id, configuration, on: connection, context)
        return 0
    }
}
