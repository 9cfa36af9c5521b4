import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled purchases list`.
struct PurchaseListCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "list", "List purchases, most recently changed first.",
        examples: ["purchases list --unclaimed", "purchases list --environment Production --json"])

    @Flag("--unclaimed", "Only purchases whose owner has only anonymous ids.") private var isUnclaimed: Bool
    @Option("--app", .text("ID"), "Select this app.") private var app: String?
    @Option("--environment", .environment, "Select this environment.") private var environment: StoreEnvironment?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
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
        if context.json {
            context.terminal.document(.object(["purchases": .array(rows)]))
            return 0
        }
        guard !rows.isEmpty else {
            context.terminal.print(isUnclaimed ? "no unclaimed purchases" : "no purchases")
            return 0
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
        return 0
    }
}
