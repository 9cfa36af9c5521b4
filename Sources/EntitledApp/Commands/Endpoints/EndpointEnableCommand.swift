import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints enable`.
struct EndpointEnableCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "enable", "Enable an endpoint and release its held deliveries.",
        discussion:
            "Deliveries of a disabled endpoint are held. On a terminal the command asks whether to send or drop them;"
            + " elsewhere it sends them unless --drop-held is given. `replay webhooks --failed` sends dropped ones later."
            + " \(ChangeOptions.help)",
        examples: ["endpoints enable ID", "endpoints enable ID --drop-held"])

    @Argument(EndpointCommands.id) private var id: String
    @Flag("--deliver-held", "Send the held deliveries.") private var delivers: Bool
    @Flag("--drop-held", "Give up the held deliveries; they become dead.") private var drops: Bool

    @OptionGroup private var change: ChangeOptions

    /// The fate of the deliveries that wait for the endpoint.
    private enum Held {
        case deliver
        case drop
    }

    func validate() throws {
        if delivers, drops { throw UsageError("--deliver-held and --drop-held cannot be combined") }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            if drops { throw UsageError("--drop-held \(RemoteOptions.onHostOnly)") }
            return try change.ask(remote, ["endpoints", id, "enable"], context)
        }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let endpoint = try EndpointCommands.find(id, on: connection)
        // What was pending when it was disabled may not be held yet.
        try EndpointCommands.settleDeliveries(on: connection)
        // Deliveries that are blocked for an enabled endpoint need no decision.
        let held = endpoint.isEnabled ? 0 : try HeldDeliveries.count(of: id, on: connection)
        let choice = try choice(held, context)
        let dropped = choice == .drop ? try drop(endpoint, held, on: connection, context) : 0
        guard try EndpointTable.enable(id, on: connection) else {
            throw try EndpointCommands.noSuch(id, on: connection)
        }
        try EndpointCommands.settleDeliveries(on: connection)
        let delivered = max(0, held - dropped)
        if !context.json, held > 0 {
            context.terminal.print(
                choice == .drop
                    ? "\(count(dropped)) given up" : "\(count(delivered)) sent now")
        }
        let counts = JSON.object(["held_delivered": .int(delivered), "held_dropped": .int(dropped)]).members ?? []
        try EndpointCommands.tellState(of: id, more: counts, configuration, on: connection, context)
        return 0
    }

    private func count(_ held: Int64) -> String { held == 1 ? "1 held delivery is" : "\(held) held deliveries are" }

    private func choice(_ held: Int64, _ context: CommandContext) throws -> Held {
        if delivers { return .deliver }
        if drops { return .drop }
        guard held > 0, !context.json, let ask = context.terminal.ask else { return .deliver }
        switch ask(
            "\(held == 1 ? "1 delivery waits" : "\(held) deliveries wait") for it. Deliver or drop? [deliver/drop] "
        ).lowercased() {
        case "deliver": return .deliver
        case "drop": return .drop
        default:
            throw CommandFailure("nothing was changed: answer deliver or drop, or give --deliver-held or --drop-held")
        }
    }

    /// While it is disabled, so that no worker sends them meanwhile; what comes in after the command began is kept.
    private func drop(
        _ endpoint: Endpoint, _ held: Int64, on connection: PostgresConnection, _ context: CommandContext
    ) throws -> Int64 {
        guard !endpoint.isEnabled else {
            throw CommandFailure("endpoint \(endpoint.id) is enabled already; its held deliveries are pending")
        }
        let clock = SystemClock()
        let began = clock.now()
        var (dropped, bar) = (Int64(0), ProgressBar(context.terminal))
        defer { bar.clear() }
        while true {
            let count = try HeldDeliveries.drop(
                of: endpoint.id, madeUntil: began, now: clock.now(), on: connection)
            guard count > 0 else { return dropped }
            dropped += Int64(count)
            bar.show(Double(dropped) / Double(max(1, held)), "\(dropped) of \(held) given up")
        }
    }
}
