import Base
import CLI
import Database
import Duties
import Schemas
import Subscriptions

/// `entitled purchases poll`.
struct PurchasePollCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "poll", "Ask Apple how a purchase stands, and store what it answers.",
        discussion:
            "Apple is asked for the status of the subscription and for the transactions of the purchase. What Apple signed and is not"
            + " here yet is verified, stored and applied like all that Apple sends, with its events. The app needs server_api. "
            + ChangeOptions.help,
        examples: [
            "purchases poll 2000000123456789",
            "purchases poll 2000000123456789 --url https://console.example.com --reason 'ticket 77' --wait",
        ])

    @Argument(.text("ID"), "A transaction id, or order line item id, of the purchase.") private var id: String
    @Option("--app", .text("ID"), "Select the app, if two have this id.") private var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this id.")
    private var environment: StoreEnvironment?
    @OptionGroup private var options: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try ask(remote, context) }
        try options.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let keys = try PurchaseQuery.keys(of: id, app: app, environment: environment, on: connection)
        guard let key = keys.first else { throw CommandFailure("there is no purchase with the id \(id)") }
        guard keys.count == 1 else {
            throw CommandFailure("\(id) is in several purchases; say which with --app and --environment")
        }
        guard !key.isGrant else { throw CommandFailure("a grant is not Apple's to know") }
        let ending = try HostInquiry.ask(
            [try configuration.app(named: key.app)], configuration, context, on: connection
        ) { try $0.poll(key, on: $1) }
        return try HostInquiry.tell(ending, context)
    }

    private func ask(_ remote: OperatorClient, _ context: CommandContext) throws -> Int32 {
        let found =
            try remote.json(
                ["purchases"],
                [("id", id), ("app", app), ("environment", environment?.rawValue), ("limit", "10")]
            )["items"]?.arrayValue ?? []
        guard let purchase = found.first else { throw CommandFailure("no purchase here has the id \(id)") }
        guard found.count == 1 else {
            throw CommandFailure("\(id) is in several purchases; say which with --app and --environment")
        }
        let names = [purchase.cell("app"), purchase.cell("environment"), purchase.cell("original_transaction_id")]
        return try options.ask(remote, ["purchases"] + names + ["status-looks"], context)
    }
}
