import Base
import CLI
import Database

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

/// `entitled audit list`.
struct AuditListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List the changes that operators requested through the console and the operator API, newest first.",
        discussion:
            "Each entry names the operator, the change, its target, its reason, its origin and its outcome; rejected"
            + " requests are included. Roles other"
            + " than operator see their own entries. --json prints the answer of the operator API.",
        examples: ["audit list --actor anna", "audit list --kind grant --since 7d --json"])

    @Option("--actor", .text("NAME"), "Only entries of this operator.") private var actor: String?
    @Option("--kind", .choice(of: ChangeKind.self, "KIND"), "Only changes of this kind.") private var kind: ChangeKind?
    @Option("--target", .text("ID"), "Only entries about this id.") private var target: String?
    @OptionGroup private var part: ListPageOptions

    func run(_ context: CommandContext) throws -> Int32 {
        let list = try part.list(
            ["audit"], [("actor", actor), ("kind", kind?.rawValue), ("target", target)], of: try context.operators())
        var table = TextTable([
            .time("at"), "actor", "kind", .key("target"), "outcome", .number("job"), .id("address"), .prose("reason"),
            .prose("message"),
        ])
        for entry in list.items {
            table.add(
                ["at", "actor", "kind", "target", "outcome", "job", "address", "reason", "message"].map(entry.cell))
        }
        AnswerPage.show(list, table, empty: "no entries", isFirst: part.isFirst, context)
        return 0
    }
}

extension ChangeKind: InputValue {}
