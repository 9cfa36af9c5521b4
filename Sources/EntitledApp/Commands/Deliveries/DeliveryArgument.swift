import Base
import CLI
import Database
import Subscriptions

/// A delivery on a command line.
struct DeliveryArgument: ParsableArguments {
    @Argument(.text("ID"), "The delivery's id, as `deliveries list` shows it.") private var text: String

    func id() throws(CommandFailure) -> DeliveryID {
        guard let id = DeliveryID(text: text) else {
            throw CommandFailure("\(text) is not a delivery id such as dlv_…; see `entitled deliveries list`")
        }
        return id
    }

    static func noSuch(_ id: DeliveryID) -> CommandFailure {
        CommandFailure("there is no delivery \(id.text)")
    }
}

extension DeliverySummary {
    /// When it is tried next; nil where that is not known or never.
    var nextAttempt: Int64? { state == .pending && blockedSince == nil ? next : nil }

    var members: [JSON.Member] {
        JSON.object([
            "id": .string(id.text), "event_id": .string(event), "event_type": .string(eventType),
            "endpoint_id": .string(endpoint), "state": .string(state.name), "attempts": .int(Int64(attempts)),
            "last_status": .integer(lastStatus.map { Int64($0) }), "reason": .text(reason),
            "next_attempt_at": .date(nextAttempt), "created_at": .date(created), "blocked_since": .date(blockedSince),
        ]).members ?? []
    }
}
