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
            "With --customer or --id, the purchases of one customer or of one id, ordered by original transaction id. With"
            + " --status, --product, or times of the access end or of a refund, all purchases that match, in no order of time;"
            + " this reads all purchases. --url requires one of these options.",
        examples: [
            "purchases list --unclaimed", "purchases list --customer user-42",
            "purchases list --environment Production --json", "purchases list --status grace",
            "purchases list --product pro_monthly --ends-after today --ends-before 2026-12-04",
            "purchases list --status expired --ends-after 7d", "purchases list --refunded-since last-month",
        ])

    @Flag("--unclaimed", "Only purchases whose owner has only anonymous ids.") private var isUnclaimed: Bool
    @Option("--customer", .text("ANY-ID"), "Only purchases of this customer.") private var customer: String?
    @Option("--id", .text("ID"), "Only purchases of this transaction id or order line item id.") private var id: String?
    @Option("--status", .choice(of: PurchaseStatus.self, "STATUS"), "Only purchases that stand so now.")
    private var status: PurchaseStatus?
    @Option("--product", .text("ID"), "Only purchases of this product.") private var product: String?
    @Option("--ends-after", .moment, "Only purchases whose access ends then or later.") private var endsAfter:
        TimeArgument?
    @Option("--ends-before", .moment, "Only purchases whose access ends earlier.") private var endsBefore: TimeArgument?
    @Option("--refunded-since", .moment, "Only purchases whose latest period was refunded or revoked then or later.")
    private var refundedSince: TimeArgument?
    @Option("--refunded-until", .moment, "Only purchases whose latest period was refunded or revoked earlier.")
    private var refundedUntil: TimeArgument?
    @Option("--app", .text("ID"), "Select this app.") private var app: String?
    @Option("--environment", .environment, "Select this environment.") private var environment: StoreEnvironment?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func validate() throws {
        guard [isUnclaimed, customer != nil, id != nil].count(where: { $0 }) < 2 else {
            throw UsageError("--unclaimed, --customer and --id cannot be combined")
        }
        guard !isFiltered || customer == nil && id == nil else {
            throw UsageError("--customer and --id name purchases: beside them only --app and --environment filter")
        }
    }

    /// By what only the operator API filters.
    private var isFiltered: Bool {
        status != nil || product != nil || [endsAfter, endsBefore, refundedSince, refundedUntil].contains { $0 != nil }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let isNamed = customer != nil || id != nil
        if isNamed || isFiltered || context.remote != nil {
            guard isNamed || isFiltered || isUnclaimed else {
                throw UsageError("purchases list needs --customer, --id or a filter with --url")
            }
            let list = try context.operators().list(
                ["purchases"],
                [
                    ("customer", customer), ("id", id), ("app", app), ("environment", environment?.rawValue),
                    ("status", status?.rawValue), ("product", product), ("unclaimed", isUnclaimed ? "true" : nil),
                    ("ends_after", endsAfter?.text), ("ends_before", endsBefore?.text),
                    ("refunded_since", refundedSince?.text), ("refunded_until", refundedUntil?.text),
                ], after: nil, limit: limit)
            show(list.items, context)
            if !context.json, list.next != nil {
                context.terminal.print("More purchases match: raise --limit, or add a filter.\n")
            }
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

extension PurchaseStatus: InputValue {}
