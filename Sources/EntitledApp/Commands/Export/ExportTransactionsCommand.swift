import Base
import CLI
import Customers
import Schemas
import Subscriptions

/// `entitled export transactions`.
struct ExportTransactionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "transactions", "Export transactions in the columns of RevenueCat's scheduled export.",
        discussion:
            "One row for each transaction of each purchase that changed in the period, with the columns of version 5, separated"
            + " by commas, and times in UTC: readers of RevenueCat's exports can read it. A row replaces the one of an"
            + " earlier export with the same store_transaction_id. Columns without data here are empty:"
            + " product_display_name, product_duration, experiment_id, experiment_variant, auto_resume_time; platform is iOS"
            + " for whatever the App Store sold. In a folder the file is called transactions_SECONDS.csv, as RevenueCat's.",
        examples: [
            "export transactions --output transactions.csv", "export transactions --from 1d --output /var/exports/",
            "export transactions --app demo --environment Production --from 2026-11-24 --to 2026-11-25",
        ])

    @OptionGroup private var output: FeedOutput
    @Option("--app", .text("ID"), "Limit to this app, by its id in the configuration.") private var app: String?
    @Option("--environment", .environment, "Limit to this environment; default: both, see is_sandbox.")
    private var environment: StoreEnvironment?

    func run(_ context: CommandContext) throws -> Int32 {
        let changed = try output.time()
        let configuration = try context.configuration()
        if let app { _ = try configuration.app(named: app) }
        let bodies = configuration.eventBodies
        let feed = TransactionFeed(
            app: app, environment: environment, changed: changed,
            terms: TransactionRow.Terms(
                catalogue: bodies.catalogue, rates: bodies.rates, seller: bodies.terms,
                showsAttributes: output.showsAttributes),
            foldSettings: configuration.foldSettings)
        let connection = try DatabaseAccess(configuration).connect(.api)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        return try output.write("transactions", TransactionRow.columns, context) { write in
            let count = try feed.run(on: connection, progress: { bar.show($0, "\($1) rows") }, write: write)
            bar.clear()
            return count
        }
    }
}
