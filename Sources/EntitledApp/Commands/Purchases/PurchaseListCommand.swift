import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled purchases list`.
struct PurchaseListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List purchases, most recently changed first.",
        discussion:
            "With --customer or --id, the purchases of one customer or of one id, ordered by original transaction id;"
            + " --url requires one of the two.",
        examples: [
            "purchases list --unclaimed", "purchases list --customer user-42",
            "purchases list --environment Production --json",
        ])

    @Flag("--unclaimed", "Only purchases whose owner has only anonymous ids.") private var isUnclaimed: Bool
    @Option("--customer", .text("ANY-ID"), "Only purchases of this customer.") private var customer: String?
    @Option("--id", .text("ID"), "Only purchases of this transaction id or order line item id.") private var id: String?
    @Option("--app", .text("ID"), "Select this app.") private var app: String?
    @Option("--environment", .environment, "Select this environment.") private var environment: StoreEnvironment?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func validate() throws {
        guard [isUnclaimed, customer != nil, id != nil].count(where: { $0 }) < 2 else {
            throw UsageError("--unclaimed, --customer and --id cannot be combined")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        guard customer == nil, id == nil, context.remote == nil else {
            if customer == nil, id == nil { throw UsageError("purchases list needs --customer or --id with --url") }
            let list = try context.operators().list(
                ["purchases"],
                [("customer", customer), ("id", id), ("app", app), ("environment", environment?.rawValue)], after: nil,
                limit: limit)
            show(list.items, context)
            return 0
        }
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        let found = try PurchaseQuery.list(
            isUnclaimed: isUnclaimed, app: app, environment: environment,
            atMost: limit, foldSettings: configuration.foldSettings, on: connection)
        let now = SystemClock().now()
        let summary = PurchaseSummary(catalogue: configuration.catalogue, sandboxRule: configuration.sandboxRule)
        let rows = found.map { item in
            JSON.object(
                (summary.row(item.purchase, ofCustomer: item.customer.appUserIDs, now: now).members ?? [])
                    + [JSON.Member(name: "app_user_id", value: .string(item.owner))])
        }
        show(rows, context)
        return 0
    }

    private func show(_ rows: [JSON], _ context: CommandContext) {
        guard !context.json else { return context.terminal.document(.object(["purchases": .array(rows)])) }
        guard !rows.isEmpty else {
            return context.terminal.print(isUnclaimed ? "no unclaimed purchases" : "no purchases")
        }
        var table = TextTable([
            "product", "status", .time("until"), .id("app user id"), .key("original transaction"), "where",
        ])
        for row in rows {
            func text(_ name: String) -> String { row[name]?.stringValue ?? "" }
            let until = row["grace_expires_at"]?.stringValue ?? row["expires_at"]?.stringValue
            table.add([
                text("product_id"), text("status"), until ?? "forever", text("app_user_id"),
                text("original_transaction_id"), "\(text("app")), \(text("environment"))",
            ])
        }
        context.terminal.table(table)
    }
}
