import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// `entitled apple extend`.
struct AppleExtendCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "extend", "Extend the renewal date of one subscription.",
        discussion:
            "Apple allows two extensions a year for each customer; an extension cannot be undone. Apple reports it by a"
            + " RENEWAL_EXTENDED notification, which changes the record. With --url a worker asks Apple, about a subscription that is"
            + " known here, and --json prints the answer of the operator API.",
        examples: ["apple extend 2000000123456789 --days 7 --reason outage"])

    @Argument(.text("ID"), "Any transaction id of the subscription.") private var id: String
    @OptionGroup private var target: AppleTarget
    @OptionGroup private var options: AppleExtensionOptions
    @OptionGroup private var confirmation: Confirmation
    @Option("--audit-reason", .text("TEXT"), "With --url, why it is done, kept in the audit; needed there.")
    private var auditReason: String?
    @Flag(ChangeCall.wait) private var waits: Bool

    func validate() throws {
        _ = try options.extension()
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let wanted = try options.extension()
        if let remote = context.remote { return try ask(remote, wanted, context) }
        if auditReason != nil {
            throw UsageError("--audit-reason needs --url: on the host this command keeps no audit")
        }
        if waits { throw ChangeCall.needless }
        return try AppleSession.with(target, try context.configuration(), context) { session in
            let found = try session.client.subscriptions(of: id, in: session.choice(target))
            let state = try subscription(found.answer)
            let payload = state.transaction.payload
            try confirmation.require(
                "Give the subscriber of \(payload.productId ?? "") (\(state.status.word), until"
                    + " \(AppleTables.date(payload.expiresDate)), \(found.environment.rawValue)) \(wanted.days) days? It cannot be undone.",
                context)
            let result = try session.client.extendRenewal(
                of: state.originalTransactionID, wanted, in: found.environment)
            guard result.isDone else {
                throw CommandFailure("Apple did not extend the subscription and gave no reason")
            }
            if context.json {
                context.terminal.document(
                    .object([
                        "app": .string(session.app.id), "environment": .string(found.environment.rawValue),
                        "original_transaction_id": .string(state.originalTransactionID),
                        "request_id": .string(wanted.requestIdentifier), "expires_at": .date(result.effectiveDate),
                    ]))
            } else {
                context.terminal.print(
                    "extended until \(AppleTables.date(result.effectiveDate)), request \(wanted.requestIdentifier)")
            }
            return 0
        }
    }

    private func ask(_ remote: OperatorClient, _ wanted: RenewalExtension, _ context: CommandContext) throws -> Int32 {
        guard !options.hasRequestIdentifier else {
            throw UsageError("--request-id is for the host: by --url the console makes it")
        }
        guard auditReason != nil else {
            throw UsageError("a change by --url needs --audit-reason, which the audit keeps")
        }
        let found =
            try remote.json(
                ["purchases"],
                [("id", id), ("app", target.app), ("environment", target.environment?.rawValue), ("limit", "10")]
            )["items"]?.arrayValue ?? []
        guard let purchase = found.first else { throw CommandFailure("no purchase here has the id \(id)") }
        guard found.count == 1 else {
            throw CommandFailure("\(id) is in several purchases; say which with --app and --environment")
        }
        let names = [purchase.cell("app"), purchase.cell("environment"), purchase.cell("original_transaction_id")]
        try confirmation.require(
            "Give the subscriber of \(Terminal.harmless(purchase.cell("product_id"))) (\(names[1])) \(wanted.days) days? It"
                + " cannot be undone.", context)
        return try ChangeCall(reason: auditReason, waits: waits).ask(
            remote, ["purchases"] + names + ["extensions"], context,
            ["days": .int(wanted.days), "apple_reason": .string(wanted.reason.word)])
    }

    /// The one subscription that is meant.
    private func subscription(_ states: [SubscriptionState]) throws -> SubscriptionState {
        if let exact = states.first(where: { $0.originalTransactionID == id }) { return exact }
        if let latest = states.first(where: { $0.transaction.payload.transactionId == id }) { return latest }
        guard let only = states.first else { throw CommandFailure("the customer of \(id) has no subscription") }
        guard states.count == 1 else {
            let ids = states.map(\.originalTransactionID).joined(separator: ", ")
            throw CommandFailure("the customer of \(id) has several subscriptions; say which: \(ids)")
        }
        return only
    }
}
