import Base
import CLI
import Customers
import Daemon
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers delete`.
struct CustomerDeleteCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "delete", "Delete a customer with all ids and remove personal data from every table.",
        discussion:
            "Apple continues to charge for subscriptions. pseudonymise: purchases, events and the log stay, with pseudonyms for"
            + " the ids, without attributes, account tokens and consumers' answers. erase: everything about the purchases is deleted"
            + " too, and later notifications create a new, anonymous customer. The default is privacy.deletion. A new"
            + " purchase"
            + " with the same id creates a new customer. Consumers get no event. It cannot be undone; if it is"
            + " interrupted, a worker finishes it. It does not reach backups and webhooks that were sent. With --url"
            + " --reason is required, the default is privacy.deletion of the console, and --json prints the answer of the operator API.",
        examples: [
            "customers delete user-42 --reason 'asked by mail on 2026-11-20'", "customers delete user-42 --erase",
        ])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Flag("--erase", "Erase, whatever privacy.deletion says.") private var isErased: Bool
    @Flag("--pseudonymise", "Pseudonymise, whatever privacy.deletion says.") private var isPseudonymised: Bool
    @Option(CustomerIDs.reason) private var reason: String?
    @OptionGroup private var confirmation: Confirmation
    @Flag(ChangeCall.wait) private var waits: Bool

    func validate() throws {
        if isErased, isPseudonymised { throw UsageError("--erase and --pseudonymise cannot be combined") }
    }

    /// Nil: as the configuration says.
    private var policy: DeletionPolicy? { isErased ? .erase : isPseudonymised ? .pseudonymise : nil }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try ask(remote, context) }
        guard !waits else { throw ChangeCall.needless }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let policy = self.policy ?? configuration.privacy.deletion
        let customer = try CustomerArgument(id, for: .changing, on: connection)
        try confirmation.ask("\(policy.question) It cannot be undone.", context) {
            try CustomerPreview(customer.id, configuration, on: connection).lines(context.terminal)
        }
        let deletion = try CustomerActions(configuration, context, reason: reason).delete(
            customer.id, policy: policy, on: connection)
        FailPoint.deletionAfterCommit.pass()
        try erasure(deletion, configuration, context, on: connection)
        let record = try DeletionTable.find(deletion.id, on: connection)
        tell(deletion, of: customer, policy, record, context)
        return 0
    }

    private func ask(_ remote: OperatorClient, _ context: CommandContext) throws -> Int32 {
        let members = policy.map { [JSON.Member(name: "policy", value: .string($0.rawValue))] } ?? []
        guard reason != nil else { throw ChangeCall.reasonless }
        var plan: String?
        if confirmation.isNeeded(context) {
            let preview = try remote.preview(["customers", id], .object(members), method: "DELETE")
            plan = preview["plan"]?.stringValue
            let question = policy?.question ?? "Delete this customer?"
            try confirmation.ask("\(question) It cannot be undone.", context) { PreviewLines.lines(preview) }
        }
        return try ChangeCall(reason: reason, waits: waits).ask(
            remote, ["customers", id], context, members, method: "DELETE", plan: plan)
    }

    private func erasure(
        _ deletion: CustomerActions.Deletion, _ configuration: Configuration, _ context: CommandContext,
        on connection: PostgresConnection
    ) throws {
        let erasure = CustomerErasure(foldSettings: configuration.foldSettings)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        let parts = Double(deletion.purchases.count + 2)
        var done = 0.0
        while try erasure.step(deletion.id, on: connection) == .more {
            done += 1
            bar.show(min(1, done / parts), "removing stored data")
        }
    }

    private func tell(
        _ deletion: CustomerActions.Deletion, of customer: CustomerArgument, _ policy: DeletionPolicy,
        _ record: DeletionTable.Entry?, _ context: CommandContext
    ) {
        guard !context.json else {
            context.terminal.document(
                JSON.object([
                    "app_user_id": .string(customer.id), "deleted": .bool(true), "deletion": .int(deletion.id),
                    "policy": .string(policy.rawValue), "app_user_ids": .strings(deletion.appUserIDs),
                    "purchases": .array(deletion.purchases.map(\.document)),
                    "counts": DeletionTable.json(record?.counts ?? [:]), "state": .text(record?.state.rawValue),
                ]).naming([customer]))
            return
        }
        [customer].tell(context.terminal)
        let count = deletion.purchases.count
        let rest =
            count == 0
            ? ""
            : policy == .erase
                ? "; erased \(count) of their purchases"
                : "; \(count) of their purchases stay, with an anonymous owner"
        context.terminal.print("deleted \(Terminal.harmless(deletion.appUserIDs.joined(separator: ", ")))\(rest)")
        if record?.state == .settling, let settles = record?.settles {
            context.terminal.print(
                "a webhook was on its way: a worker removes its answer after \(context.terminal.time(settles))"
            )
        }
    }
}

extension DeletionPolicy {
    fileprivate var question: String {
        switch self {
        case .erase: "Delete this customer and everything about the purchases?"
        case .pseudonymise: "Delete this customer and keep the purchases without an owner's name?"
        }
    }
}
