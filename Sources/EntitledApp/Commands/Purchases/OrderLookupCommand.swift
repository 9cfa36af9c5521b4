import Base
import CLI
import Database
import Duties
import Schemas

/// `entitled purchases lookup-order`.
struct OrderLookupCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "lookup-order", "Ask Apple which purchases an order number stands for.",
        discussion:
            "Customers find the number, which begins with M, in Apple's receipt. No transaction has it, so that Apple alone knows."
            + " What Apple signed and is not here yet is verified, stored and applied like all that Apple sends. Apple finds orders of"
            + " Production only. The app needs server_api. `entitled apple order` shows an order and stores nothing. "
            + ChangeOptions.help,
        examples: [
            "purchases lookup-order MK5TTTVWJH",
            "purchases lookup-order MK5TTTVWJH --app demo --url https://console.example.com",
        ])

    @Argument(.text("ORDER"), "The number of the order.") private var order: String
    @Option("--app", .text("ID"), "Ask about this app; default: every app with a Server API key.") private var app:
        String?
    @OptionGroup private var options: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        guard let order = OrderID(order) else {
            throw UsageError("\(order) is no order number of Apple's: those are M and letters and digits")
        }
        if context.remote != nil {
            return try options.ask(
                context, ["order-lookups"], ["order_id": .string(order.text), "app": app.map { .string($0) }])
        }
        try options.checkLocal()
        let configuration = try context.configuration()
        let apps = try app.map { [try configuration.app(named: $0)] } ?? configuration.apps
        let able = apps.filter { $0.environments.contains(.production) }
        guard !able.isEmpty else {
            throw CommandFailure("Apple finds orders of Production only, which no app here has")
        }
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let ending = try HostInquiry.ask(able, configuration, context, on: connection) { try $0.find(order, on: $1) }
        return try HostInquiry.tell(ending, context)
    }
}
