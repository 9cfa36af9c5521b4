import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled events list`.
struct EventListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List events, newest first.",
        discussion:
            "With --customer: events about the purchases that the customer owns now, and about transfers from and to the"
            + " customer.",
        examples: ["events list --type CANCELLATION --since 24h", "events list --customer user-42 --json"])

    @Option("--type", .text("TYPE"), "Only events of this type.") private var type: String?
    @Option("--app", .text("ID"), "Only events of this app.") private var app: String?
    @Option("--environment", .environment, "Only events of this environment.")
    private var environment: StoreEnvironment?
    @Option("--customer", .text("ANY-ID"), "Only events about this customer's purchases.")
    private var customer: String?
    @Option("--purchase", .text("ID"), "Only events about the purchase of this original transaction id.")
    private var purchase: String?
    @OptionGroup private var part: ListPageOptions

    func validate() throws {
        if customer != nil, purchase != nil { throw UsageError("--customer and --purchase cannot be combined") }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            let list = try part.list(
                ["events"],
                [
                    ("type", type), ("app", app), ("environment", environment?.rawValue), ("customer", customer),
                    ("purchase", purchase),
                ], of: remote)
            part.show("events", list, EventListCommand.table(list.items), context)
            return 0
        }
        let filters = ["events", type, app, environment?.rawValue, customer, purchase]
        let now = SystemClock().now()
        let range = try part.range(filters, now: now)
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        var filter = EventQuery.Filter()
        (filter.type, filter.app, filter.environment) = (type, app, environment)
        filter.subject =
            try purchase.map { EventQuery.Subject(originalTransactionID: $0) }
            ?? customer.map { try EventQuery.Subject(customer: $0, on: connection) }
        let page = try EventQuery.list(filter, range, now: now, on: connection)
        let rows = page.rows.map(\.json)
        part.show("events", rows, EventListCommand.table(rows), next: part.next(page, filters), context)
        return 0
    }

    private static func table(_ events: [JSON]) -> TextTable {
        var table = TextTable([
            .time("created"), "type", "app", "environment", .number("sequence"), .id("original transaction"),
            .key("id"),
        ])
        for event in events {
            table.add(
                ["created_at", "type", "app", "environment", "sequence", "original_transaction_id", "id"].map(
                    event.cell))
        }
        return table
    }
}

extension EventQuery.Subject {
    /// The events about a customer that is given by any id.
    init(customer anyID: String, on connection: PostgresConnection) throws {
        let customer = try CustomerArgument(anyID, for: .reading, on: connection)
        let ids = try CustomerTable.load([customer.id], on: connection)[customer.id]?.appUserIDs ?? [customer.id]
        try self.init(customer: ids, on: connection)
    }
}
