import Base
import CLI
import Database

/// `entitled audit list`.
struct AuditListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List what operators asked for by the console and the API, newest first.",
        discussion:
            "Each entry says who did what, on what, why and from where, and the outcome; refused requests, too. Roles other"
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
