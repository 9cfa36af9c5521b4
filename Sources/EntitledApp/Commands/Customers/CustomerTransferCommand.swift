import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers transfer`.
struct CustomerTransferCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "transfer", "Transfer purchases from one customer to another.",
        discussion:
            "Grants stay with their customer. Consumers receive a TRANSFER event. The transfer outranks what Apple signed: the purchases"
            + " stay with the new owner, even if a later notification has another app account token.",
        examples: [
            "customers transfer user-41 user-42", "customers transfer user-41 user-42 --purchase 2000000123456789",
        ])

    @Argument(CustomerIDs.argument("FROM-ID", "An app user id of the customer who owns the purchases"))
    private var fromID: String
    @Argument(
        CustomerIDs.argument(
            "TO-ID", "An app user id of the customer who receives them; with --create one that no customer has"))
    private var toID: String
    @Option("--purchase", .text("ORIGINAL-TRANSACTION-ID"), "Transfer only this purchase; default: all.")
    private var purchases: [String]
    @Flag(CustomerIDs.create) private var mayCreate: Bool
    @Option(CustomerIDs.reason) private var reason: String?
    @OptionGroup private var confirmation: Confirmation

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let from = try CustomerArgument(fromID, for: .changing, on: connection)
        let to = try CustomerArgument(toID, for: .receiving(mayCreate: mayCreate), on: connection)
        try confirmation.ask("Move these purchases from \(from.id) to \(to.id)?", context) {
            try CustomerPreview(from.id, configuration, on: connection).lines(ofTransferOf: purchases)
        }
        let transfer = try CustomerActions(configuration, context, reason: reason).transfer(
            from: from.id, to: to.id, only: purchases, on: connection)
        guard !context.json else {
            context.terminal.document(transfer.document.naming([from, to]))
            return 0
        }
        [from, to].tell(context.terminal)
        context.terminal.print(transfer.line(to: to.id))
        return 0
    }
}
