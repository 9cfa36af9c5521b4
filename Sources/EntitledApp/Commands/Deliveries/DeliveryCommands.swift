import Base
import CLI
import Crypto
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled deliveries …`: what was sent, and to whom.
enum DeliveryCommands {
    struct List: Command {
        static let declaration = DeliveryOptions.list
        private let options: DeliveryOptions.List

        init(_ parsed: ParsedArguments) {
            options = DeliveryOptions.List(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            let found = try DeliveryQuery.list(
                .init(endpoint: options.endpoint, state: options.state), .init(limit: options.limit), on: connection
            ).rows
            if found.isEmpty, let endpoint = options.endpoint,
                try EndpointTable.list(id: endpoint, on: connection).isEmpty
            {
                throw try EndpointCommands.noSuch(endpoint, on: connection)
            }
            if context.json {
                context.terminal.document(.object(["deliveries": .array(found.map { .object($0.members) })]))
                return 0
            }
            guard !found.isEmpty else {
                context.terminal.print("no deliveries")
                return 0
            }
            var table = TextTable([
                .time("created"), "event", "state", .number("attempts"), .number("last"), .time("next"),
                .id("endpoint"), .key("id"), .prose("reason"),
            ])
            for item in found {
                table.add([
                    Timestamp.text(item.created), item.eventType, item.state.name, String(item.attempts),
                    item.lastStatus.map(String.init) ?? "", item.nextAttempt.map(Timestamp.text) ?? "",
                    item.endpoint, item.id.text,
                    item.reason ?? (item.blockedSince == nil ? "" : "waits for an earlier event of its purchase"),
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }

    struct Show: Command {
        static let declaration = DeliveryOptions.show
        private let options: DeliveryOptions.One

        init(_ parsed: ParsedArguments) {
            options = DeliveryOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let id = try DeliveryCommands.id(options.id)
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            guard let found = try DeliveryQuery.show(id, on: connection) else { throw DeliveryCommands.noSuch(id) }
            let original = try EventCopy.original(of: found.delivery.event, in: id.lane, on: connection)
            if context.json {
                let more = [
                    JSON.Member(name: "repeats_event", value: .text(original)),
                    JSON.Member(name: "sequence", value: .integer(found.sequence)),
                    JSON.Member(name: "blocked_by", value: .text(found.blockedBy?.text)),
                    JSON.Member(name: "attempt_history", value: .array(found.attempts.map(AttemptPage.document))),
                    JSON.Member(name: "body", value: .raw(found.body)),
                ]
                context.terminal.document(.object(found.delivery.members + more))
                return 0
            }
            let delivery = found.delivery
            context.terminal.print(
                """
                \(delivery.id.text)
                event        \(delivery.eventType) \(delivery.event)
                endpoint     \(delivery.endpoint)
                state        \(delivery.state.name)\(delivery.reason.map { ": \(Terminal.harmless($0))" } ?? "")
                created      \(context.terminal.time(delivery.created))
                """)
            if let original { context.terminal.print("repeats      \(original)") }
            if let sequence = found.sequence { context.terminal.print("sequence     \(sequence)") }
            if let next = delivery.nextAttempt { context.terminal.print("next         \(context.terminal.time(next))") }
            if let since = delivery.blockedSince {
                let blocker = found.blockedBy?.text ?? "an earlier event of its purchase"
                context.terminal.print("blocked      since \(context.terminal.time(since)) by \(blocker)")
            }
            for attempt in found.attempts {
                context.terminal.print(AttemptPage.text(attempt))
            }
            context.terminal.print("\nbody")
            context.terminal.print(DeliveryCommands.bodyText(found.body))
            return 0
        }
    }

    struct Resend: Command {
        static let declaration = DeliveryOptions.resend
        private let options: DeliveryOptions.Resend

        init(_ parsed: ParsedArguments) {
            options = DeliveryOptions.Resend(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let id = try DeliveryCommands.id(options.id)
            let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
            guard !options.asNewID else {
                try copy(id, on: connection, context)
                return 0
            }
            switch try DeliveryRepair.resend(id, now: SystemClock().now(), on: connection) {
            case .notFound: throw DeliveryCommands.noSuch(id)
            case .endpointDisabled(let reason): throw DeliveryCommands.disabled(reason)
            case .gone(let reason): throw CommandFailure("it cannot be sent any more: \(reason)")
            case .reopened: print("\(id.text) is sent again now, under the same webhook-id", id, context)
            case .blocked:
                print(
                    "\(id.text) is sent again after the events of its purchase before it, under the same webhook-id",
                    id, context)
            }
            return 0
        }

        private func print(_ text: String, _ id: DeliveryID, _ context: CommandContext) {
            if context.json {
                context.terminal.document(.object(["id": .string(id.text), "state": .string("pending")]))
            } else {
                context.terminal.print(text)
            }
        }

        private func copy(
            _ id: DeliveryID, on connection: PostgresConnection, _ context: CommandContext
        ) throws {
            let event = UUIDText.bytes(EventID.uuid(of: SecureRandom.bytes(16))) ?? []
            switch try EventCopy.send(id, as: event, now: SystemClock().now(), on: connection) {
            case .notFound: throw DeliveryCommands.noSuch(id)
            case .endpointDisabled(let reason): throw DeliveryCommands.disabled(reason)
            case .isNotification:
                throw CommandFailure("notifications as they came keep Apple's UUID: leave --as-new-id away")
            case .bodyGone: throw CommandFailure("its event is too old: retention has dropped the body")
            case .bodyUnclear:
                throw CommandFailure("its event's body does not name its id once, so it cannot get another")
            case .sent(let event, let delivery):
                if context.json {
                    context.terminal.document(
                        .object([
                            "id": .string(delivery.text), "event_id": .string(UUIDText.upper(event)),
                            "resent_from": .string(id.text), "state": .string("pending"),
                        ]))
                } else {
                    context.terminal.print(
                        "\(delivery.text) is sent now: the same event under the new id \(UUIDText.upper(event))")
                }
            }
        }
    }

    /// What is sent, indented to be read; `--json` has it as it is sent.
    private static func bodyText(_ body: [UInt8]) -> String {
        guard !body.isEmpty else { return "not kept any more (retention.events)" }
        let text = (try? JSON(parsing: body))?.indentedText ?? String(decoding: body, as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { Terminal.harmless(String($0)) }
            .joined(separator: "\n")
    }

    private static func id(_ text: String) throws -> DeliveryID {
        guard let id = DeliveryID(text: text) else {
            throw CommandFailure("\(text) is no delivery id: they look like dlv_… in `entitled deliveries list`")
        }
        return id
    }

    private static func disabled(_ reason: String) -> CommandFailure {
        CommandFailure("its endpoint is disabled or removed (\(reason)): enable it first, or add it again")
    }

    private static func noSuch(_ id: DeliveryID) -> CommandFailure {
        CommandFailure("there is no delivery \(id.text)")
    }
}

extension DeliverySummary {
    /// When it is tried next; nil where that is not known or never.
    fileprivate var nextAttempt: Int64? { state == .pending && blockedSince == nil ? next : nil }

    fileprivate var members: [JSON.Member] {
        JSON.object([
            "id": .string(id.text), "event_id": .string(event), "event_type": .string(eventType),
            "endpoint_id": .string(endpoint), "state": .string(state.name), "attempts": .int(Int64(attempts)),
            "last_status": .integer(lastStatus.map { Int64($0) }), "reason": .text(reason),
            "next_attempt_at": .date(nextAttempt), "created_at": .date(created), "blocked_since": .date(blockedSince),
        ]).members ?? []
    }
}
