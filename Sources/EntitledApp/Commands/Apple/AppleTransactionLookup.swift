import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// A customer's transactions at Apple, for `entitled apple transactions` and `refunds`.
struct AppleTransactionLookup: ParsableArguments {
    static let anyID = ArgumentDeclaration(
        .text("ID"), "Any transaction id, original transaction id or app transaction id of the customer.")
    static let shownOnly = "Apple's answer is verified and shown; records do not change."

    @Argument(anyID) private var id: String
    @OptionGroup private var target: AppleTarget

    func run(
        _ context: CommandContext, name: String, none: String,
        _ ask: (ServerAPIClient, String, EnvironmentChoice) throws -> Found<[SignedItem<TransactionPayload>]>
    ) throws -> Int32 {
        try AppleSession.with(target, try context.configuration(), context) { session in
            let found = try ask(session.client, id, session.choice(target))
            if context.json {
                let items = JSON.Member(name: name, value: AppleTables.document(found.answer))
                let place = JSON.object([
                    "app": .string(session.app.id), "environment": .string(found.environment.rawValue),
                ])
                context.terminal.document(.object((place.members ?? []) + [items]))
            } else if found.answer.isEmpty {
                context.terminal.print("\(none) (\(session.app.id), \(found.environment.rawValue))")
            } else {
                context.terminal.print("\(session.app.id), \(found.environment.rawValue)\n")
                context.terminal.table(AppleTables.transactions(found.answer))
            }
            return 0
        }
    }
}
