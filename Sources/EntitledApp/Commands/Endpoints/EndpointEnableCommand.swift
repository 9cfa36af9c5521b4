import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled endpoints enable`.
struct EndpointEnableCommand: Command {
    static let declaration = EndpointOptions.enable
    private let options: EndpointOptions.Enable

    init(_ parsed: ParsedArguments) throws {
        options = try EndpointOptions.Enable(parsed)
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let endpoint = try EndpointCommands.find(options.id, on: connection)
        // What was pending when it was disabled may not be held yet.
        try EndpointCommands.settleDeliveries(on: connection)
        // Deliveries that are blocked for an enabled endpoint need no decision.
        let held = endpoint.isEnabled ? 0 : try HeldDeliveries.count(of: options.id, on: connection)
        let choice = try choice(held, context)
        let dropped = choice == .drop ? try drop(endpoint, held, on: connection, context) : 0
        guard try EndpointTable.enable(options.id, on: connection) else {
            throw try EndpointCommands.noSuch(options.id, on: connection)
        }
        try EndpointCommands.settleDeliveries(on: connection)
        let delivered = max(0, held - dropped)
        if !context.json, held > 0 {
            context.terminal.print(
                choice == .drop
                    ? "\(count(dropped)) given up" : "\(count(delivered)) sent now")
        }
        let counts = JSON.object(["held_delivered": .int(delivered), "held_dropped": .int(dropped)]).members ?? []
        try EndpointCommands.tellState(of: options.id, more: counts, configuration, on: connection, context)
        return 0
    }

    private func count(_ held: Int64) -> String { held == 1 ? "1 held delivery is" : "\(held) held deliveries are" }

    private func choice(_ held: Int64, _ context: CommandContext) throws -> EndpointOptions.Enable.Held {
        if let held = options.held { return held }
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
            throw CommandFailure("endpoint \(endpoint.id) is enabled already: what was held is on its way")
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
