import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// `entitled apple refunds`.
struct AppleRefundsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "refunds", "Show a customer's refunds, oldest first.", discussion: AppleTransactionLookup.shownOnly,
        examples: ["apple refunds 2000000123456789"])

    @OptionGroup private var lookup: AppleTransactionLookup

    func run(_ context: CommandContext) throws -> Int32 {
        try lookup.run(context, name: "refunds", none: "no refunds") { client, id, choice in
            try client.refunds(of: id, in: choice, CallOptions(within: .seconds(300)))
        }
    }
}
