import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled notifications …`: what Apple sent, and what became of it.
enum NotificationCommands {
    struct List: Command {
        static let declaration = NotificationOptions.list
        private let options: NotificationOptions.List

        init(_ parsed: ParsedArguments) {
            options = NotificationOptions.List(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            let found = try NotificationQuery.list(
                .init(state: options.state, app: options.app, environment: options.environment),
                .init(limit: options.limit), on: connection
            ).rows
            if context.json {
                context.terminal.document(.object(["notifications": .array(found.map { .object($0.members) })]))
                return 0
            }
            guard !found.isEmpty else {
                context.terminal.print("no notifications")
                return 0
            }
            var table = TextTable([
                .time("received"), "type", "subtype", "state", "app", "environment", .key("uuid"),
                .number("attempts"), .time("next attempt"), .prose("reason"),
            ])
            for item in found {
                table.add([
                    Timestamp.text(item.received), item.type, item.subtype ?? "", item.state.rawValue,
                    item.identity.app, item.identity.environment.rawValue, item.identity.uuid,
                    item.hold.map { String($0.attempts) } ?? "", item.hold?.nextText(Timestamp.text) ?? "",
                    item.hold?.reason ?? "",
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }

    struct Show: Command {
        static let declaration = NotificationOptions.show
        private let options: NotificationOptions.Show

        init(_ parsed: ParsedArguments) {
            options = NotificationOptions.Show(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            let known = try NotificationQuery.find(
                uuid: options.uuid, app: options.app, environment: options.environment, on: connection)
            let found = known.whole
            guard let whole = found.first else {
                if let received = known.dropped.first {
                    throw NotificationCommands.dropped(options.uuid, received)
                }
                throw CommandFailure("there is no notification \(options.uuid)")
            }
            guard found.count == 1 else {
                let places = found.map { "\($0.summary.identity.app) \($0.summary.identity.environment.rawValue)" }
                throw CommandFailure(
                    "\(options.uuid) is in \(places.joined(separator: " and ")): say which with --app and --environment"
                )
            }
            if options.raw {
                try showRaw(whole, context)
            } else if context.json {
                let payload = JSON.Member(name: "payload", value: whole.gap == nil ? .raw(whole.payload) : .null)
                context.terminal.document(.object(whole.summary.members + [payload]))
            } else {
                context.terminal.print(NotificationPage(whole, context.terminal).text)
            }
            return 0
        }

        /// What Apple signed and nothing else, without a line end: a program reads it.
        private func showRaw(_ whole: NotificationQuery.Whole, _ context: CommandContext) throws {
            if let gap = whole.gap { throw CommandFailure(gap) }
            guard !whole.signedPayload.isEmpty else {
                throw CommandFailure("it is an answer that Apple gave, and signed in parts only: leave out --raw")
            }
            if context.json {
                context.terminal.document(
                    .object(["signedPayload": .string(String(decoding: whole.signedPayload, as: UTF8.self))]))
            } else {
                context.terminal.write(whole.signedPayload)
            }
        }
    }

    struct Reprocess: Command {
        static let declaration = NotificationOptions.reprocess
        private let options: NotificationOptions.Show

        init(_ parsed: ParsedArguments) {
            options = NotificationOptions.Show(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
            let outcome = try NotificationRepair.reprocess(
                uuid: options.uuid, app: options.app, environment: options.environment, on: connection)
            switch outcome {
            case .notFound: throw CommandFailure("there is no notification \(options.uuid)")
            case .ambiguous(let places): throw NotificationCommands.ambiguous(options.uuid, places)
            case .dropped(let received): throw NotificationCommands.dropped(options.uuid, received)
            case .queued: break
            }
            if context.json {
                context.terminal.document(.object(["uuid": .string(options.uuid), "state": .string("pending")]))
            } else {
                context.terminal.print("\(options.uuid) is pending and will be applied again")
            }
            return 0
        }
    }

    private static func dropped(_ uuid: String, _ received: Int64) -> CommandFailure {
        CommandFailure(
            "\(uuid) came on \(Day(of: received).text) and is no longer kept (retention.notifications); what it said of"
                + " purchases is")
    }

    private static func ambiguous(_ uuid: String, _ places: [String]) -> CommandFailure {
        CommandFailure(
            "\(uuid) is in \(places.joined(separator: " and ")): say which with --app and --environment")
    }
}

extension NotificationSummary {
    fileprivate var members: [JSON.Member] {
        JSON.object([
            "uuid": .string(identity.uuid), "app": .string(identity.app),
            "environment": .string(identity.environment.rawValue), "type": .string(type), "subtype": .text(subtype),
            "state": .string(state.rawValue), "reason": .text(hold?.reason),
            "attempts": hold.map { .int(Int64($0.attempts)) } ?? .null, "next_attempt_at": .date(hold?.nextAttempt),
            "original_transaction_id": .text(originalTransactionID), "signed_at": .date(signed),
            "received_at": .date(received),
        ]).members ?? []
    }
}
