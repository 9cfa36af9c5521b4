import Base
import CLI
import Daemon
import Database
import Duties
import Postgres
import Schemas
import Subscriptions

/// `entitled listen`.
struct ListenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "listen", "Show events as they happen, and forward them to a consumer under development.",
        discussion:
            "It needs no endpoint and changes nothing. With --forward-to each event is posted to the URL as a delivery would"
            + " be, the same body and headers, signed with a secret that is shown at the start; the answer is shown,"
            + " and nothing is retried. Ctrl-C ends it.",
        examples: [
            "listen", "listen --forward-to http://localhost:3000/hooks", "listen --since 1h --event RENEWAL --json",
        ])

    @Option("--forward-to", .text("URL"), "Post each event to this URL; local addresses are allowed.")
    private var forwardTo: String?
    @OptionGroup private var givenSecret: WebhookSecretOption
    @Option("--endpoint", .text("ID"), "Limit to events that match this endpoint's filters.") private var endpointID:
        String?
    @Option("--event", .text("TYPE"), "Limit to this event type.") private var types: [String]
    @Option("--app", .text("ID"), "Limit to this app.") private var apps: [String]
    @Option("--since", .moment, "Begin with the events since this time.") private var since: TimeArgument?
    /// Nil: a new one.
    private var secret: WebhookSecret?

    mutating func validate() throws {
        secret = try givenSecret.value()
        if secret != nil, forwardTo == nil { throw UsageError("--secret needs --forward-to") }
    }

    private static let interval = Duration.milliseconds(300)

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        try check(configuration)
        let database = try DatabaseAccess(configuration)
        let endpoint = try endpoint(database)
        // Before any thread: every thread must leave the signals to the one that waits for them.
        Signals.block()
        let forwarder = try forwardTo.map {
            try EventForwarder(to: $0, secret: secret, timeout: configuration.webhooks.timeout)
        }
        let end = Monitor(false)
        _ = ServiceThread("signals") {
            _ = Signals.wait()
            end.change { $0 = true }
            forwarder?.stop()
        }
        let events = try events(for: endpoint)
        greet(forwarder, context)
        let session = try database.session(.api, logger: .silent, refused: { _ in })
        try listen(session, events, forwarder, end, context)
        return 0
    }

    private func check(_ configuration: Configuration) throws {
        for event in types { try EndpointFilters.checkEvent(event) }
        let configured = configuration.apps.map(\.id)
        for app in apps where !configured.contains(app) {
            throw UsageError(
                "--app \(app): no app has this id; configured: \(configured.joined(separator: ", "))")
        }
    }

    /// Also what shows at once that there is a database, and that it is ours.
    private func endpoint(_ database: DatabaseAccess) throws -> Endpoint? {
        let connection = try database.connect(.api)
        guard let id = endpointID else { return nil }
        let endpoint = try EndpointCommands.find(id, on: connection)
        guard endpoint.format == .revenuecat, !endpoint.isOperations else {
            throw UsageError("--endpoint \(id): it receives \(endpoint.filterText), and these are events of purchases")
        }
        return endpoint
    }

    private func events(for endpoint: Endpoint?) throws -> EventTail {
        let (types, apps) = (self.types, self.apps)
        let since = try self.since?.milliseconds(ofOption: "--since", now: SystemClock().now())
        return EventTail(since: since) { type, app, environment in
            (types.isEmpty || types.contains(type)) && (apps.isEmpty || apps.contains(app))
                // What operators are told goes to no other endpoint either.
                && endpoint?.wants(type: type, app: app, environment: environment) ?? !OperationsEvent.isOne(type)
        }
    }

    private func greet(_ forwarder: EventForwarder?, _ context: CommandContext) {
        if context.json {
            context.terminal.line(
                .object([
                    "listening": .bool(true), "forward_to": .text(forwarder?.url),
                    "secret": .text(forwarder.map(\.secret.text)),
                ]))
            return
        }
        if let forwarder {
            context.terminal.print("forwarding to \(forwarder.url), signed with \(forwarder.secret.text)")
        }
        context.terminal.print("listening; Ctrl-C ends it")
    }

    private func listen(
        _ session: PostgresSession, _ events: EventTail, _ forwarder: EventForwarder?, _ end: Monitor<Bool>,
        _ context: CommandContext
    ) throws {
        var events = events
        var (isAway, rest) = (false, Duration.zero)
        while end.wait(timeout: rest, for: { $0 ? true : nil }) == nil {
            do {
                let found = try session.withConnection { connection in try events.look(on: connection) }
                isAway = false
                rest = found.hasMore ? .zero : ListenCommand.interval
                for event in found.events where !end.read({ $0 }) {
                    ListenedEvent(event).show(forwarder?.send(event), context)
                }
            } catch let error as PostgresError where error.isConnectionLost {
                if !isAway { context.terminal.complain("the database is unavailable; waiting for it") }
                isAway = true
                rest = max(session.retryDelay, ListenCommand.interval)
            }
        }
    }
}

/// An event as a person sees it.
private struct ListenedEvent {
    private let event: EventTail.Event
    private let body: JSON?

    init(_ event: EventTail.Event) {
        self.event = event
        body = (try? JSON(parsing: event.body))?["event"]
    }

    func show(_ answer: EventForwarder.Answer?, _ context: CommandContext) {
        let (id, user, product) = (
            UUIDText.upper(event.key.id), body?["app_user_id"]?.stringValue, body?["product_id"]?.stringValue
        )
        if context.json {
            context.terminal.line(
                .object([
                    "time": .string(Timestamp.precise(event.created)), "type": .string(event.type),
                    "app_user_id": .text(user), "product_id": .text(product),
                    "environment": .string(event.environment.rawValue), "app": .string(event.app),
                    "event_id": .string(id), "status": answer.map { .integer($0.status.map { Int64($0) }) },
                    "error": answer.map { .text($0.error) }, "milliseconds": answer.map { .int($0.milliseconds) },
                ]))
            return
        }
        let parts = [
            Timestamp.precise(event.created), event.type, user ?? "-", product ?? "-", event.environment.rawValue, id,
        ]
        let outcome =
            answer.map { "  → \($0.status.map(String.init) ?? $0.error ?? "") in \($0.milliseconds) ms" } ?? ""
        context.terminal.print(Terminal.harmless(parts.joined(separator: "  ") + outcome))
    }
}
