import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints disable`.
struct EndpointDisableCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "disable", "Disable an endpoint and hold its deliveries.", discussion: ChangeOptions.help,
        examples: ["endpoints disable ID"])

    @Argument(EndpointCommands.id) private var id: String

    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try change.ask(remote, ["endpoints", id, "disable"], context) }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        guard try EndpointTable.disable(id, reason: "by an operator", on: connection) else {
            throw try EndpointCommands.noSuch(id, on: connection)
        }
        try EndpointCommands.settleDeliveries(on: connection)
        try EndpointCommands.tellState(of: id, configuration, on: connection, context)
        return 0
    }
}
