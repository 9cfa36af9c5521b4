import Base
import CLI

/// `entitled actions list`.
struct ActionListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List what operators and apps did with customers, newest first.",
        discussion:
            "Grants, transfers, aliases, claims and deletions, by whom and why. --json prints the answer of the operator"
            + " API.",
        examples: ["actions list --customer user-42", "actions list --actor anna --since 7d --json"])

    @Option("--actor", .text("NAME"), "Only what this operator or program did.") private var actor: String?
    @Option("--kind", .text("KIND"), "Only actions of this kind, such as grant.") private var kind: String?
    @Option("--customer", .text("ANY-ID"), "Only actions on this customer.") private var customer: String?
    @OptionGroup private var part: ListPageOptions

    func run(_ context: CommandContext) throws -> Int32 {
        let list = try part.list(
            ["actions"], [("actor", actor), ("kind", kind), ("customer", customer)], of: try context.operators())
        var table = TextTable([
            .time("at"), "kind", .key("app user id"), .id("other"), "actor", .prose("what"), .prose("reason"),
        ])
        for action in list.items {
            table.add(["at", "kind", "app_user_id", "other", "actor", "text", "reason"].map(action.cell))
        }
        AnswerPage.show(list, table, empty: "no actions", isFirst: part.isFirst, context)
        return 0
    }
}
