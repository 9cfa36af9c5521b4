import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled deliveries list`.
struct DeliveryListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List deliveries, newest first.",
        examples: [
            "deliveries list --state dead", "deliveries list --customer user-42",
            "deliveries list --endpoint ID --status 5xx --since 24h --json",
        ])

    @Option("--endpoint", .text("ID"), "Only deliveries to this endpoint.") var endpoint: String?
    @Option(
        "--state", .choice(DeliveryState.allCases.map(\.name), "STATE"),
        "Only deliveries in this state: pending will be sent, dead was given up, held waits for its endpoint.")
    var state: DeliveryState?
    @Option("--type", .text("TYPE"), "Only deliveries of events of this type.") private var type: String?
    @Option("--status", .text("STATUS"), "Only deliveries whose last answer had this HTTP status, such as 404 or 5xx.")
    private var status: String?
    @Option("--attempts-min", .integer(1...1000, "N"), "Only deliveries with at least this number of attempts.")
    private var attempts: Int?
    @Option("--event", .text("ID"), "Only deliveries of this event.") private var event: String?
    @Option("--customer", .text("ANY-ID"), "Only deliveries of events about this customer's purchases.")
    private var customer: String?
    @OptionGroup var part: ListPageOptions

    func validate() throws {
        if event != nil, customer != nil { throw UsageError("--event and --customer cannot be combined") }
        if let status, DeliveryState.statuses(status) == nil {
            throw UsageError("--status \(status) is not an HTTP status such as 404, or a class such as 5xx")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            let list = try part.list(
                ["deliveries"],
                [
                    ("endpoint", endpoint), ("state", state?.name), ("type", type), ("status", status),
                    ("attempts_min", attempts.map(String.init)), ("event", event), ("customer", customer),
                ], of: remote)
            part.show("deliveries", list, DeliveryListCommand.table(list.items), context)
            return 0
        }
        let filters = ["deliveries", endpoint, state?.name, type, status, attempts.map(String.init), event, customer]
        let now = SystemClock().now()
        let range = try part.range(filters, now: now)
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        var filter = DeliveryQuery.Filter(endpoint: endpoint, state: state)
        filter.eventType = type
        filter.lastStatus = status.flatMap(DeliveryState.statuses)
        filter.attemptsAtLeast = attempts.map { Int16(clamping: $0) }
        filter.events = try events(now: now, on: connection)
        let page = try DeliveryQuery.list(filter, range, on: connection)
        if page.rows.isEmpty, let endpoint, try EndpointTable.list(id: endpoint, on: connection).isEmpty {
            throw try EndpointCommands.noSuch(endpoint, on: connection)
        }
        part.show(
            "deliveries", page.rows.map(\.json), DeliveryListCommand.table(page.rows.map(\.json)),
            next: part.next(page, filters), context)
        return 0
    }

    /// The events that the filter names; nil where it names none.
    private func events(now: Int64, on connection: PostgresConnection) throws -> Set<EventTraceQuery.EventName>? {
        if let event { return [try EventArgument.event(event, on: connection).name] }
        guard let customer else { return nil }
        var filter = EventQuery.Filter()
        filter.subject = try EventQuery.Subject(customer: customer, on: connection)
        let all = try EventQuery.list(filter, ListRange(limit: .max - 1), now: now, on: connection)
        return Set(all.rows.map(\.name))
    }

    static func table(_ deliveries: [JSON]) -> TextTable {
        var table = TextTable([
            .time("created"), "event", "state", .number("attempts"), .number("last"), .time("next"),
            .id("endpoint"), .key("id"), .prose("reason"),
        ])
        for item in deliveries {
            let isBlocked = !item.cell("blocked_since").isEmpty
            table.add(
                [
                    "created_at", "event_type", "state", "attempts", "last_status", "next_attempt_at", "endpoint_id",
                    "id",
                ].map(item.cell) + [
                    item["reason"]?.stringValue ?? (isBlocked ? "waits for an earlier event of its purchase" : "")
                ])
        }
        return table
    }
}

/// Filters of deliveries that a change of all that match takes; names are those of the operator API.
struct DeliveryFilterOptions: ParsableArguments {
    @Option("--endpoint", .text("ID"), "With --matching, only deliveries to this endpoint.") private var endpoint:
        String?
    @Option(
        "--state", .choice(DeliveryState.allCases.map(\.name), "STATE"),
        "With --matching, only deliveries in this state.")
    private var state: DeliveryState?
    @Option("--type", .text("TYPE"), "With --matching, only deliveries of events of this type.") private var type:
        String?
    @Option(
        "--status", .text("STATUS"),
        "With --matching, only deliveries whose last answer had this HTTP status, such as 404 or 5xx.")
    private var status: String?
    @Option(
        "--attempts-min", .integer(1...1000, "N"),
        "With --matching, only deliveries with at least this number of attempts.")
    private var attempts: Int?
    @Option("--event", .text("ID"), "With --matching, only deliveries of this event.") private var event: String?
    @Option(
        "--customer", .text("ANY-ID"), "With --matching, only deliveries of events about this customer's purchases.")
    private var customer: String?
    @Option("--since", .moment, "With --matching, start of the period, inclusive.") private var since: TimeArgument?
    @Option("--until", .moment, "With --matching, end of the period, exclusive.") private var until: TimeArgument?

    var members: [(name: String, value: String?)] {
        [
            ("endpoint", endpoint), ("state", state?.name), ("type", type), ("status", status),
            ("attempts_min", attempts.map(String.init)), ("event", event), ("customer", customer),
            ("since", since?.text), ("until", until?.text),
        ]
    }

    func validate() throws(UsageError) {
        if event != nil, customer != nil { throw UsageError("--event and --customer cannot be combined") }
        if let status, DeliveryState.statuses(status) == nil {
            throw UsageError("--status \(status) is not an HTTP status such as 404, or a class such as 5xx")
        }
    }
}

extension DeliveryState: InputValue {
    package init?(input text: String, as kind: ValueKind) { self.init(name: text) }
}
