import AppStore
import AppStoreAPI
import Base
import CLI

/// `entitled apple status`.
struct AppleStatusCommand: Command {
    static let declaration = AppleOptions.status
    private let target: AppleOptions.Target
    private let id: String

    init(_ parsed: ParsedArguments) {
        target = AppleOptions.Target(parsed)
        id = parsed.text("ID") ?? ""
    }

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

/// `entitled apple transactions` and `entitled apple refunds`.
enum AppleTransactionsCommand {
    struct All: Command {
        static let declaration = AppleOptions.transactions
        private let lookUp: LookUp

        init(_ parsed: ParsedArguments) {
            lookUp = LookUp(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            var newest = TransactionFilter()
            newest.sort = .descending
            return try lookUp.run(context, name: "transactions", none: "no purchases") { [newest] client, id, choice in
                try client.transactions(of: id, newest, in: choice, CallOptions(within: .seconds(300)))
            }
        }
    }

    struct Refunds: Command {
        static let declaration = AppleOptions.refunds
        private let lookUp: LookUp

        init(_ parsed: ParsedArguments) {
            lookUp = LookUp(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            try lookUp.run(context, name: "refunds", none: "no refunds") { client, id, choice in
                try client.refunds(of: id, in: choice, CallOptions(within: .seconds(300)))
            }
        }
    }

    /// What both have in common.
    struct LookUp {
        private let target: AppleOptions.Target
        private let id: String

        init(_ parsed: ParsedArguments) {
            target = AppleOptions.Target(parsed)
            id = parsed.text("ID") ?? ""
        }

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
}

/// `entitled apple order`.
struct AppleOrderCommand: Command {
    static let declaration = AppleOptions.order
    private let target: AppleOptions.Target
    private let id: String

    init(_ parsed: ParsedArguments) {
        target = AppleOptions.Target(parsed)
        id = parsed.text("ORDER-ID") ?? ""
    }

    func run(_ context: CommandContext) throws -> Int32 {
        try AppleSession.with(target, try context.configuration(), context) { session in
            let environment = session.environment(target)
            guard let items = try session.client.order(id, in: environment) else {
                throw CommandFailure(
                    "Apple knows no order \(id) of the app \(session.app.id) (\(environment.rawValue))")
            }
            if context.json {
                context.terminal.document(
                    .object([
                        "app": .string(session.app.id), "environment": .string(environment.rawValue),
                        "order_id": .string(id), "transactions": AppleTables.document(items),
                    ]))
            } else {
                context.terminal.table(AppleTables.transactions(items))
            }
            return 0
        }
    }
}
