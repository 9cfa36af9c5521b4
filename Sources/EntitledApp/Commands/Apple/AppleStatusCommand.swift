import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// `entitled apple status`.
struct AppleStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the current status of a customer's subscriptions at Apple.",
        discussion: AppleTransactionLookup.shownOnly,
        examples: ["apple status 2000000123456789", "apple status 2000000123456789 --environment Sandbox --json"])

    @Argument(AppleTransactionLookup.anyID) private var id: String
    @OptionGroup private var target: AppleTarget

    func run(_ context: CommandContext) throws -> Int32 {
        try AppleSession.with(target, try context.configuration(), context) { session in
            let found = try session.client.subscriptions(of: id, in: session.choice(target))
            if context.json {
                context.terminal.document(
                    .object([
                        "app": .string(session.app.id), "environment": .string(found.environment.rawValue),
                        "subscriptions": AppleTables.document(found.answer),
                    ]))
            } else if found.answer.isEmpty {
                context.terminal.print("no subscriptions (\(session.app.id), \(found.environment.rawValue))")
            } else {
                context.terminal.print("\(session.app.id), \(found.environment.rawValue)\n")
                context.terminal.table(AppleTables.subscriptions(found.answer))
            }
            return 0
        }
    }
}
