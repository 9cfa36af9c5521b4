import Base
import CLI
import Database
import Operator
import Postgres
import Schemas

/// `entitled events show`.
struct EventShowCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an event, its body and its deliveries.",
        examples: ["events show 693B9195-0D6B-5C53-9F3B-1C2F3D4E5F60", "events show ID --json"])

    @OptionGroup private var argument: EventArgument

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        // An id is a hash of the event's cause, lane included: there is one event of it.
        let event = try argument.event(on: connection)
        let body = try EventQuery.body(of: event, on: connection)
        var filter = DeliveryQuery.Filter()
        filter.events = [event.name]
        let deliveries = try DeliveryQuery.list(filter, ListRange(limit: 1000), on: connection).rows
        if context.json {
            let more = [
                JSON.Member(name: "body", value: body.isEmpty ? .null : .raw(body)),
                JSON.Member(name: "deliveries", value: .array(deliveries.map { .object($0.members) })),
            ]
            context.terminal.document(.object(event.members + more))
            return 0
        }
        context.terminal.print(
            """
            \(event.id)
            type         \(event.type)
            app          \(Terminal.harmless(event.app)), \(event.environment.rawValue)
            created      \(context.terminal.time(event.created))
            """)
        if let purchase = event.originalTransactionID {
            let number = event.sequence.map { ", event \($0) of this purchase" } ?? ""
            context.terminal.print("purchase     \(Terminal.harmless(purchase))\(number)")
        }
        context.terminal.print("")
        if deliveries.isEmpty {
            context.terminal.print("no deliveries: no endpoint wanted this event")
        } else {
            context.terminal.table(DeliveryListCommand.table(deliveries))
        }
        context.terminal.print("\nbody")
        context.terminal.print(DeliveryShowCommand.bodyText(body))
        return 0
    }
}
