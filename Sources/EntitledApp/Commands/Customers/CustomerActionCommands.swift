import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers list|alias|transfer|restore-behavior`: who the customers are, and changing it.
enum CustomerActionCommands {
    struct List: Command {
        static let declaration = CustomerActionOptions.list
        private let options: CustomerActionOptions.List

        init(_ parsed: ParsedArguments) {
            options = CustomerActionOptions.List(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            let found = try CustomerQuery.list(atMost: options.limit, on: connection)
            if context.json {
                let rows = found.map { customer in
                    JSON.object([
                        "original_app_user_id": .string(customer.originalAppUserID),
                        "app_user_ids": .strings(customer.appUserIDs), "anonymous": .bool(customer.isAnonymous),
                        "first_seen": .date(customer.firstSeen),
                    ])
                }
                context.terminal.document(.object(["customers": .array(rows)]))
                return 0
            }
            guard !found.isEmpty else {
                context.terminal.print("no customers")
                return 0
            }
            var table = TextTable([.time("first seen"), .key("original app user id"), .prose("other ids")])
            for customer in found {
                table.add([
                    Timestamp.text(customer.firstSeen), customer.originalAppUserID,
                    customer.appUserIDs.filter { $0 != customer.originalAppUserID }.joined(separator: ", "),
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }

    struct Alias: Command {
        static let declaration = CustomerActionOptions.alias
        private let options: CustomerActionOptions.Action
        private let confirmation: Confirmation

        init(_ parsed: ParsedArguments) {
            options = CustomerActionOptions.Action(parsed)
            confirmation = Confirmation(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let (one, other) = try options.customers(on: connection)
            // An id that no customer has yet takes nothing from anyone.
            if !other.isNew {
                try confirmation.ask("Make one customer of these two? It cannot be undone.", context) {
                    try [one, other].flatMap {
                        try CustomerPreview($0.id, configuration, on: connection).lines(context.terminal)
                    }
                }
            }
            let alias = try CustomerActions(configuration, context, reason: options.reason).alias(
                one.id, other.id, on: connection)
            guard !context.json else {
                context.terminal.document(
                    JSON.object([
                        "original_app_user_id": .string(alias.originalAppUserID),
                        "app_user_ids": .strings(alias.appUserIDs), "changed": .bool(alias.isNew),
                    ]).naming([one, other]))
                return 0
            }
            [one, other].tell(context.terminal)
            let done = alias.isNew ? "is one customer now" : "was one customer before"
            context.terminal.print(
                "\(Terminal.harmless(alias.originalAppUserID)) \(done): "
                    + Terminal.harmless(alias.appUserIDs.joined(separator: ", ")))
            return 0
        }
    }

    struct Transfer: Command {
        static let declaration = CustomerActionOptions.transfer
        private let options: CustomerActionOptions.Action
        private let confirmation: Confirmation

        init(_ parsed: ParsedArguments) {
            options = CustomerActionOptions.Action(parsed)
            confirmation = Confirmation(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let (from, to) = try options.customers(on: connection)
            try confirmation.ask("Move these purchases from \(from.id) to \(to.id)?", context) {
                try CustomerPreview(from.id, configuration, on: connection).lines(ofTransferOf: options.purchases)
            }
            let transfer = try CustomerActions(configuration, context, reason: options.reason).transfer(
                from: from.id, to: to.id, only: options.purchases, on: connection)
            guard !context.json else {
                context.terminal.document(transfer.document.naming([from, to]))
                return 0
            }
            [from, to].tell(context.terminal)
            context.terminal.print(transfer.line(to: to.id))
            return 0
        }
    }

    struct SetRestoreBehavior: Command {
        static let declaration = CustomerActionOptions.restoreBehavior
        private let options: CustomerActionOptions.RestoreSetting

        init(_ parsed: ParsedArguments) {
            options = CustomerActionOptions.RestoreSetting(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let customer = try CustomerArgument(options.id, for: .changing, on: connection)
            let isNew = try CustomerActions(configuration, context, reason: options.reason).setRestoreBehavior(
                options.behavior, of: customer.id, on: connection)
            guard !context.json else {
                context.terminal.document(
                    JSON.object([
                        "app_user_id": .string(customer.id), "restore_behavior": .text(options.behavior?.rawValue),
                        "changed": .bool(isNew),
                    ]).naming([customer]))
                return 0
            }
            [customer].tell(context.terminal)
            let value = options.behavior.map { "is \($0.rawValue)" } ?? "is what the configuration says"
            context.terminal.print(
                "restore_behavior of \(Terminal.harmless(customer.id)) \(value)\(isNew ? " now" : ", as before")")
            return 0
        }
    }
}

extension CustomerActionOptions.Action {
    /// The customer who has something, and the one who gets it.
    fileprivate func customers(
        on connection: PostgresConnection
    ) throws -> (one: CustomerArgument, other: CustomerArgument) {
        (
            try CustomerArgument(id, for: .changing, on: connection),
            try CustomerArgument(other, for: .receiving(mayCreate: mayCreate), on: connection)
        )
    }
}

extension CustomerActions {
    init(_ configuration: Configuration, _ context: CommandContext, reason: String?) {
        self.init(
            origin: .commandLine(context.environment, reason: reason), foldSettings: configuration.foldSettings)
    }
}

extension CustomerActions.Transfer {
    var document: JSON {
        .object(["moved": .array(purchases.map(\.document)), "events": .strings(events)])
    }

    func line(to id: String) -> String {
        guard !purchases.isEmpty else { return "nothing to move: \(Terminal.harmless(id)) has what there is" }
        let ids = purchases.map(\.originalTransactionID).joined(separator: ", ")
        return "\(Terminal.harmless(id)) has now: \(Terminal.harmless(ids))"
    }
}

extension PurchaseKey {
    var document: JSON {
        .object([
            "app": .string(app), "environment": .string(environment.rawValue),
            "original_transaction_id": .string(originalTransactionID),
        ])
    }
}
