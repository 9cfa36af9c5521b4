import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled notes remove`.
struct NoteRemoveCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove a note.",
        discussion: "With --url only a note of one's own; on the host any. \(ChangeOptions.help)",
        examples: ["notes remove user-42 17"])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Argument(.integer(1...Int64.max, "N"), "The note's number, as `notes list` shows it.") private var number: Int64
    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if context.remote != nil {
            return try change.ask(context, ["customers", id, "notes", String(number), "remove"], [:])
        }
        try change.checkLocal()
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let customer = try CustomerArgument(id, for: .changing, on: connection)
        let ids = try CustomerTable.load([customer.id], on: connection)[customer.id]?.appUserIDs ?? [customer.id]
        let removal = try connection.transaction {
            try CustomerNoteTable.remove(number, of: ids, by: nil, on: connection)
        }
        guard case .done = removal else {
            throw CommandFailure("\(customer.id) has no note \(number); see: entitled notes list \(customer.id)")
        }
        if context.json {
            context.terminal.document(.object(["note": .int(number), "app_user_id": .string(customer.id)]))
        } else {
            context.terminal.print(Terminal.harmless("note \(number) of \(customer.id) is removed"))
        }
        return 0
    }
}
