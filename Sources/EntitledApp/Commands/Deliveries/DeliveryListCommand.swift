import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled deliveries list`.
struct DeliveryListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "list", "List deliveries, newest first.",
        examples: ["deliveries list --state dead", "deliveries list --endpoint ID --limit 1000 --json"])

    @Option("--endpoint", .text("ID"), "Only those to this endpoint.") var endpoint: String?
    @Option(
        "--state", .choice(DeliveryState.allCases.map(\.name), "STATE"),
        "Only those: pending is tried again, dead was given up, held waits for its endpoint.")
    var state: DeliveryState?
    @Option(ListLimit.option) var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let found = try DeliveryQuery.list(
            endpoint: endpoint, state: state, atMost: limit, on: connection)
        if found.isEmpty, let endpoint = endpoint,
            try EndpointTable.list(id: endpoint, on: connection).isEmpty
        {
            throw try EndpointCommands.noSuch(endpoint, on: connection)
        }
        if context.json {
            context.terminal.document(.object(["deliveries": .array(found.map { .object($0.members) })]))
            return 0
        }
        guard !found.isEmpty else {
            context.terminal.print("no deliveries")
            return 0
        }
        var table = TextTable([
            .time("created"), "event", "state", .number("attempts"), .number("last"), .time("next"),
            .id("endpoint"), .key("id"), .prose("reason"),
        ])
        for item in found {
            table.add([
                Timestamp.text(item.created), item.eventType, item.state.name, String(item.attempts),
                item.lastStatus.map(String.init) ?? "", item.nextAttempt.map(Timestamp.text) ?? "",
                item.endpoint, item.id.text,
                item.reason ?? (item.blockedSince == nil ? "" : "waits for an earlier event of its purchase"),
            ])
        }
        context.terminal.table(table)
        return 0
    }
}

extension DeliveryState: InputValue {
    package init?(input text: String, as kind: ValueKind) { self.init(name: text) }
}
