import Base
import CLI

/// `entitled search`.
struct SearchCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "search", "Find what an id names.",
        discussion:
            "Finds customers by any of their ids, by a transaction, order line or account token, and events, deliveries,"
            + " notifications and endpoints by theirs. Exit status 1 if nothing has the id. --json prints the answer of the"
            + " operator API.",
        examples: ["search 2000000123456789", "search 693B9195-0D6B-5C53-9F3B-1C2F3D4E5F60 --json"])

    @Argument(.text("ANY-ID"), "Any id.") private var id: String

    func run(_ context: CommandContext) throws -> Int32 {
        let bytes = try context.operators().get(["search"], [("q", id)])
        let hits = try JSON(ordered: bytes)["items"]?.arrayValue ?? []
        if context.json { try context.document(bytes) }
        guard !hits.isEmpty else {
            let hint = OrderID(likely: id).map { order in
                "; if it is the number of an order, `entitled purchases lookup-order \(order.text)` asks Apple"
            }
            throw CommandFailure("nothing has the id \(id)\(hint ?? "")")
        }
        guard !context.json else { return 0 }
        var table = TextTable(["kind", .key("id"), "matched", .prose("command")])
        for hit in hits {
            table.add([hit.cell("kind"), hit.cell("id"), hit.cell("matched"), SearchCommand.command(of: hit)])
        }
        context.terminal.table(table)
        return 0
    }

    /// The command that shows what was found.
    private static func command(of hit: JSON) -> String {
        let id = hit.cell("id")
        let word = id.allSatisfy { $0.isLetter || $0.isNumber || "-_.@:".contains($0) } ? id : "'\(id)'"
        let scope = [("--app", "app"), ("--environment", "environment")].map { option, name in
            hit.cell(name).isEmpty ? "" : " \(option) \(hit.cell(name))"
        }.joined()
        return "entitled \(hit.cell("kind"))s show \(word)\(scope)"
    }
}
