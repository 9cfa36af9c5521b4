import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled purchases claim`.
struct PurchaseClaimCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "claim", "Claim a purchase for a customer, as if restored in the app.",
        discussion:
            "An anonymous owner is merged into the customer. With another owner, restore_behavior decides (the owner's"
            + " own, else that of the app and environment, else the general one): the purchases of the same Apple account"
            + " move, or the claim is rejected. `customers transfer` needs no such permission.",
        examples: ["purchases claim 2000000123456789 user-42 --reason 'ticket 77'"])

    @Argument(.text("TRANSACTION-ID"), "A transaction id, or order line item id, of the purchase.")
    private var purchase: String
    @Argument(
        CustomerIDs.argument(
            "APP-USER-ID", "An app user id of the customer who receives it; with --create one that no customer has"))
    private var customer: String
    @Option("--app", .text("ID"), "Select the app, if two have this id.") private var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this id.")
    private var environment: StoreEnvironment?
    @Flag(CustomerIDs.create) private var mayCreate: Bool
    @Option(CustomerIDs.reason) private var reason: String?

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let keys = try PurchaseQuery.keys(
            of: purchase, app: app, environment: environment, on: connection)
        guard let key = keys.first else {
            throw CommandFailure("there is no purchase with the id \(purchase)")
        }
        guard keys.count == 1 else {
            let places = keys.map { "\($0.originalTransactionID) (\($0.app), \($0.environment.rawValue))" }
            throw CommandFailure(
                "\(purchase) is in \(places.joined(separator: " and ")): say which with --app and "
                    + "--environment, or by the original transaction id")
        }
        let claimant = try CustomerArgument(
            customer, for: .receiving(mayCreate: mayCreate), on: connection)
        let claim = try CustomerActions(configuration, context, reason: reason).claim(
            key, by: claimant.id, settings: configuration.restoreSettings, on: connection)
        tell(claim, key, by: claimant, context)
        return 0
    }

    private func tell(
        _ claim: CustomerActions.Claim, _ key: PurchaseKey, by claimant: CustomerArgument, _ context: CommandContext
    ) {
        let customer = Terminal.harmless(claimant.id)
        let (outcome, line): (String, String)
        var more = JSON.object([])
        switch claim {
        case .theirs:
            (outcome, line) = ("theirs", "\(customer) had it before")
        case .joined(let alias):
            let ids = Terminal.harmless(alias.appUserIDs.joined(separator: ", "))
            (outcome, line) = ("joined", "\(customer) and the former owner are one customer now: \(ids)")
            more = .object(["app_user_ids": .strings(alias.appUserIDs)])
        case .moved(let transfer):
            (outcome, line) = ("moved", transfer.line(to: claimant.id))
            more = transfer.document
        }
        if context.json {
            let members = JSON.object([
                "outcome": .string(outcome), "purchase": key.document, "app_user_id": .string(claimant.id),
            ])
            context.terminal.document(
                JSON.object((members.members ?? []) + (more.members ?? [])).naming([claimant]))
        } else {
            [claimant].tell(context.terminal)
            context.terminal.print(line)
        }
    }
}
