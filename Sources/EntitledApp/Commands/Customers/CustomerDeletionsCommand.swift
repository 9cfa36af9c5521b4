import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers deletions`.
struct CustomerDeletionsCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "deletions", "List deletions of customers, newest first.",
        discussion: "Ids of deleted customers are not stored; --id compares a salted hash.",
        examples: ["customers deletions", "customers deletions --id user-42 --json"])

    @Option("--id", .text("ID"), "Limit to the customer with this app user id or app account token; case is ignored.")
    private var id: String?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let found = try DeletionTable.list(naming: id, atMost: limit, on: connection)
        if context.json {
            context.terminal.document(.object(["deletions": .array(found.map(document))]))
            return 0
        }
        guard !found.isEmpty else {
            context.terminal.print(
                id == nil ? "no customer was deleted" : "no customer with this id was deleted")
            return 0
        }
        var table = TextTable([
            .key("number"), .time("when"), "policy", "state", .number("ids"), .prose("rows"), "by", .prose("why"),
        ])
        for deletion in found {
            let rows = deletion.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            table.add([
                String(deletion.id), Timestamp.text(deletion.at), deletion.policy.rawValue, deletion.state.rawValue,
                String(deletion.ids), rows.joined(separator: ", "), deletion.origin.actor,
                deletion.origin.reason ?? "",
            ])
        }
        context.terminal.table(table)
        return 0
    }

    private func document(_ deletion: DeletionTable.Entry) -> JSON {
        .object([
            "deletion": .int(deletion.id), "at": .date(deletion.at), "policy": .string(deletion.policy.rawValue),
            "state": .string(deletion.state.rawValue), "ids": .int(deletion.ids),
            "counts": DeletionTable.json(deletion.counts), "actor": .string(deletion.origin.actor),
            "reason": .text(deletion.origin.reason), "finished_at": .date(deletion.finished),
        ])
    }
}
