import Base
import CLI
import Database
import Subscriptions

/// `entitled purchases show`.
struct PurchaseShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a purchase: its state, its owner, and what Apple signed of it, in words.",
        discussion: "--json prints the answer of the operator API.",
        examples: ["purchases show 2000000123456789", "purchases show 2000000123456789 --app demo --json"])

    @Argument(.text("ID"), "A transaction id, original transaction id or order line item id.") private var id: String
    @Option("--app", .text("ID"), "Select the app, if two have this id.") private var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this id.")
    private var environment: StoreEnvironment?

    func run(_ context: CommandContext) throws -> Int32 {
        let source = try context.operators()
        let found = try source.list(
            ["purchases"], [("id", id), ("app", app), ("environment", environment?.rawValue)], after: nil, limit: 100
        ).items
        let keys = found.map { [$0.cell("app"), $0.cell("environment"), $0.cell("original_transaction_id")] }
        guard let key = keys.first else { throw CommandFailure("there is no purchase with the id \(id)") }
        guard keys.count == 1 else {
            let scopes = keys.map { "\($0[2]) (\($0[0]), \($0[1]))" }.joined(separator: " and ")
            throw CommandFailure(
                "\(id) is in \(scopes): say which with --app and --environment, or by the original transaction id")
        }
        let bytes = try source.get(["purchases"] + key, [])
        guard !context.json else {
            try context.document(bytes)
            return 0
        }
        let purchase = try JSON(ordered: bytes)
        let until = purchase.instant("grace_expires_at") ?? purchase.instant("expires_at")
        AnswerPage.record(
            [
                ("purchase", purchase.cell("original_transaction_id")),
                ("where", "\(purchase.cell("app")), \(purchase.cell("environment"))"),
                ("what", purchase.cell("title")), ("status", purchase.cell("status")),
                ("until", until.map(context.terminal.time) ?? "forever"), ("gives", purchase.cell("entitlements")),
                ("owner", purchase.cell("app_user_id")), ("customer", purchase.cell("customer")),
            ], context)
        let facts = (purchase["facts"]?.arrayValue ?? []).map { ($0.cell("label"), $0.cell("text")) }
        if !facts.isEmpty {
            context.terminal.print("")
            AnswerPage.record(facts, context)
        }
        return 0
    }
}
