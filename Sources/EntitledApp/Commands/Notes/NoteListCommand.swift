import Base
import CLI

/// `entitled notes list`.
struct NoteListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List what operators noted on a customer, newest first.",
        discussion: "--json prints the answer of the operator API.", examples: ["notes list user-42"])

    @Argument(CustomerIDs.any) private var id: String
    @Option("--after", .text("CURSOR"), "Begin after the page that ended with this cursor.") private var after: String?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let list = try context.operators().list(["customers", id, "notes"], [], after: after, limit: limit)
        var table = TextTable([.time("at"), .number("id"), "author", .prose("note")])
        for note in list.items { table.add(["at", "id", "author", "text"].map(note.cell)) }
        AnswerPage.show(list, table, empty: "no notes", isFirst: after == nil, context)
        return 0
    }
}
