import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled notifications list`.
struct NotificationListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "list", "List notifications, newest first.",
        examples: ["notifications list --state held", "notifications list --limit 1000 --json"])

    @Option(
        "--state", .choice(of: NotificationState.self, "STATE"),
        "Only those: pending waits to be applied, held could not be applied and is tried again.")
    var state: NotificationState?
    @Option("--app", .text("ID"), "Only those of this app.") var app: String?
    @Option("--environment", .environment, "Only those of this environment.") var environment: StoreEnvironment?
    @Option(ListLimit.option) var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let found = try NotificationQuery.list(
            state: state, app: app, environment: environment, atMost: limit,
            on: connection)
        if context.json {
            context.terminal.document(.object(["notifications": .array(found.map { .object($0.members) })]))
            return 0
        }
        guard !found.isEmpty else {
            context.terminal.print("no notifications")
            return 0
        }
        var table = TextTable([
            .time("received"), "type", "subtype", "state", "app", "environment", .key("uuid"),
            .number("attempts"), .time("next attempt"), .prose("reason"),
        ])
        for item in found {
            table.add([
                Timestamp.text(item.received), item.type, item.subtype ?? "", item.state.rawValue,
                item.identity.app, item.identity.environment.rawValue, item.identity.uuid,
                item.hold.map { String($0.attempts) } ?? "", item.hold?.nextText(Timestamp.text) ?? "",
                item.hold?.reason ?? "",
            ])
        }
        context.terminal.table(table)
        return 0
    }
}

extension NotificationState: InputValue {}
