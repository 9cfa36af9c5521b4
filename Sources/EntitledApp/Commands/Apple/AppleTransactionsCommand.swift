import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// `entitled apple transactions`.
struct AppleTransactionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "transactions", "Show a customer's transactions, most recently changed first.",
        discussion: AppleTransactionLookup.shownOnly, examples: ["apple transactions 2000000123456789"])

    @OptionGroup private var lookup: AppleTransactionLookup

    func run(_ context: CommandContext) throws -> Int32 {
        var newest = TransactionFilter()
        newest.sort = .descending
        return try lookup.run(context, name: "transactions", none: "no purchases") { [newest] client, id, choice in
            try client.transactions(of: id, newest, in: choice, CallOptions(within: .seconds(300)))
        }
    }
}
