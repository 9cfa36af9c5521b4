import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled deliveries show`.
struct DeliveryShowCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a delivery and each attempt with its outcome, timing and response.",
        examples: ["deliveries show ID"])

    @OptionGroup private var target: DeliveryArgument

    func run(_ context: CommandContext) throws -> Int32 {
        let id = try target.id()
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        guard let found = try DeliveryQuery.show(id, on: connection) else { throw DeliveryArgument.noSuch(id) }
        let original = try EventCopy.original(of: found.delivery.event, in: id.lane, on: connection)
        if context.json {
            let more = [
                JSON.Member(name: "repeats_event", value: .text(original)),
                JSON.Member(name: "sequence", value: .integer(found.sequence)),
                JSON.Member(name: "blocked_by", value: .text(found.blockedBy?.text)),
                JSON.Member(name: "attempt_history", value: .array(found.attempts.map(\.json))),
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
        context.terminal.print(DeliveryShowCommand.bodyText(found.body))
        return 0
    }

    /// What is sent, indented to be read; `--json` has it as it is sent.
    static func bodyText(_ body: [UInt8]) -> String {
        guard !body.isEmpty else { return "not kept any more (retention.events)" }
        let text = (try? JSON(parsing: body))?.indentedText ?? String(decoding: body, as: UTF8.self)
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { Terminal.harmless(String($0)) }
            .joined(separator: "\n")
    }
}
