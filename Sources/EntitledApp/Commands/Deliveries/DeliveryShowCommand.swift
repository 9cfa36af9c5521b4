import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled deliveries show`.
struct DeliveryShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a delivery and each attempt with its outcome, timing and response.",
        examples: ["deliveries show ID"])

    @OptionGroup private var target: DeliveryArgument

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            let bytes = try remote.get(["deliveries", try target.id(of: remote)], [])
            show(try JSON(ordered: bytes, verbatim: ["body"]), starts: nil, context)
            return 0
        }
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let id = try target.id(on: connection)
        guard let found = try DeliveryQuery.show(id, on: connection) else { throw DeliveryArgument.noSuch(id) }
        let original = try EventCopy.original(of: found.delivery.event, in: id.lane, on: connection)
        let more = [
            JSON.Member(name: "repeats_event", value: .text(original)),
            JSON.Member(name: "sequence", value: .integer(found.sequence)),
            JSON.Member(name: "blocked_by", value: .text(found.blockedBy?.text)),
            JSON.Member(name: "attempt_history", value: .array(found.attempts.map(\.json))),
            JSON.Member(name: "body", value: found.body.isEmpty ? .null : .raw(found.body)),
        ]
        show(.object(found.delivery.members + more), starts: found.attempts.map(\.started), context)
        return 0
    }

    /// - Parameter starts: of the attempts, in ms since 1970; nil: those of the document, which are to the second.
    private func show(_ delivery: JSON, starts: [Int64]?, _ context: CommandContext) {
        let attempts = delivery["attempt_history"]?.arrayValue ?? []
        guard !context.json else {
            let shown = attempts.map { $0.without(["response_hidden"]) }
            return context.terminal.document(
                .object(
                    (delivery.members ?? []).map {
                        $0.name == "attempt_history" ? JSON.Member(name: $0.name, value: .array(shown)) : $0
                    }))
        }
        func time(_ name: String) -> String { AnswerPage.time(delivery, name, context) }
        let reason = delivery["reason"]?.stringValue.map { ": \(Terminal.harmless($0))" } ?? ""
        context.terminal.print(
            """
            \(delivery.cell("id"))
            event        \(delivery.cell("event_type")) \(delivery.cell("event_id"))
            endpoint     \(delivery.cell("endpoint_id"))
            state        \(delivery.cell("state"))\(reason)
            created      \(time("created_at"))
            """)
        if let original = delivery["repeats_event"]?.stringValue { context.terminal.print("repeats      \(original)") }
        if let sequence = delivery["sequence"]?.intValue { context.terminal.print("sequence     \(sequence)") }
        let next = time("next_attempt_at")
        if !next.isEmpty { context.terminal.print("next         \(next)") }
        let blocked = time("blocked_since")
        if !blocked.isEmpty {
            let blocker = delivery["blocked_by"]?.stringValue ?? "an earlier event of its purchase"
            context.terminal.print("blocked      since \(blocked) by \(blocker)")
        }
        for (place, attempt) in attempts.enumerated() {
            let started = starts?.dropFirst(place).first.map(Timestamp.precise) ?? attempt.cell("started_at")
            context.terminal.print(AttemptPage.text(attempt, started: started))
        }
        context.terminal.print("\nbody")
        context.terminal.print(DeliveryShowCommand.bodyText(delivery["body"]))
    }

    /// What is sent, indented to be read; `--json` has it as it is sent.
    static func bodyText(_ body: JSON?) -> String {
        guard let body, body != .null else { return "not kept any more (retention.events), or not shown to the role" }
        let text = (try? JSON(parsing: body.bytes))?.indentedText ?? body.text
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { Terminal.harmless(String($0)) }
            .joined(separator: "\n")
    }
}
