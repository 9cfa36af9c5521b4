import Base
import CLI
import Database
import Schemas

/// `entitled customers deletions`.
struct DeletionsCommand: Command {
    static let declaration = PrivacyOptions.deletions
    private let options: PrivacyOptions.Deletions

    init(_ parsed: ParsedArguments) {
        options = PrivacyOptions.Deletions(parsed)
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let found = try DeletionTable.list(naming: options.id, atMost: options.limit, on: connection)
        if context.json {
            context.terminal.document(.object(["deletions": .array(found.map(document))]))
            return 0
        }
        guard !found.isEmpty else {
            context.terminal.print(
                options.id == nil ? "no customer was deleted" : "no customer with this id was deleted")
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
