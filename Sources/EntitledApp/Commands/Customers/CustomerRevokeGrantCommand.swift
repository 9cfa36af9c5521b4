import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers revoke-grant`.
struct CustomerRevokeGrantCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "revoke-grant", "Revoke a customer's grants of an entitlement.",
        discussion:
            "Consumers receive CANCELLATION and EXPIRATION for each active grant. Purchases do not change. With"
            + " --url, --reason is required. \(ChangeOptions.help)",
        examples: ["customers revoke-grant user-42 pro --reason 'ticket 77'"])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Argument(.text("ENTITLEMENT"), "The entitlement.") private var entitlement: String
    @Option(CustomerIDs.reason) private var reason: String?
    @OptionGroup private var confirmation: Confirmation

    @Flag(ChangeCall.wait) private var waits: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            try confirmation.ask("Revoke all grants of \(entitlement) that \(id) has?", context)
            return try ChangeCall(reason: reason, waits: waits).ask(
                remote, ["customers", id, "grants", "revoke"], context,
                ["entitlement": .string(entitlement)])
        }
        guard !waits else { throw ChangeCall.needless }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let customer = try CustomerArgument(id, for: .changing, on: connection)
        try confirmation.ask("Revoke all grants of \(entitlement) that \(customer.id) has?", context) {
            try CustomerPreview(customer.id, configuration, on: connection).lines(
                ofEntitlement: entitlement)
        }
        let revocation = try CustomerActions(configuration, context, reason: reason).revoke(
            entitlement, from: customer.id, on: connection)
        guard !context.json else {
            context.terminal.document(
                JSON.object([
                    "revoked": .array(revocation.grants.map(\.document)), "events": .strings(revocation.events),
                ]).naming([customer]))
            return 0
        }
        [customer].tell(context.terminal)
        let count = revocation.grants.count
        let done = count == 0 ? "nothing to take back: no grant" : "\(count) \(count == 1 ? "grant" : "grants")"
        context.terminal.print(
            Terminal.harmless(
                "\(done) of \(entitlement) \(count == 0 ? "runs for" : "taken back from") \(customer.id)"))
        return 0
    }
}
