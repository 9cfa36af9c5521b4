import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// `entitled apple order`.
struct AppleOrderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "order", "Look up an order by the id in the customer's receipt.", discussion: AppleTransactionLookup.shownOnly,
        examples: ["apple order MVX2K4T8RM"])

    @Argument(.text("ORDER-ID"), "Order id from Apple's mail, such as MVX2K4T8RM.") private var id: String
    @OptionGroup private var target: AppleTarget

    func run(_ context: CommandContext) throws -> Int32 {
        try AppleSession.with(target, try context.configuration(), context) { session in
            let environment = session.environment(target)
            guard let items = try session.client.order(id, in: environment) else {
                throw CommandFailure(
                    "Apple knows no order \(id) of the app \(session.app.id) (\(environment.rawValue))")
            }
            if context.json {
                context.terminal.document(
                    .object([
                        "app": .string(session.app.id), "environment": .string(environment.rawValue),
                        "order_id": .string(id), "transactions": AppleTables.document(items),
                    ]))
            } else {
                context.terminal.table(AppleTables.transactions(items))
            }
            return 0
        }
    }
}
