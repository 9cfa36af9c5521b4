import Base
import CLI
import Database
import Operator
import Postgres
import Schemas
import Subscriptions

/// `entitled refunds list`.
struct RefundListCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "list", "List consumption requests and their answers, newest first.",
        examples: ["refunds list --open", "refunds list --app demo --json"])

    @Flag("--open", "Only requests that can still be answered.") private var isOpen: Bool
    @Option("--app", .text("ID"), "Select this app.") private var app: String?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let now = SystemClock().now()
        let found = try RefundRequestTable.list(
            app: app, openAt: isOpen ? now : nil, atMost: limit, on: connection)
        if context.json {
            context.terminal.document(
                .object([
                    "refunds": .array(found.map { RefundRow(request: $0.request, owner: $0.owner, now: now).json })
                ]))
            return 0
        }
        guard !found.isEmpty else {
            context.terminal.print(
                isOpen ? "Apple waits for no answer" : "Apple has asked no question about a refund")
            return 0
        }
        var table = TextTable([
            .time("asked"), .key("transaction"), "product", .prose("reason"), .id("app user id"), .time("until"),
            .prose("answer"), "decision", "where",
        ])
        for (request, owner) in found {
            table.add([
                Timestamp.text(request.asked), request.key.transactionID, request.productID,
                request.reasons.joined(separator: ", "), owner ?? "",
                request.left(at: now, isOnScreen: context.terminal.screen != nil), request.outcome,
                request.decision ?? "",
                "\(request.key.purchase.app), \(request.key.purchase.environment.rawValue)",
            ])
        }
        context.terminal.table(table)
        return 0
    }
}

extension RefundRequest {
    /// How long there is to answer; empty where it does not matter any more.
    ///
    /// - Parameter isOnScreen: a table on a screen adds how far away it is.
    fileprivate func left(at now: Int64, isOnScreen: Bool) -> String {
        guard isOpen(at: now) else { return "" }
        let time = Timestamp.text(deadline)
        return isOnScreen ? time : "\(time), in \(RelativeTime.text(deadline - now))"
    }

    fileprivate var outcome: String {
        switch state {
        case .open: ""
        case .ready: failure == nil ? "to be sent" : "to be sent again: \(failure ?? "")"
        case .sending: "on its way"
        case .sent: "sent: \(answer?.preference ?? "no preference") (\(answeredBy ?? ""))"
        case .failed: "not taken: \(failure ?? "")"
        }
    }
}
