import Base
import CLI
import Database
import Postgres

/// An event on a command line.
struct EventArgument: ParsableArguments {
    @Argument(.text("ID"), "The event's id, which the consumer receives as `webhook-id`, or that of a delivery of it.")
    private var text: String

    /// The event's id as the operator API takes it.
    func id(of source: any OperatorSource) throws -> String {
        guard DeliveryID(text: text) != nil else { return text }
        return try source.json(["deliveries", text]).cell("event_id")
    }

    func event(on connection: PostgresConnection) throws -> EventSummary {
        guard let delivery = DeliveryID(text: text) else { return try EventArgument.event(text, on: connection) }
        guard let found = try DeliveryQuery.show(delivery, on: connection) else {
            throw DeliveryArgument.noSuch(delivery)
        }
        return try EventArgument.event(found.delivery.event, on: connection)
    }

    static func event(_ text: String, on connection: PostgresConnection) throws -> EventSummary {
        guard let id = UUIDText.bytes(text) else {
            let hint = text.hasPrefix("dlv_") ? "; this is a delivery: entitled deliveries show \(text)" : ""
            throw CommandFailure("\(text) is not an event id: an event id is a UUID, as in `webhook-id`\(hint)")
        }
        guard let event = try EventQuery.find(id, on: connection).first else {
            throw CommandFailure("there is no event \(UUIDText.upper(id))")
        }
        return event
    }
}
