import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers restore-behavior`.
struct CustomerRestoreBehaviorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "restore-behavior", "Set what happens when another customer restores this customer's purchases.",
        discussion:
            "It applies to the purchases of this customer, instead of restore_behavior in the configuration; default removes"
            + " it. When customers are merged, the newest setting counts.",
        examples: [
            "customers restore-behavior user-42 error --reason 'shares the account'",
            "customers restore-behavior user-42 default",
        ])

    /// Takes back what was set.
    private static let standard = "default"

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) var id: String
    @Argument(.choice(RestoreBehavior.allCases.map(\.rawValue) + [standard], "VALUE"), "Behavior from now on.")
    private var value: String
    @Option(CustomerIDs.reason) var reason: String?

    /// Nil: what the configuration says.
    var behavior: RestoreBehavior? { RestoreBehavior(rawValue: value) }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let customer = try CustomerArgument(id, for: .changing, on: connection)
        let isNew = try CustomerActions(configuration, context, reason: reason).setRestoreBehavior(
            behavior, of: customer.id, on: connection)
        guard !context.json else {
            context.terminal.document(
                JSON.object([
                    "app_user_id": .string(customer.id), "restore_behavior": .text(behavior?.rawValue),
                    "changed": .bool(isNew),
                ]).naming([customer]))
            return 0
        }
        [customer].tell(context.terminal)
        let value = behavior.map { "is \($0.rawValue)" } ?? "is what the configuration says"
        context.terminal.print(
            "restore_behavior of \(Terminal.harmless(customer.id)) \(value)\(isNew ? " now" : ", as before")")
        return 0
    }
}
