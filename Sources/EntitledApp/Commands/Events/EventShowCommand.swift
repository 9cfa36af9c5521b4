import Base
import CLI
import Database
import Operator
import Postgres
import Schemas

/// `entitled events show`.
struct EventShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show an event, its body and its deliveries.",
        examples: ["events show 693B9195-0D6B-5C53-9F3B-1C2F3D4E5F60", "events show ID --json"])

    @OptionGroup private var argument: EventArgument

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            let bytes = try remote.get(["events", try argument.id(of: remote)], [])
            show(try JSON(ordered: bytes, verbatim: ["body"]).without(["repeats_event"]), context)
            return 0
        }
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        // An id is a hash of the event's cause, lane included: there is one event of it.
        let event = try argument.event(on: connection)
        let body = try EventQuery.body(of: event, on: connection)
        var filter = DeliveryQuery.Filter()
        filter.events = [event.name]
        let deliveries = try DeliveryQuery.list(filter, ListRange(limit: 1000), on: connection).rows
        let more = [
            JSON.Member(name: "body", value: body.isEmpty ? .null : .raw(body)),
            JSON.Member(name: "deliveries", value: .array(deliveries.map(\.json))),
        ]
        show(.object(event.members + more), context)
        return 0
    }

    private func show(_ event: JSON, _ context: CommandContext) {
        guard !context.json else { return context.terminal.document(event) }
        context.terminal.print(
            """
            \(event.cell("id"))
            type         \(event.cell("type"))
            app          \(Terminal.harmless(event.cell("app"))), \(event.cell("environment"))
            created      \(AnswerPage.time(event, "created_at", context))
            """)
        if let purchase = event["original_transaction_id"]?.stringValue {
            let number = event["sequence"]?.intValue.map { ", event \($0) of this purchase" } ?? ""
            context.terminal.print("purchase     \(Terminal.harmless(purchase))\(number)")
        }
        context.terminal.print("")
        let deliveries = event["deliveries"]?.arrayValue ?? []
        if deliveries.isEmpty {
            context.terminal.print("no deliveries: no endpoint wanted this event")
        } else {
            context.terminal.table(DeliveryListCommand.table(deliveries))
        }
        context.terminal.print("\nbody")
        context.terminal.print(DeliveryShowCommand.bodyText(event["body"]))
    }
}
