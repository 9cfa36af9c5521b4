import Base
import CLI
import Database
import Operator
import Postgres
import Schemas

/// `entitled notifications list`.
struct NotificationListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List notifications, newest first.",
        examples: [
            "notifications list --state held", "notifications list --type REFUND --since 7d",
            "notifications list --purchase 2000000123456789 --json",
        ])

    @Option(
        "--state", .choice(of: NotificationState.self, "STATE"),
        "Only notifications in this state: pending will be applied, held could not be applied and is retried.")
    var state: NotificationState?
    @Option("--type", .text("TYPE"), "Only notifications of this type, such as DID_RENEW.") private var type: String?
    @Option("--subtype", .text("SUBTYPE"), "Only notifications of this subtype.") private var subtype: String?
    @Option(
        "--source", .choice(NotificationListCommand.sources.map(\.name), "SOURCE"),
        "Only notifications of this source: store was sent by Apple, history was found in Apple's history, status was polled,"
            + " posted came from an app, import from an import.")
    private var source: String?
    @Option("--purchase", .text("ID"), "Only notifications about the purchase of this original transaction id.")
    private var purchase: String?
    @Option("--app", .text("ID"), "Only notifications of this app.") private var app: String?
    @Option("--environment", .environment, "Only notifications of this environment.")
    private var environment: StoreEnvironment?
    @OptionGroup var part: ListPageOptions

    private static let sources: [(name: String, values: [NotificationSource])] = [
        ("store", [.store]), ("history", [.history, .historyToSend]), ("status", [.status]), ("posted", [.posted]),
        ("import", [.imported, .importedToSend]),
    ]

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            let list = try part.list(
                ["notifications"],
                [
                    ("state", state?.rawValue), ("type", type), ("subtype", subtype), ("source", source),
                    ("purchase", purchase), ("app", app), ("environment", environment?.rawValue),
                ], of: remote)
            part.show("notifications", list, NotificationListCommand.table(list.items), context)
            return 0
        }
        let filters = [
            "notifications", state?.rawValue, type, subtype, source, purchase, app, environment?.rawValue,
        ]
        let range = try part.range(filters, now: SystemClock().now())
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.api)
        var filter = NotificationQuery.Filter(state: state, app: app, environment: environment)
        (filter.type, filter.subtype, filter.originalTransactionID) = (type, subtype, purchase)
        if let app, let purchase {
            let environments = environment.map { [$0] } ?? StoreEnvironment.allCases
            filter.lanes = Set(environments.map { Lane(app: app, environment: $0, subject: purchase) }).sorted()
        }
        filter.sources = NotificationListCommand.sources.first { $0.name == source }?.values
        let page = try NotificationQuery.list(filter, range, on: connection)
        let rows = page.rows.map(\.json)
        part.show("notifications", rows, NotificationListCommand.table(rows), next: part.next(page, filters), context)
        return 0
    }

    private static func table(_ notifications: [JSON]) -> TextTable {
        var table = TextTable([
            .time("received"), "type", "subtype", "state", "app", "environment", .key("uuid"),
            .number("attempts"), .time("next attempt"), .prose("reason"),
        ])
        for item in notifications {
            let isHeld = item["attempts"]?.intValue != nil
            table.add(
                ["received_at", "type", "subtype", "state", "app", "environment", "uuid", "attempts"].map(item.cell) + [
                    item["next_attempt_at"]?.stringValue ?? (isHeld ? NotificationText.onlyByReprocess : ""),
                    item.cell("reason"),
                ])
        }
        return table
    }
}

extension NotificationState: InputValue {}
