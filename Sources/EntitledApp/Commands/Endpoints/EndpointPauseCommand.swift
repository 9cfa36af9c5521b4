import Base
import CLI
import Daemon
import Database
import Postgres
import Schemas

/// `entitled endpoints pause`.
struct EndpointPauseCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "pause", "Send nothing to an endpoint until a time; its deliveries stay pending.",
        discussion:
            "The endpoint stays enabled, and nothing is lost or given up. `endpoints enable` ends a pause. \(ChangeOptions.help)",
        examples: ["endpoints pause ID --for 2h", "endpoints pause ID --until 2027-01-01T06:00:00Z"])

    @Argument(EndpointCommands.id) private var id: String
    @Option("--until", .time, "End of the pause.") private var until: TimeArgument?
    @Option("--for", .duration(.seconds(1)...Duration.seconds(30 * 86_400)), "Length of the pause from now on.")
    private var length: Duration?
    @OptionGroup private var change: ChangeOptions

    func validate() throws {
        guard (until == nil) != (length == nil) else { throw UsageError("pause needs either --until or --for") }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let now = SystemClock().now()
        let end = until?.milliseconds(now: now) ?? now + (length?.milliseconds ?? 0)
        if let remote = context.remote {
            return try change.ask(
                remote, ["endpoints", id, "pause"], context, ["until": .string(Timestamp.text(end))])
        }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        guard try EndpointTable.pause(id, until: end, on: connection) else {
            throw try EndpointCommands.noSuch(id, on: connection)
        }
        guard !context.json else {
            context.terminal.document(
                .object(["id": .string(id), "paused_until": end > now ? .date(end) : .null]))
            return 0
        }
        context.terminal.paragraph(
            end > now ? "\(id) gets nothing until \(context.terminal.time(end))" : "\(id) is not paused")
        return 0
    }
}
