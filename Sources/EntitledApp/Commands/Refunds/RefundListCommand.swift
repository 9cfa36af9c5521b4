import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled refunds list`.
struct RefundListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List consumption requests and their answers, newest first.",
        examples: ["refunds list --open", "refunds list --app demo --json"])

    @Flag("--open", "Only requests that can still be answered.") private var isOpen: Bool
    @Option("--app", .text("ID"), "Select this app.") private var app: String?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let now = SystemClock().now()
        let rows =
            try context.remote.map {
                try $0.list(
                    ["refunds"], [("open", isOpen ? "true" : nil), ("app", app)], after: nil, limit: limit
                ).items
            } ?? requests(now: now, context)
        guard !context.json else {
            context.terminal.document(.object(["refunds": .array(rows)]))
            return 0
        }
        guard !rows.isEmpty else {
            context.terminal.print(
                isOpen ? "Apple waits for no answer" : "Apple has asked no question about a refund")
            return 0
        }
        var table = TextTable([
            .time("asked"), .key("transaction"), "product", .prose("reason"), .id("app user id"), .time("until"),
            .prose("answer"), "decision", "where",
        ])
        for row in rows {
            table.add(
                ["asked_at", "transaction_id", "product_id", "reasons", "app_user_id"].map(row.cell) + [
                    RefundListCommand.left(row, at: now, isOnScreen: context.terminal.screen != nil),
                    RefundListCommand.outcome(row), row.cell("decision"),
                    "\(row.cell("app")), \(row.cell("environment"))",
                ])
        }
        context.terminal.table(table)
        return 0
    }

    private func requests(now: Int64, _ context: CommandContext) throws -> [JSON] {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        return try RefundRequestTable.list(app: app, openAt: isOpen ? now : nil, atMost: limit, on: connection).map {
            RefundRow(request: $0.request, owner: $0.owner, now: now).json
        }
    }

    /// How long there is to answer; empty where it does not matter any more.
    ///
    /// - Parameter isOnScreen: a table on a screen adds how far away it is.
    private static func left(_ row: JSON, at now: Int64, isOnScreen: Bool) -> String {
        guard row["open"]?.boolValue == true, let deadline = row.instant("deadline") else { return "" }
        let time = Timestamp.text(deadline)
        return isOnScreen ? time : "\(time), in \(RelativeTime.text(deadline - now))"
    }

    private static func outcome(_ row: JSON) -> String {
        let failure = row["failure"]?.stringValue
        switch RefundRequest.State(rawValue: row.cell("state")) {
        case .ready: return failure.map { "to be sent again: \($0)" } ?? "to be sent"
        case .sending: return "on its way"
        case .sent:
            return "sent: \(row["answer"]?["preference"]?.stringValue ?? "no preference") (\(row.cell("answered_by")))"
        case .failed: return "not taken: \(failure ?? "")"
        case .open, nil: return ""
        }
    }
}
