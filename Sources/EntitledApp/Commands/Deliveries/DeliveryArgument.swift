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
