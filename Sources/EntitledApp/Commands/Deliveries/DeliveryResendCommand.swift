import Base
import CLI
import Crypto
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled deliveries resend`.
struct DeliveryResendCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "resend", "Resend a delivery's event at once, under the same id.",
        discussion:
            "A consumer that remembers ids ignores one that it has seen. With --as-new-id the event is sent to"
            + " this endpoint as another event: `webhook-id` and `event.id` are new, everything else is as it was."
            + " \(MatchingOptions.help) \(ChangeOptions.help)",
        examples: [
            "deliveries resend ID", "deliveries resend ID --as-new-id",
            "deliveries resend --matching --state dead --since 24h --preview",
        ])

    @Argument(.text("ID"), DeliveryName.summary) private var target: String?
    @Flag("--as-new-id", "Resend under a new id, for consumers that know the old one.") private var asNewID: Bool

    @OptionGroup private var matching: MatchingOptions
    @OptionGroup private var filter: DeliveryFilterOptions
    @OptionGroup private var change: ChangeOptions

    func validate() throws {
        try matching.check(target, named: "ID", filter.members)
        try filter.validate()
        if matching.isGiven, asNewID { throw UsageError("--as-new-id and --matching cannot be combined") }
        if !matching.isGiven, let lonely = filter.members.first(where: { $0.value != nil }) {
            throw UsageError("a filter such as --\(lonely.name.replacing("_", with: "-")) needs --matching")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        guard let text = self.target else {
            return try matching.ask(
                .resend, filter.members, verb: "Send again", words: "deliveries resend", change, context)
        }
        let name = DeliveryName(text: text)
        if let remote = context.remote {
            guard !asNewID else { throw UsageError("--as-new-id \(RemoteOptions.onHostOnly)") }
            return try change.ask(remote, ["deliveries", try name.id(of: remote), "resends"], context)
        }
        try change.checkLocal()
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let id = try name.id(on: connection)
        guard !asNewID else {
            try copy(id, on: connection, context)
            return 0
        }
        switch try DeliveryRepair.resend(id, now: SystemClock().now(), on: connection) {
        case .notFound: throw DeliveryArgument.noSuch(id)
        case .endpointDisabled(let reason): throw DeliveryResendCommand.disabled(reason)
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
        case .notFound: throw DeliveryArgument.noSuch(id)
        case .endpointDisabled(let reason): throw DeliveryResendCommand.disabled(reason)
        case .isNotification:
            throw CommandFailure("raw notifications keep Apple's UUID: remove --as-new-id")
        case .bodyGone: throw CommandFailure("its event is too old: retention has dropped the body")
        case .bodyUnclear:
            throw CommandFailure(
                "the body of its event does not contain the event's id exactly once, so the event cannot get a new id")
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

    private static func disabled(_ reason: String) -> CommandFailure {
        CommandFailure("its endpoint is disabled or removed (\(reason)): enable it first, or add it again")
    }
}
