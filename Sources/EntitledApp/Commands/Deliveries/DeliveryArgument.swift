import Base
import CLI
import Database
import Postgres
import Subscriptions

/// A delivery on a command line.
struct DeliveryArgument: ParsableArguments {
    @Argument(.text("ID"), DeliveryName.summary) private var text: String

    func id(on connection: PostgresConnection) throws -> DeliveryID { try DeliveryName(text: text).id(on: connection) }

    /// The delivery's id as the operator API takes it.
    func id(of source: any OperatorSource) throws -> String { try DeliveryName(text: text).id(of: source) }

    static func noSuch(_ id: DeliveryID) -> CommandFailure {
        CommandFailure("there is no delivery \(id.text)")
    }
}

/// What was given for a delivery: its id, or that of an event.
struct DeliveryName {
    let text: String

    static let summary = "The delivery's id, as `deliveries list` shows it, or that of an event with one delivery."

    func id(on connection: PostgresConnection) throws -> DeliveryID {
        if let id = DeliveryID(text: text) { return id }
        guard UUIDText.bytes(text) != nil else { throw DeliveryName.noID(text) }
        var filter = DeliveryQuery.Filter()
        filter.events = [try EventArgument.event(text, on: connection).name]
        let found = try DeliveryQuery.list(filter, ListRange(limit: 100), on: connection).rows
        guard let one = found.first, found.count == 1 else { throw several(found.map { ($0.id.text, $0.endpoint) }) }
        return one.id
    }

    /// The delivery's id as the operator API takes it.
    func id(of source: any OperatorSource) throws -> String {
        if DeliveryID(text: text) != nil { return text }
        guard UUIDText.bytes(text) != nil else { throw DeliveryName.noID(text) }
        let found = try source.list(["deliveries"], [("event", text)], after: nil, limit: 100).items
        guard let one = found.first, found.count == 1 else {
            throw several(found.map { ($0.cell("id"), $0.cell("endpoint_id")) })
        }
        return one.cell("id")
    }

    private static func noID(_ text: String) -> CommandFailure {
        CommandFailure("\(text) is not a delivery id such as dlv_…; see `entitled deliveries list`")
    }

    private func several(_ found: [(id: String, endpoint: String)]) -> CommandFailure {
        guard !found.isEmpty else { return CommandFailure("the event \(text) has no delivery: no endpoint selects it") }
        let list = found.map { "\($0.id) to \($0.endpoint)" }.joined(separator: ", ")
        return CommandFailure("the event \(text) has \(found.count) deliveries: \(list); give the id of one of them")
    }
}
