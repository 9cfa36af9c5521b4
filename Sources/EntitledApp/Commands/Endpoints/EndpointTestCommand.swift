import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled endpoints test`.
struct EndpointTestCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "test", "Send a TEST event to an endpoint.", discussion: ChangeOptions.help, examples: ["endpoints test ID"])

    @Argument(EndpointCommands.id) private var id: String
    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try change.ask(remote, ["endpoints", id, "test"], context) }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let endpoint = try EndpointCommands.find(id, on: connection)
        guard endpoint.isEnabled else {
            throw CommandFailure("endpoint \(endpoint.id) is disabled: \(endpoint.disabledReason ?? "")")
        }
        guard endpoint.format == .revenuecat else {
            throw CommandFailure(
                "endpoint \(endpoint.id) receives only notifications of Apple: use `entitled apple test-notification` instead"
            )
        }
        let now = SystemClock().now()
        let event = TestEventMaker.event(for: endpoint, firstApp: configuration.apps.first?.id, now: now)
        try TestEventMaker.insert(event.new, for: endpoint, now: now, on: connection)
        if context.json {
            context.terminal.document(.object(["id": .string(endpoint.id), "event_id": .string(event.id)]))
        } else {
            context.terminal.print(
                "\(event.new.type) event \(event.id) is on its way; see `entitled deliveries list --endpoint"
                    + " \(endpoint.id)`"
            )
            if context.terminal.screen != nil {
                let id = DeliveryID(lane: event.new.lane, event: event.new.id, endpoint: endpoint.id)
                context.terminal.print(try EndpointTestCommand.outcome(of: id, on: connection))
            }
        }
        return 0
    }

    /// How long a person waits for the first attempt: a worker begins it within a second.
    private static let patience = Duration.seconds(5)

    /// The first attempt in a sentence, once there is one.
    private static func outcome(of id: DeliveryID, on connection: PostgresConnection) throws -> String {
        let deadline = ContinuousClock.now + patience
        while true {
            guard let found = try DeliveryQuery.show(id, on: connection) else { return "the delivery is gone" }
            if let attempt = found.attempts.last {
                let detail = attempt.detail ?? attempt.status.map { "status \($0)" } ?? attempt.outcome
                let verdict = found.delivery.state == .delivered ? "delivered" : "not delivered"
                return Terminal.harmless("\(verdict) in \(attempt.milliseconds) ms: \(detail)")
            }
            guard ContinuousClock.now < deadline else {
                return "no attempt has ended within \(patience.text): `entitled deliveries show \(id.text)` shows"
                    + " it later, and `entitled doctor` checks the workers"
            }
            Pause.wait(.milliseconds(200))
        }
    }
}
