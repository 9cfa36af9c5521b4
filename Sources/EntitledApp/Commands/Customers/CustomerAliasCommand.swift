import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers alias`.
struct CustomerAliasCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "alias", "Merge two customers, or add an id to a customer.",
        discussion:
            "Each of the ids then has the same purchases, history and attributes. It cannot be undone. Repeating it"
            + " changes nothing.",
        examples: [
            "customers alias '$RCAnonymousID:0123…' user-42 --reason 'ticket 77'",
            "customers alias user-42 user-42-of-the-web --create",
        ])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Argument(
        CustomerIDs.argument("OTHER-ID", "Another customer's app user id; with --create one that no customer has"))
    private var otherID: String
    @Flag(CustomerIDs.create) private var mayCreate: Bool
    @Option(CustomerIDs.reason) private var reason: String?
    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let one = try CustomerArgument(id, for: .changing, on: connection)
        let other = try CustomerArgument(otherID, for: .receiving(mayCreate: mayCreate), on: connection)
        // An id that no customer has yet takes nothing from anyone.
        if !other.isNew {
            try confirmation.ask("Make one customer of these two? It cannot be undone.", context) {
                try [one, other].flatMap {
                    try CustomerPreview($0.id, configuration, on: connection).lines(context.terminal)
                }
            }
        }
        let alias = try CustomerActions(configuration, context, reason: reason).alias(
            one.id, other.id, on: connection)
        guard !context.json else {
            context.terminal.document(
                JSON.object([
                    "original_app_user_id": .string(alias.originalAppUserID),
                    "app_user_ids": .strings(alias.appUserIDs), "changed": .bool(alias.isNew),
                ]).naming([one, other]))
            return 0
        }
        [one, other].tell(context.terminal)
        let done = alias.isNew ? "is one customer now" : "was one customer before"
        context.terminal.print(
            "\(Terminal.harmless(alias.originalAppUserID)) \(done): "
                + Terminal.harmless(alias.appUserIDs.joined(separator: ", ")))
        return 0
    }
}
