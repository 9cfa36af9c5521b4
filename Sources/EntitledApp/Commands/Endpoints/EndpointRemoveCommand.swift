import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints remove`.
struct EndpointRemoveCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove an endpoint and give up its pending deliveries.", discussion: ChangeOptions.help,
        examples: ["endpoints remove ID"])

    @Argument(EndpointCommands.id) private var id: String
    @OptionGroup private var confirmation: Confirmation
    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try ask(remote, context) }
        try change.checkLocal()
        guard id != OperationsEndpoint.id else {
            throw CommandFailure(
                "\(id) comes from the configuration: remove webhooks.operations_url, and start the worker"
                    + " again")
        }
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        if confirmation.isNeeded(context) {
            let endpoint = try EndpointCommands.find(id, on: connection)
            try confirmation.ask("Remove this endpoint? It cannot be undone.", context) {
                try EndpointRemoveCommand.preview(endpoint, on: connection)
            }
        }
        guard try EndpointTable.remove(id, now: SystemClock().now(), on: connection) else {
            throw try EndpointCommands.noSuch(id, on: connection)
        }
        try EndpointCommands.settleDeliveries(on: connection)
        if context.json {
            context.terminal.document(.object(["id": .string(id), "state": .string("removed")]))
        } else {
            context.terminal.print("removed \(id); deliveries that waited for it are given up")
        }
        return 0
    }

    private func ask(_ remote: OperatorClient, _ context: CommandContext) throws -> Int32 {
        var plan: String?
        if confirmation.isNeeded(context) {
            let preview = try remote.preview(["endpoints", id], .object([JSON.Member]()), method: "DELETE")
            plan = preview["plan"]?.stringValue
            try confirmation.ask("Remove this endpoint? It cannot be undone.", context) { PreviewLines.lines(preview) }
        }
        return try change.ask(remote, ["endpoints", id], context, method: "DELETE", plan: plan)
    }

    /// Deliveries that are counted for the question before an endpoint is removed.
    private static let counted = 1000

    private static func preview(_ endpoint: Endpoint, on connection: PostgresConnection) throws -> [String] {
        let open = try [DeliveryState.pending, .held].reduce(0) { count, state in
            try count
                + DeliveryQuery.list(
                    .init(endpoint: endpoint.id, state: state), .init(limit: counted), on: connection
                ).rows.count
        }
        let least = open < counted ? "" : "at least "
        let lost = open == 1 ? "1 delivery that waits to be sent" : "\(least)\(open) deliveries that wait to be sent"
        return [
            "endpoint      \(endpoint.id)", "url           \(endpoint.url)", "state         \(endpoint.stateText)",
            "gets          \(endpoint.filterText)", "given up      \(lost)",
        ]
    }
}
