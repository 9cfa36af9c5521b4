import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// Shared by the commands of `entitled endpoints`.
enum EndpointCommands {
    static let id = ArgumentDeclaration(.text("ID"), "The endpoint's id, as `endpoints list` shows it.")

    static let include = OptionDeclaration(
        "--include", .choice(["subscriber", "none"], "WHAT"),
        "subscriber: each event carries the document of its customer as it is when the event is sent; none, the"
            + " default: it does not.")

    static let extensionVersion = OptionDeclaration(
        "--extension-version", .text("VERSION"),
        "With --format firebase, the version of the extension, which accepts events of no other; default:"
            + " \(EndpointFormat.newestExtension).")

    static let eventOrExcept =
        "--event and --except cannot be combined: --event lists every type that the endpoint receives"

    static let ordering = OptionDeclaration(
        "--ordering", .choice(of: Ordering.self, "ORDERING"),
        "purchase: the next event of a purchase is sent only when the one before it was delivered or is dead; none,"
            + " the default: each is sent at once."
    )

    static func open(_ configuration: Configuration) throws -> (PostgresConnection, SecretSealer) {
        let connection = try DatabaseAccess(configuration).connect(.worker)
        return (connection, try SealingKeys.sealing(configuration, on: connection))
    }

    /// Deliveries follow their endpoint; if this is cut short, the workers go on with it.
    static func settleDeliveries(on connection: PostgresConnection) throws {
        while try DeliveryTable.followEndpoints(in: Lane.all, now: SystemClock().now(), on: connection) > 0 {}
    }

    /// A line for people, who know the rest of the endpoint; the whole endpoint for machines.
    ///
    /// - Parameter more: members that the document has beside the endpoint's.
    static func tellState(
        of id: String, more: [JSON.Member] = [], _ configuration: Configuration, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws {
        guard !context.json else {
            return try show(id, more: more, configuration, on: connection, context)
        }
        let endpoint = try find(id, on: connection)
        let rest = endpoint.isEnabled ? "" : "; its events are kept for it until it is enabled"
        context.terminal.paragraph(
            Terminal.harmless("\(endpoint.id) is \(endpoint.stateText)\(rest): \(endpoint.url)"))
    }

    /// - Parameter more: members that the document has beside the endpoint's.
    static func show(
        _ id: String, more: [JSON.Member] = [], _ configuration: Configuration, on connection: PostgresConnection,
        _ context: CommandContext
    ) throws {
        let endpoint = try find(id, on: connection)
        let page = EndpointPage(
            EndpointSettings(
                endpoint, live: try EndpointSecrets.list(of: id, now: SystemClock().now(), on: connection),
                standard: RetrySchedule(waits: configuration.webhooks.retrySchedule.map(\.milliseconds))),
            health: try EndpointHealthPage.load(id: id, configuration.healthPolicy, on: connection).of(endpoint),
            blocked: try DeliveryOrder.blocked(of: id, atMost: EndpointPage.blockedLimit, on: connection),
            latency: try EndpointLatency.read(of: id, now: SystemClock().now(), on: connection))
        let unreadable = UnreadableEndpoints.load(configuration, id: id)
        if context.json {
            let document = JSON.object((page.document.members ?? []) + more)
            context.terminal.document(unreadable.adding(to: document, of: id))
        } else {
            context.terminal.record(page.text(context.terminal.time))
            for line in unreadable.lines(configuration) { context.terminal.complain(line) }
        }
    }

    /// - Throws: `CommandFailure` where there is none with this id.
    static func find(_ id: String, on connection: PostgresConnection) throws -> Endpoint {
        guard let endpoint = try EndpointTable.list(id: id, on: connection).first else {
            throw try noSuch(id, on: connection)
        }
        return endpoint
    }

    static func noSuch(_ id: String, on connection: PostgresConnection) throws -> CommandFailure {
        let hint = NearestName.hint(forID: id, among: try EndpointTable.list(on: connection).map(\.id))
        return CommandFailure("there is no endpoint \(id)\(hint); see `entitled endpoints list`")
    }
}

extension Endpoint {
    var stateText: String { disabledReason.map { "disabled (\($0))" } ?? "enabled" }

    var filterText: String {
        if isOperations { return "operations events" }
        var parts = [apps, environments.map(\.rawValue), events].filter { !$0.isEmpty }.map {
            $0.joined(separator: ", ")
        }
        if !exceptedEvents.isEmpty { parts.append("all but \(exceptedEvents.joined(separator: ", "))") }
        let filters = parts.joined(separator: "; ")
        switch format {
        case .revenuecat: return parts.isEmpty ? "every event" : filters
        case .raw: return parts.isEmpty ? "every notification as it came" : "notifications as they came: \(filters)"
        }
    }
}
